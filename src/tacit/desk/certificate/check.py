"""Is a certificate true? Checked offline, from what is in it; and against a key, a ledger, an answer, where given.

By itself a certificate shows that it agrees with itself: that the program which it holds is the one that was charged,
that the charge covers what the program costs by the proofs of this release, that the entry of the ledger has the hash
that is stated, and that bounds, noise and odds are those of the program. Who says so is shown by the signature alone,
under a key that came from elsewhere; that the ledger really has the entry, by the ledger alone. Sentences are the
issuer's own: only the signature holds them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import exp, floor, inf
from pathlib import Path
from typing import Any

from tacit.base import LossError, TacitError
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.content import FORMAT, selects_keys, step_costs
from tacit.desk.certificate.evidence import charge_body, file_hash
from tacit.ledger.chain import digest
from tacit.ledger.checkpoint import fingerprint, vouched
from tacit.ledger.export import verify_any
from tacit.ledger.verify import KnownEntry
from tacit.loss import Cost, cost_at, off_curve
from tacit.loss.meaning import power
from tacit.policy import Amount, Currency
from tacit.program import Program

__all__ = ["Check", "CheckResult", "check", "looked_at", "signature_check"]

CheckResult = tuple[bool | None, str]
WRONG = (TacitError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
WORDED = ("words", "costs", "theory")  # of a step, beside what the program says of it
SLACK = 1e-9  # of a float that another machine worked out
CURVE = 1e-3  # of a number off a loss curve: releases of tacit follow curves more or less closely
CLOSER = Fraction(1, 100)  # of a cost off a curve that is cut and followed, likewise


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at. `ok` is None where it could not be, for the reason that `words` give."""

    name: str
    ok: bool | None
    words: str

    def json(self) -> dict[str, Any]:
        return {"check": self.name, "ok": self.ok, "words": self.words}


def check(
    certificate: Certificate,
    *,
    public_key: str | None = None,
    ledger: Path | str | None = None,
    answer: Path | bytes | None = None,
) -> list[Check]:
    """Everything that can be checked with what is given; it is true as far as no check has `ok` False.

    `public_key` is in PEM, from somewhere else than the certificate. `answer` is the file that it is about, or the
    content of a release that is no table. InputError if what is given cannot be read.
    """
    content: Any = certificate.content
    signed, kind = (certificate.public_key, certificate.signature), str(content["format"])
    looked: dict[str, Callable[..., CheckResult]] = {
        "signature": partial(signature_check, content, *signed, public_key, kind=kind),
        "program": partial(_program, content),
        "cost": partial(_cost, content),
        "statements": partial(_statements, content),
        "odds": partial(_odds, content),
        "chain": partial(_chain, content),
    }
    if answer is not None:
        found = sha256(answer).hexdigest() if isinstance(answer, bytes) else file_hash(answer)
        looked["answer"] = partial(_answer, content, found)
    if ledger is not None:
        looked["ledger"] = partial(_ledger, content, ledger)
    form = Check(name="form", ok=True, words="every section is there, and nothing else")
    return [form, *map(looked_at, looked.items())]


def looked_at(one: tuple[str, Callable[..., CheckResult]]) -> Check:
    """A check that was made; one that ends in an error is not passed."""
    name, work = one
    try:
        ok, words = work()
    except WRONG as problem:
        if name == "ledger" and isinstance(problem, TacitError):
            raise
        ok, words = False, "it is not as a certificate has it, or this release cannot read it"
    return Check(name=name, ok=ok, words=words)


def signature_check(
    content: Any, named: str | None, signature: str | None, public_key: str | None, *, kind: str = FORMAT
) -> CheckResult:
    """Who vouches for it: the key it names, and whether that is the one that was given."""
    if signature is None or named is None:
        if public_key is None and signature is None and named is None:
            return None, "it is not signed, so nobody vouches for it"
        return False, "it is not signed"
    if public_key is not None and fingerprint(named) != fingerprint(public_key):
        return False, "it is signed with another key than the one you hold"
    if not vouched(dict(content), signature, named, kind=kind):
        return False, "it was altered after it was signed, or the signature is another's"
    if public_key is None:
        return None, f"it fits the key {fingerprint(named)} that it names itself: who that is, --public-key shows"
    return True, f"signed with the key {fingerprint(named)}, and not altered since"


