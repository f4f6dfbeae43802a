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

__all__ = ["CONTENT_POLICY", "STYLE", "page_of"]

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

Lines = Iterable[tuple[str, str]]


def page_of(content: Mapping[str, Any], public_key: str | None, signature: str | None) -> str:
    """The whole page."""
    told: Any = content
    data, release = told["data"], told["release"]
    title = f"Certificate of a private answer: {data['dataset']}"
    asked = (
        f"<pre>{_text(release['sql'])}</pre>" if release["sql"] is not None else "<p>What was asked is not in it.</p>"
    )
    body = [
        f"<header><p class=kind>Certificate of a private answer</p><h1>{_text(data['dataset'])}</h1>",
        f"<p class=lead>{_text(told['meaning']['sentence'])}</p>{_badge(public_key, signature)}</header>",
        _section("What was asked", asked + _facts(_asked(told))),
        _section("What is hidden", _facts(_hidden(told))),
        _section("The guarantee", _facts(_guarantee(told)) + _odds(told["meaning"])),
        _section("Noise", _steps(told["steps"])),
        _section("How much one counts", _list(_bound(bound) for bound in told["bounds"]) + _keys(told["keys"])),
        _section("After the noise", _list(map(_text, told["postprocessing"]))),
        _section("The answer", _answer(told)),
        _section("In the ledger", _facts(_ledger(told["ledger"]))),
        _section("Made by", _facts(_software(told))),
        _section("Signature", _signed(public_key, signature)),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>"
    )


def _text(value: Any) -> str:
    """Anything as text that a browser takes for text; what is not there is a dash."""
    if value is None:
        return "–"
    return escape("".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in str(value)))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _facts(lines: Lines) -> str:
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in lines) + "</dl>"


def _list(items: Iterable[str]) -> str:
    found = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{found}</ul>" if found else ""


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    kind = ' class="many"' if len(heads) > 2 else ""
    return f'<div class="wide"><table{kind}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _code(value: Any) -> str:
    return f"<code>{_text(value)}</code>"


def _badge(public_key: str | None, signature: str | None) -> str:
    if signature is None or public_key is None:
        return '<p class="badge off">Not signed: nobody vouches for it</p>'
    return f'<p class="badge">Signed · key {_text(_name(public_key))}</p>'


def _name(public_key: str) -> str:
    try:
        return fingerprint(public_key)
    except InputError:
        return "that cannot be read"


def _asked(told: Any) -> Lines:
    release, data = told["release"], told["data"]
    yield "by", _text(release["analyst"])
    yield "on", _text(_day(release["time"]))
    yield "about", _text(data["people"]) + ("" if data["population"] is None else f", about {data['population']:,}")
    yield "tables", _text(", ".join(data["tables"]))
    if release["id"] is not None:
        yield "release", _code(release["id"])
    yield "key of the charge", _code(release["key"])
    yield "policy", _code(data["policy"])


def _day(time: str) -> str:
    try:
        return datetime.fromisoformat(time).strftime("%d %B %Y, %H:%M:%S UTC")
    except (TypeError, ValueError):
        return str(time)


def _hidden(told: Any) -> Lines:
    protects, trust = told["protects"], told["trust"]
    yield "hidden", _text(protects["words"])
    yield "unit", _text(protects["unit"])
    yield "relation", _text(protects["relation"])
    yield "trust", _text(trust["words"])


def _guarantee(told: Any) -> Lines:
    said, accountant = told["guarantee"], told["accountant"]
    yield "in all", f"<strong>{_text(said['words'])}</strong>"
    yield "charged", _text(f"{said['currency']} {said[said['currency']]}, delta {said['delta']}")
    yield "within the answer", _text(accountant["within"])
    yield "with other answers", _text(accountant["across"])
    yield "accountant", _text(f"{accountant['name']} {accountant['version'] or ''}")


def _odds(said: Any) -> str:
    rows = [
        ("Odds that one particular " + _text(said["unit"]) + " is in it move by a factor of at most",
         _number(said["odds_factor"])),
        (f"A belief of {_percent(said['prior'])} ends at most at", _percent(said["posterior"]["upper"])),
        (f"A belief of {_percent(said['prior'])} ends at least at",
         _percent(said["posterior"]["lower"], ROUND_FLOOR)),
    ]  # fmt: skip
    rows += [
        (f"A test for membership with {_percent(line['false_positives'])} false alarms finds at most",
         _percent(line["at_most"]))
        for line in said["membership_power"]
    ]  # fmt: skip
    note = ""
    if said["delta"] not in ("0", "0.0"):
        note = f"<p class=note>Stated at δ = {_text(said['delta'])}: except with that probability.</p>"
    return _table(["In odds, whatever else somebody knows", ""], rows) + note


