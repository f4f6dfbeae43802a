"""A certificate as one page for people: no script, nothing from elsewhere, everything from outside escaped."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from hashlib import sha256
from html import escape
from typing import Any

from tacit.base import InputError
from tacit.ledger.checkpoint import fingerprint

__all__ = ["CONTENT_POLICY", "STYLE", "Html", "bullets", "document", "facts", "grid", "page_of", "text_of"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --page: #f6f7f9; --card: #fff;
  --accent: #1f6f5c; --warn: #9a5b00; --code: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf0; --soft: #a0abb8; --line: #303a46; --page: #12171d;
  --card: #1a2129; --accent: #67c5ab; --warn: #e5ab55; --code: #242d37; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
header { border-top: 4px solid var(--accent); background: var(--card); padding: 1.75rem; border-radius: 0 0 12px 12px; }
.kind { margin: 0; color: var(--accent); font-weight: 600; letter-spacing: .02em; }
h1 { margin: .25rem 0 .75rem; font-size: 2rem; line-height: 1.2; overflow-wrap: anywhere; }
.lead { margin: 0 0 1rem; font-size: 1.15rem; max-width: 44rem; }
.badge { display: inline-block; margin: 0; padding: .25rem .75rem; border: 1px solid var(--accent); border-radius: 99px;
  color: var(--accent); font-size: .9rem; font-weight: 600; }
.badge.off { border-color: var(--warn); color: var(--warn); }
section { margin-top: 1.25rem; background: var(--card); border-radius: 12px; padding: 1.25rem 1.75rem 1.5rem; }
h2 { margin: 0 0 .75rem; font-size: 1.15rem; }
h3 { margin: 1.25rem 0 .25rem; font-size: 1rem; }
dl { margin: 0; }
dl div { display: grid; grid-template-columns: 12rem 1fr; gap: 1rem; padding: .4rem 0;
  border-top: 1px solid var(--line); }
dl div:first-child { border-top: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
pre, code { font: .875em/1.5 ui-monospace, monospace; background: var(--code); border-radius: 6px; }
pre { margin: 0 0 1rem; padding: .9rem 1.1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
code { padding: .1em .35em; white-space: pre-wrap; overflow-wrap: anywhere; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
li { margin: .25rem 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; margin: .75rem 0 0; }
th, td { padding: .45rem .75rem .45rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td code { white-space: nowrap; }
td:last-child { padding-right: 0; }
.note, small { color: var(--soft); font-size: .9rem; }
@media (max-width: 34rem) { main { padding: 1rem .75rem 3rem; } header, section { padding: 1.1rem; }
  h1 { font-size: 1.6rem; } .many { min-width: 34rem; } dl div { grid-template-columns: 1fr; gap: 0; } }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #ccc; --page: #fff; --card: #fff;
  --accent: #1f6f5c; --warn: #9a5b00; --code: #fff; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  header, section { padding: .5rem 0; border-radius: 0; }
  section { break-inside: avoid; margin-top: .5rem; } pre, code { padding: 0; } .wide { overflow: visible; } }
"""


_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
CONTENT_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


class Html(str):
    """Text that is HTML already. Everything else is escaped on its way into the page."""

    __slots__ = ()


def page_of(content: Mapping[str, Any], public_key: str | None, signature: str | None) -> str:
    """The whole page."""
    told: Any = content
    data, sql, signer = told["data"], told["release"]["sql"], None
    if signature is not None and public_key is not None:
        signer = _fingerprint(public_key)
    asked = "<p>What was asked is not in it.</p>" if sql is None else f"<pre>{text_of(sql)}</pre>"
    bounds = [
        Html(f"{text_of(b['words'])} <small>({text_of(', '.join(b['measures']))})</small>") for b in told["bounds"]
    ]
    keys = {f"group by {name}": how for name, how in told["keys"].items()}
    sections = {
        "What was asked": asked + facts(_asked(told)),
        "What is hidden": facts(_hidden(told)),
        "The guarantee": facts(_guarantee(told)) + _odds(told["meaning"]),
        "Noise": _steps(told["steps"]),
        "How much one counts": bullets(bounds) + (facts(keys) if keys else "<p>There are no groups.</p>"),
        "After the noise": bullets(told["postprocessing"]),
        "The answer": _answer(told),
        "In the ledger": facts(_ledger(told["ledger"])),
        "Made by": facts(_software(told)),
        "Signature": _signed(signer, public_key, signature),
    }
    off, badge = (" off", "Not signed: nobody vouches for it") if signer is None else ("", f"Signed · key {signer}")
    lead = f'<p class=lead>{text_of(told["meaning"]["sentence"])}</p><p class="badge{off}">{text_of(badge)}</p>'
    return document("Certificate of a private answer", data["dataset"], lead, sections)


