"""What stands in a certificate: everything a reader needs to judge an answer, as plain data without floats."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import isinf
from statistics import median
from typing import Any

from tacit.base import InputError, LossError, Relation, TacitError
from tacit.desk.certificate.evidence import CertifiedCharge
from tacit.desk.release import Release, TableRelease
from tacit.loss import ZCDP, Approx, Loss, Pure, explain
from tacit.mechanism import Mechanism
from tacit.program import Adaptive, AnyStep, Program, Step

__all__ = [
    "FORMAT", "FORMATS", "SECTIONS", "after_words", "bound_words", "content_of", "neighbours_words", "noise_words",
    "selects_keys", "step_costs", "variant_words",
]  # fmt: skip

MEASURED = {"centre", "noise", "quantiles", "ends"}  # tasks whose noise is said in the units of the answer
FOLLOWS = {
    "avg": "a noisy sum divided by a noisy count",
    "sum": "a noisy sum",
    "count": "a noisy count",
    "quantile": "drawn from noisy ranks",
    "histogram": "noisy counts, rounded, and none below 0",
    "mode": "the value of the largest noisy count",
}


def neighbours_words(relation: Relation, unit: str, exact: Sequence[Any] = ()) -> str:
    """What is hidden; `exact` are counts that were released without noise, and are not."""
    hidden = _hidden_words(relation, unit)
    if not exact:
        return hidden
    return f"{hidden}; NOT protected, since it was released exactly: {', '.join(map(str, exact))}"


def _hidden_words(relation: Relation, unit: str) -> str:
    if relation is Relation.ADD_REMOVE:
        return f"whether any one {unit} is in the data at all, with everything the data says of that {unit}"
    if relation is Relation.REPLACE:
        return f"what the data says of any one {unit}; how many there are is public"
    return relation.changes


def variant_words(currency: str, spend: str, delta: str) -> tuple[str, str]:
    """The kind of differential privacy, and the whole statement."""
    free = delta == "0"
    if currency == "epsilon":
        kind = "pure differential privacy" if free else "approximate differential privacy"
        return kind, f"ε = {spend}" if free else f"ε = {spend}, δ = {delta}"
    name, sign = {
        "rho": ("zero-concentrated differential privacy", "ρ"),
        "mu_squared": ("Gaussian differential privacy", "μ²"),
    }[currency]
    return (name, f"{sign} = {spend}") if free else (f"approximate {name}", f"{sign} = {spend}, δ = {delta}")


def noise_words(program: Program, step: AnyStep, clips: Sequence[Mapping[str, Any]]) -> str:
    """One step: which noise, how much of it in the units of the answer where they are known, and on what."""
    if isinstance(step, Adaptive):
        return f"mechanisms that follow from earlier noisy answers, of ρ = {_short(step.limit)} in all"
    mechanism = step.mechanism
    if step.task is None or step.task.kind not in MEASURED:
        return mechanism.words(program.unit)
    centred = _centred(program)
    names = list(step.task.measures)
    if step.task.kind == "centre" and names[0] in centred:
        one = Fraction(1, centred[names[0]])
        return f"{mechanism.kind}: {mechanism.size_words(one)} {program.unit}s, for what an average is measured from"
    chosen = _chosen(names, clips) if step.task.scaled else Fraction(1)
    if step.task.scaled and chosen is not None:
        mechanism = mechanism.scaled(chosen)
    sized = [name for name in names if name not in centred]
    found = [] if chosen is None else [_measured(program, name, mechanism) for name in sized]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return f"{mechanism.kind}: {mechanism.size_words()} steps of what it is for"
    used = [
        recipe["text"] for recipe in _asked(program, "recipes") if set(names) & set(recipe["inputs"]) and recipe["text"]
    ]
    what = f", for {', '.join(dict.fromkeys(used))}" if used else ""
    return f"{mechanism.kind}: {'; '.join(dict.fromkeys(known))}{what}"


def _centred(program: Program) -> dict[str, int]:
    """Counts of rows beside averages from a private centre, of which the program does not tell how many steps a row
    counts; with how many one does in the ranks that the centre is drawn from."""
    parts = _asked(program, "parts")
    centres = [(part["clips"][centre["clip"]], centre) for part in parts for centre in part.get("centres", ())]
    return {clip["names"][0]: centre["ranks"]["one"] for clip, centre in centres}


def _asked(program: Program, name: str) -> list[Any]:
    """The recipes or the parts of a question in SQL; of any other program none."""
    return list(program.query.get(name, ())) if isinstance(program.query, dict) else []


def _exact(program: Program) -> list[Any]:
    """What a program says that it releases without noise."""
    found = program.query.get("released exactly") if isinstance(program.query, dict) else None
    return found if isinstance(found, list) else []


def _chosen(names: list[str], clips: Sequence[Mapping[str, Any]]) -> Fraction | None:
    """The bound that was chosen privately, which such noise is measured in."""
    for clip in clips:
        if list(clip["measures"]) == names and clip["bound"] not in (None, "None"):
            return Fraction(clip["bound"])
    return None


def _measured(program: Program, name: str, noise: Mechanism) -> str | None:
    """The noise on one measure, in rows, units or the units of a column."""
    for part in _asked(program, "parts"):
        for ranks in part["ranks"]:
            if ranks["name"] == name:
                return f"{noise.size_words(Fraction(1, ranks['one']))} rows"
        for measure in part["measures"]:
            if measure["name"] != name:
                continue
            if measure["kind"] == "distinct" and measure["low"] == measure["high"]:
                return f"{noise.size_words()} values"
            if measure["value"] is None or measure["kind"] == "units":
                of = "rows" if measure["kind"] == "sum" else f"{program.unit}s"
                return f"{noise.size_words(Fraction(1, measure['high'] or 1))} {of}"
            if any(name in recipe["inputs"][:2] for recipe in _asked(program, "recipes")):
                return f"{noise.size_words(Fraction(measure['step']))} in the units of the values"
            return f"{noise.size_words()} steps of a further moment"
    return None


def _short(value: Fraction) -> str:
    return f"{float(value):,.4g}" if value < 10_000 else f"{float(value):,.0f}"


def bound_words(clip: Mapping[str, Any], unit: str) -> str:
    """How far one unit counts, and who said so."""
    rows = None if clip["rows"] is None else _short(Fraction(str(clip["rows"])))
    origin = {
        "declared": "declared in the policy or the question, before anything was looked at",
        "chosen privately": "chosen by a step of its own, which was paid for",
        "none needed": "nothing is clipped: no unit can count more, by the table's shape or as its curator vouches",
    }.get(clip["origin"], clip["origin"])
    much = f"as much as {rows} rows" if rows is not None else f"a {clip['norm']} norm of {clip['bound']} steps"
    return f"one {unit} counts for at most {much}; {origin}"


def after_words(program: Program, sql: str | None) -> list[str]:
    """What was made of the noisy numbers, which costs nothing more."""
    found = []
    for recipe in _asked(program, "recipes"):
        made = FOLLOWS.get(recipe["function"], f"made of noisy sums and counts ({recipe['function']})")
        low, high = recipe["low"], recipe["high"]
        kept = [f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else ""]
        limits = " and ".join(part for part in kept if part)
        text = f"{recipe['text'] or recipe['name']}: {made}" + (f", kept {limits}" if limits else "")
        found.append(text + (", rounded to a whole number" if recipe["whole"] else ""))
    said = "" if sql is None else ", as the question says"
    found.append(f"expressions of these, HAVING, ORDER BY, LIMIT and intervals are worked out from noisy numbers{said}")
    return found


CURVED = 700  # ε or ρ up to which a loss is explained by its own curve
FORMAT = "tacit certificate 2"
FORMATS = ("tacit certificate 1", FORMAT)  # that can be checked
SECTIONS = (
    "format", "release", "data", "protects", "trust", "guarantee", "meaning", "accountant", "steps", "bounds", "keys",
    "postprocessing", "answer", "utility", "ledger", "program", "software",
)  # fmt: skip
NEEDED = ("dataset", "people", "unit", "relation", "cost", "ledger", "program", "policy", "time", "clips", "keys")
TRUST = (
    "central: whoever runs tacit holds the data in the clear and is trusted to run this very program; those who read "
    "the answer need not be trusted at all"
)
WITHIN = "all parameters were fixed before the first step ran, so the losses of the steps compose"
ACROSS = "the ledger adds up costs, which holds also when each question was chosen after seeing all earlier answers"


def content_of(release: Release, charge: CertifiedCharge | None, *, sql: str | None) -> dict[str, Any]:
    """All sections, in the order of `SECTIONS`; without a `charge` from the ledger, by what the release says of it."""
    facts = release.facts
    missing = [name for name in NEEDED if name not in facts]
    if missing:
        raise InputError(
            f"this release does not say how it was made ({missing[0]} is missing), so nobody can certify it"
        )
    charge, program = _paid(facts, charge)
    unit, currency = program.unit, charge.currency.value
    paid = charge.amount.cost(charge.currency, relation=program.relation, unit=unit).json()
    variant, statement = variant_words(currency, paid[currency], paid["delta"])
    found = {
        "format": FORMAT,
        "release": {
            "id": release.name or None,
            "analyst": charge.place.get("entry", facts).get("analyst"),
            "sql": sql,
            "time": facts["time"],
            "key": facts["ledger"]["key"],
        },
        "data": {
            "dataset": facts["dataset"],
            "people": facts["people"],
            "population": facts.get("population"),
            "tables": list(program.tables),
            "policy": facts["policy"],
        },
        "protects": {
            "unit": unit,
            "relation": program.relation.value,
            "words": neighbours_words(program.relation, unit, _exact(program)),
        },
        "trust": {"model": "central", "words": TRUST},
        "guarantee": {
            "variant": variant,
            "currency": currency,
            **{name: paid.get(name) for name in ("epsilon", "rho") if currency != name},
            currency: paid[currency],
            "delta": paid["delta"],
            "words": f"{variant}: {statement}, for one {unit}",
        },
        "meaning": _meaning(program, charge.delta),
        "accountant": {
            "name": "tacit.loss",
            "version": (facts.get("software") or {}).get("version"),
            "within": WITHIN if program.delta is None else f"{WITHIN}; priced as one mechanism at δ = {program.delta}",
            "across": ACROSS,
        },
        "steps": [_step(program, step, facts["clips"], currency) for step in program.steps],
        "bounds": [{**clip, "words": bound_words(clip, unit)} for clip in facts["clips"]],
        "keys": _keys(program, facts["keys"]),
        "postprocessing": after_words(program, sql),
        "answer": release.description(),
        "utility": _utility(release),
        "ledger": charge.place,
        "program": {"hash": facts["program"], "content": charge.program},
        "software": facts.get("software"),
    }
    return dict(_texts(found))


def _paid(facts: Mapping[str, Any], charge: CertifiedCharge | None) -> tuple[CertifiedCharge, Program]:
    try:
        found = charge or CertifiedCharge.stated(facts)
        return found, Program.from_json(found.program)
    except (KeyError, TypeError, ValueError, TacitError):
        pass
    if charge is None:
        raise InputError("this release was made by an older tacit: name the ledger that it was paid from, as ledger=…")
    raise InputError("the program of this answer cannot be read by this release of tacit: install a newer one")


def _meaning(program: Program, delta: Fraction) -> dict[str, Any]:
    """What the whole program means for one unit, in odds and beliefs, stated at the dataset's δ."""
    # e^-700 is about the least double: of such losses there is no curve to look at, and nothing is promised anyway
    whole = max(program.cost.epsilon or 0, program.cost.rho or 0) <= CURVED
    return explain(program.loss if whole else _charged(program), delta=delta).json()