def _number(text: str | None) -> str:
    """Three digits, rounded up: what it is the most of is never shown smaller."""
    return "without limit" if text is None else f"{_rounded(text, ROUND_CEILING):,f}"


def _percent(text: str, toward: str = ROUND_CEILING) -> str:
    return f"{_rounded(text, toward, 100):f} %"


def _rounded(text: str, toward: str, times: int = 1) -> Decimal:
    found = Context(prec=3, rounding=toward).multiply(Decimal(text), times)
    return found.quantize(1) if found == found.to_integral_value() else found


def _steps(steps: Any) -> str:
    def cost(step: Any) -> str:
        found = [f"{name} {float(value):.4g}" for name, value in step["costs"].items() if value not in (None, "0")]
        return _text(" · ".join(found))

    def mechanism(step: Any) -> str:
        return _code(step["mechanism"]["name"]) if "mechanism" in step else "adaptive"

    rows = [(_text(step["name"]), _text(step["words"]), cost(step), mechanism(step)) for step in steps]
    return _table(["step", "noise", "costs, in each currency", "mechanism"], rows)


def _bound(bound: Any) -> str:
    return f"{_text(bound['words'])} <small>({_text(', '.join(bound['measures']))})</small>"


def _keys(keys: Mapping[str, str]) -> str:
    if not keys:
        return "<p>There are no groups.</p>"
    return _facts((f"group by {_text(name)}", _text(how)) for name, how in keys.items())


def _answer(told: Any) -> str:
    answer, utility = told["answer"], told["utility"]
    rows = []
    for line in utility["intervals"]:
        sizes = line["half_widths"]
        ends = ["–"] * 3 if sizes is None else [f"± {_number(sizes[name])}" for name in ("least", "median", "most")]
        rows.append([_text(line["column"]), *ends])
    table = _table(["noisy column", "narrowest", "median", "widest"], rows) if rows else ""
    biases = _list(map(_text, utility["biases"]))
    known = f"<h3>What no interval covers</h3>{biases}" if biases else ""
    if "csv_sha256" not in answer:
        size = f"{answer['bytes']:,} bytes of {_text(answer['media'])}"
        return _facts([("kind", _text(answer["kind"])), ("size", size), ("hash", _code(answer["sha256"]))]) + known
    names = ", ".join(f"{column['name']} ({column['type']})" for column in answer["columns"])
    facts = _facts(
        [
            ("rows", f"{answer['rows']:,}"),
            ("columns", _text(names)),
            ("hash of the CSV", _code(answer["csv_sha256"])),
            ("intervals cover the noise with", _percent(utility["confidence"], ROUND_FLOOR)),
        ]
    )
    return facts + table + known


def _ledger(place: Any) -> Lines:
    yield "ledger", _code(place["id"])
    yield "account", _text(place["people"])
    if "entry" in place:
        yield "before it", f"entry {_text(place['before']['seq'])}, {_code(place['before']['digest'])}"
    yield "the charge", f"entry {_text(place['after']['seq'])}, {_code(place['after']['digest'])}"
    if "entry" not in place:
        yield "proof", "not in it: it was made without the ledger at hand"


def _software(told: Any) -> Lines:
    made = told["software"]
    if made is None:
        yield "software", "was not recorded"
        return
    yield "software", _text(f"{made['name']} {made['version']}")
    yield "hash of its source", _code(made["source"])
    yield "hash of the program", _code(told["program"]["hash"])


def _signed(public_key: str | None, signature: str | None) -> str:
    how = (
        "<p class=note>To check it: <code>tacit verify certificate.json --key issuer.pub</code>, on the JSON form.</p>"
    )
    if signature is None or public_key is None:
        return "<p>There is none: no key was set where it was made.</p>" + how
    lines = [("key", _code(_name(public_key))), ("signature", _code(signature)), ("public key", _code(public_key))]
    return (
        _facts(lines) + "<p class=note>A key that comes with a certificate proves nothing: get it elsewhere.</p>" + how
    )