def document(kind: str, name: str, lead: str, sections: Mapping[str, str]) -> str:
    """A whole page: a kind of paper, what it is about, and sections, whose bodies are HTML as the lead is."""
    title = text_of(f"{kind}: {name}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>"
        f"<header><p class=kind>{text_of(kind)}</p><h1>{text_of(name)}</h1>{lead}</header>"
        + "".join(f"<section><h2>{text_of(head)}</h2>{body}</section>" for head, body in sections.items())
        + "</main></body></html>"
    )


def text_of(value: Any) -> Html:
    """Anything as text that a browser takes for text; what is not there is a dash."""
    if isinstance(value, Html):
        return value
    text = "–" if value is None else str(value)
    return Html(escape("".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)))


def facts(lines: Mapping[str, Any]) -> str:
    rows = "".join(f"<div><dt>{text_of(name)}</dt><dd>{text_of(value)}</dd></div>" for name, value in lines.items())
    return f"<dl>{rows}</dl>"


def bullets(items: Iterable[Any]) -> str:
    found = "".join(f"<li>{text_of(item)}</li>" for item in items)
    return f"<ul>{found}</ul>" if found else ""


def grid(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{text_of(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    kind = ' class="many"' if len(heads) > 2 else ""
    return f'<div class="wide"><table{kind}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def code_of(value: Any, before: str = "") -> Html:
    return Html(f"{text_of(before)}<code>{text_of(value)}</code>")


def _fingerprint(public_key: str) -> str:
    try:
        return fingerprint(public_key)
    except InputError:
        return "that cannot be read"


def _asked(told: Any) -> dict[str, Any]:
    release, data = told["release"], told["data"]
    about = data["people"] if data["population"] is None else f"{data['people']}, about {data['population']:,}"
    known = {} if release["id"] is None else {"release": code_of(release["id"])}
    return {
        "by": release["analyst"],
        "on": _day(release["time"]),
        "about": about,
        "tables": ", ".join(data["tables"]),
        **known,
        "key of the charge": code_of(release["key"]),
        "policy": code_of(data["policy"]),
    }


def _day(time: str) -> str:
    try:
        return datetime.fromisoformat(time).strftime("%d %B %Y, %H:%M:%S UTC")
    except (TypeError, ValueError):
        return str(time)


def _hidden(told: Any) -> dict[str, Any]:
    protects = told["protects"]
    known = {name: protects[name] for name in ("unit", "relation")}
    return {"hidden": protects["words"], **known, "trust": told["trust"]["words"]}


def _guarantee(told: Any) -> dict[str, Any]:
    said, accountant = told["guarantee"], told["accountant"]
    return {
        "in all": Html(f"<strong>{text_of(said['words'])}</strong>"),
        "charged": f"{said['currency']} {said[said['currency']]}, delta {said['delta']}",
        "within the answer": accountant["within"],
        "with other answers": accountant["across"],
        "accountant": f"{accountant['name']} {accountant['version'] or ''}",
    }


def _odds(said: Any) -> str:
    belief = f"A belief of {_percent(said['prior'])} ends"
    rows = [
        (f"Odds that one particular {said['unit']} is in it move by a factor of at most", _number(said["odds_factor"])),
        (f"{belief} at most at", _percent(said["posterior"]["upper"])),
        (f"{belief} at least at", _percent(said["posterior"]["lower"], ROUND_FLOOR)),
    ]
    for line in said["membership_power"]:
        test = f"A test for membership with {_percent(line['false_positives'])} false alarms finds at most"
        rows.append((test, _percent(line["at_most"])))
    note = f"<p class=note>Stated at δ = {text_of(said['delta'])}: except with that probability.</p>"
    exact = said["delta"] in ("0", "0.0")
    return grid(["In odds, whatever else somebody knows", ""], rows) + ("" if exact else note)


def _number(text: str | None) -> str:
    """Three digits, rounded up: what it is the most of is never shown smaller."""
    return "without limit" if text is None else f"{_rounded(text, ROUND_CEILING):,f}"


def _percent(text: str, toward: str = ROUND_CEILING) -> str:
    return f"{_rounded(text, toward, 100):f} %"


def _rounded(text: str, toward: str, times: int = 1) -> Decimal:
    found = Context(prec=3, rounding=toward).multiply(Decimal(text), times)
    return found.quantize(1) if found == found.to_integral_value() else found


def _steps(steps: Any) -> str:
    rows = []
    for step in steps:
        costs = [f"{name} {float(value):.4g}" for name, value in step["costs"].items() if value not in (None, "0")]
        mechanism = code_of(step["mechanism"]["name"]) if "mechanism" in step else "adaptive"
        rows.append((step["name"], step["words"], " · ".join(costs), mechanism))
    return grid(["step", "noise", "costs, in each currency", "mechanism"], rows)


COVERED = {"truth": "the truth", "least": "the noise; the truth is at least the lower end", "noise": "the noise"}


def _answer(told: Any) -> str:
    answer, utility = told["answer"], told["utility"]
    known = f"<h3>What intervals cover, and what not</h3>{bullets(utility['biases'])}" if utility["biases"] else ""
    if "csv_sha256" not in answer:
        size = f"{answer['bytes']:,} bytes of {answer['media']}"
        return facts({"kind": answer["kind"], "size": size, "hash": code_of(answer["sha256"])}) + known
    rows = []
    for line in utility["intervals"]:
        sizes = line["half_widths"]
        ends = ["–"] * 3 if sizes is None else [f"± {_number(sizes[name])}" for name in ("least", "median", "most")]
        covers = line["covers"]["of"] if "covers" in line else "noise"
        rows.append([line["column"], *ends, COVERED.get(covers, covers)])
    table = grid(["noisy column", "narrowest", "median", "widest", "covers"], rows) if rows else ""
    lines = {
        "rows": f"{answer['rows']:,}",
        "columns": ", ".join(f"{column['name']} ({column['type']})" for column in answer["columns"]),
        "hash of the CSV": code_of(answer["csv_sha256"]),
        "intervals hold with": _percent(utility["confidence"], ROUND_FLOOR),
    }
    return facts(lines) + table + known


def _ledger(place: Any) -> dict[str, Any]:
    def entry(which: str) -> Html:
        return code_of(place[which]["digest"], f"entry {place[which]['seq']}, ")

    found = {"ledger": code_of(place["id"]), "account": place["people"]}
    if "entry" in place:
        return found | {"before it": entry("before"), "the charge": entry("after")}
    return found | {"the charge": entry("after"), "proof": "not in it: it was made without the ledger at hand"}


def _software(told: Any) -> dict[str, Any]:
    made = told["software"]
    if made is None:
        return {"software": "was not recorded"}
    hashes = {"hash of its source": code_of(made["source"]), "hash of the program": code_of(told["program"]["hash"])}
    return {"software": f"{made['name']} {made['version']}", **hashes}


def _signed(signer: str | None, public_key: str | None, signature: str | None) -> str:
    how = (
        "<p class=note>To check it: <code>tacit verify certificate.json --public-key issuer.pub</code>, on the JSON "
        "form.</p>"
    )
    if signer is None:
        return "<p>There is none: no key was set where it was made.</p>" + how
    lines = {"key": code_of(signer), "signature": code_of(signature), "public key": code_of(public_key)}
    return (
        facts(lines) + "<p class=note>A key that comes with a certificate proves nothing: get it elsewhere.</p>" + how
    )