def _charged(program: Program) -> Loss:
    """The guarantee that was charged, which is never better than the program's own."""
    cost, relation, unit = program.cost, program.relation, program.unit
    if cost.epsilon is None:
        assert cost.rho is not None  # a program's cost has one of the two
        return ZCDP(cost.rho, delta=cost.delta, relation=relation, unit=unit)
    if cost.delta:
        return Approx(cost.epsilon, cost.delta, relation=relation, unit=unit)
    return Pure(cost.epsilon, relation=relation, unit=unit)


def _step(program: Program, step: AnyStep, clips: Any, currency: str) -> dict[str, Any]:
    words, theory = noise_words(program, step, clips), "adaptive-composition"
    if isinstance(step, Step):
        theory = step.mechanism.theory
        words += "" if step.times == 1 else f", {step.times:,} times"
        if step.rate is not None:
            words += f", each on a Poisson sample of {float(step.rate):.4g} of the {program.unit}s"
    costs = step_costs(program, step, currency)
    return {**step.json(program.version), "words": words, "costs": costs, "theory": f"docs/theory/{theory}.md"}


def _keys(program: Program, said: Mapping[str, str]) -> dict[str, str]:
    """Where each group key's values come from. An answer of old may call keys selected that were all listed."""
    parts = _asked(program, "parts")
    known = bool(parts) and not selects_keys(parts[0])
    return {name: "declared" if known or how == "declared" else "selected privately" for name, how in said.items()}