def _read(content: Any) -> Program:
    return Program.from_json(content["program"]["content"])


def _program(content: Any) -> CheckResult:
    program, named = _read(content), content["program"]["hash"]
    if program.hash == named:
        return True, "the program in it is the one that was charged"
    if "entry" not in content["ledger"] and program.query is None:
        return None, "what was asked is left out of the program, so its hash cannot be worked out"
    return False, "the program in it is not the one that was charged"


def _cost(content: Any) -> CheckResult:
    """Never above what was charged, by the sum of the steps or as one mechanism at the δ that was paid."""
    program, said = _read(content), content["guarantee"]
    currency = Currency(said["currency"])
    known = {name: said.get(name) for name in Currency}  # certificates of old have no mu_squared
    amounts = {name.value: Fraction(text) for name, text in known.items() if text is not None}
    others = [name for name in amounts if name != currency]
    if others:
        return False, f"it was paid in {currency}, and states a {others[0]} beside it"
    paid = Cost(**amounts, delta=Fraction(said["delta"]), relation=program.relation, unit=program.unit)
    charged = Amount.of(paid, currency)
    entry = content["ledger"].get("entry")
    if entry is not None and (charged.spend, charged.delta) != (int(entry["spend"]), int(entry["delta"])):
        return False, "what it says was charged is not what the entry of the ledger says"
    amounts_due = []
    for cost in _prices(program, paid.delta):
        with suppress(TacitError):
            amounts_due.append(Amount.of(cost, currency))
    if any(due.fits(charged) for due in amounts_due):
        return True, f"worked out again, the program costs no more than the {currency} that was charged"
    nearly = Amount(floor(charged.spend / (1 - CLOSER)), charged.delta)
    if off_curve(program.loss) and any(due.fits(nearly) for due in amounts_due):
        return True, f"followed again, the program's loss curve costs the {currency} that was charged, within 1 %"
    return False, "the program costs more than was charged for it, by the proofs of this release"


def _prices(program: Program, delta: Fraction) -> Iterator[Cost]:
    with suppress(LossError):
        yield program.cost
    if 0 < delta < 1:
        with suppress(LossError):
            yield cost_at(program.loss, delta)


def _statements(content: Any) -> CheckResult:
    """Bounds, noise, keys and names are those of the program and of the entry."""
    program, wrong = _read(content), []
    stored, place = content["program"]["content"], content["ledger"]
    protects, data, release = content["protects"], content["data"], content["release"]
    if (protects["unit"], protects["relation"]) != (program.unit, program.relation.value):
        wrong.append("unit or relation")
    if data["tables"] != list(program.tables):
        wrong.append("tables")
    said = [{name: value for name, value in step.items() if name not in WORDED} for step in content["steps"]]
    first = ("name", "mechanism", "sensitivity")  # all that the first format repeats of a step
    short = program.version == 1 and said == [{name: step[name] for name in first} for step in stored["steps"]]
    if said != stored["steps"] and not short:
        wrong.append("steps")
    wrong += [
        f"costs of {step.name}"
        for step, said in zip(program.steps, content["steps"], strict=False)
        if not _covers(
            said["costs"],
            step_costs(program, step, content["guarantee"]["currency"]),
            off_curve(step.loss(relation=program.relation, unit=program.unit)),
        )
    ]
    if isinstance(program.query, dict) and "parts" in program.query:
        wrong += _of_query(content, program.query)
    if "entry" in place:
        entry = place["entry"]
        time = datetime.fromtimestamp(place["time"] / 1e6, UTC).isoformat()
        pairs = {"analyst": release["analyst"], "key": release["key"], "policy": data["policy"]}
        wrong += [name for name, value in pairs.items() if entry[name] != value]
        wrong += ["time"] if release["time"] != time else []
    if wrong:
        return False, f"not as the program and the ledger say: {', '.join(str(one)[:60] for one in wrong[:5])}"
    return True, "unit, relation, tables, bounds, noise and keys are those of the program"