def selects_keys(part: Mapping[str, Any]) -> bool:
    """Whether a part of a stored question shows keys that nobody listed: by weights of their own, or by a count."""
    return part["presence"] is not None or part.get("counted") is not None


def step_costs(program: Program, step: AnyStep, currency: str) -> dict[str, str | None]:
    """What a step would cost alone, in ε, in ρ and in the `currency` that was paid, as far as it has them; nothing
    where it has no cost that adds up."""
    cost: dict[str, Any] = {}
    with suppress(LossError):
        cost = step.loss(relation=program.relation, unit=program.unit).cost().json()
    return {name: cost.get(name) for name in dict.fromkeys(("epsilon", "rho", currency, "delta"))}


def _utility(release: Release) -> dict[str, Any]:
    """How wide the intervals are, and what no interval covers."""
    if not isinstance(release, TableRelease):
        return {"confidence": None, "intervals": [], "biases": list(release.notes)}
    found = []
    for name, (lows, highs) in release.intervals.items():
        halves = [
            (high - low) / 2 for low, high in zip(lows, highs, strict=True) if low is not None and high is not None
        ]
        sizes = {"least": min(halves), "median": median(halves), "most": max(halves)} if halves else None
        unknown = len(list(lows)) - len(halves)
        found.append({"column": name, "half_widths": sizes, "unknown": unknown, "covers": release.covers(name).json()})
    return {"confidence": release.confidence, "intervals": found, "biases": list(release.notes)}


def _texts(data: Any) -> Any:
    """The same with floats as texts that read back as themselves; what is without limit is nothing."""
    if isinstance(data, float):
        return None if isinf(data) else repr(data)
    if isinstance(data, Mapping):
        return {str(name): _texts(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_texts(value) for value in data]
    return data