def _covers(said: Mapping[str, str | None], costs: Mapping[str, str | None], followed: bool) -> bool:
    """Whether these are the costs; if they are read off a curve, whether they are not much smaller."""
    if not followed or set(said) != set(costs):
        return dict(said) == dict(costs)
    for name, cost in costs.items():
        stated = said[name]
        if stated is None or cost is None:
            if stated != cost:
                return False
        elif Fraction(stated) < Fraction(cost) * (1 - CLOSER):
            return False
    return True


def _of_query(content: Any, query: dict[str, Any]) -> Iterator[str]:
    clips = [clip for part in query["parts"] for clip in part["clips"]]
    if len(clips) != len(content["bounds"]):
        yield "bounds"
        return
    for clip, said in zip(clips, content["bounds"], strict=True):
        origin = "none needed" if clip["exempt"] else "chosen privately" if clip["bound"] is None else "declared"
        same = said["measures"] == clip["names"] and said["norm"] == clip["norm"] and said["origin"] == origin
        if not same or (clip["bound"] is not None and said["bound"] != clip["bound"]):
            yield f"bound of {', '.join(map(str, clip['names']))}"
    ways = set(content["keys"].values())
    if ways - {"declared", "selected privately"} or ("selected privately" in ways) != selects_keys(query["parts"][0]):
        yield "keys"


def _odds(content: Any) -> CheckResult:
    """Not better than the program gives: an upper bound may be rough, but not too small."""
    loss, said = _read(content).loss, content["meaning"]
    epsilon = inf if said["epsilon"] is None else float(said["epsilon"])
    delta, prior = float(said["delta"]), float(said["prior"])
    true = loss.epsilon(Fraction(said["delta"])).upper * (1 - CURVE)
    low, high = (float(said["posterior"][end]) for end in ("lower", "upper"))
    factor = exp(min(epsilon, 700.0))
    claimed = [
        0 <= delta < 1 and true <= epsilon * (1 + SLACK),
        said["odds_factor"] is None or float(said["odds_factor"]) >= factor * (1 - SLACK),
        high >= prior * factor / (prior * factor + 1 - prior) * (1 - SLACK),
        low <= prior / (prior + (1 - prior) * factor) * (1 + SLACK),
        (said["unit"], said["relation"]) == (loss.unit, loss.relation.value),
    ]
    claimed += [
        float(line["at_most"]) >= power(loss, float(line["false_positives"])) * (1 - CURVE)
        for line in said["membership_power"]
    ]
    if all(claimed):
        return True, "the odds and beliefs that it states are no better than the program's"
    return False, "it promises more than the program gives"


def _chain(content: Any) -> CheckResult:
    place = content["ledger"]
    if "entry" not in place:
        return None, "it has the place of the charge, and not what the hash there is made of"
    before, after = place["before"], place["after"]
    body = charge_body(place["entry"], content["program"]["content"])
    made = digest(bytes.fromhex(before["digest"]), after["seq"], place["time"], body)
    if before["seq"] + 1 != after["seq"] or made.hex() != after["digest"] or place["entry"]["kind"] != "charge":
        return False, "the entry of the ledger does not have the hash that is stated"
    if len(bytes.fromhex(place["opening"])) != len(made) or not isinstance(place["people"], str):
        return False, "it does not say which account it was paid from"
    return True, f"the entry has the hash that is stated, as number {after['seq']} of its account"


def _answer(content: Any, found: str) -> CheckResult:
    known = content["answer"].get("csv_sha256") or content["answer"].get("sha256")
    if known == found:
        return True, "it is the answer that was certified"
    return False, "it is not the answer that was certified, or it was written anew since"


def _ledger(content: Any, where: Path | str) -> CheckResult:
    place = content["ledger"]
    if "entry" not in place:
        return None, "the certificate does not say which account of the ledger it is about"
    after = place["after"]
    entry = KnownEntry(
        people=str(place["people"]),
        opening=bytes.fromhex(place["opening"]),
        seq=int(after["seq"]),
        digest=bytes.fromhex(after["digest"]),
    )
    report = verify_any(where, known=(entry,))
    if report.ledger != place["id"]:
        return False, "this is another ledger than the one it was paid from"
    if not report.ok:
        return False, f"the ledger is not whole, or does not have the entry ({report.findings[0]})"
    return True, "the ledger is whole and has the entry"
