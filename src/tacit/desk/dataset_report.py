"""A report on one dataset for whoever answers for its people's data, made from the policy and the ledger alone.

It reads no data and no answers, costs nothing, and says only what the two hold. What neither can know is left open, as
a line for a person to fill in. Plain data here; `dataset_page` makes one HTML page of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from json import loads
from typing import Any

from tacit.base import Relation, TacitError
from tacit.base.version import VERSION
from tacit.desk.certificate.content import ACROSS, TRUST, neighbours_words, variant_words
from tacit.ledger import Entry, Standing
from tacit.ledger.replay import read_charge
from tacit.loss import Loss, explain
from tacit.policy import Amount, Currency, Policy
from tacit.program import Program, Step

__all__ = ["OPEN", "dataset_report"]

OPEN = "to be filled in"
MANY = 100  # kinds of questions that are listed
SIDE = {
    "time of an answer": (
        "closed for new questions: they are answered on a clock",
        "open: how long a question takes depends on the data. Declare a deadline to answer on a clock",
    ),
}
SIDES = {
    "failures": "a question that runs out of time, memory or disk fails with one sentence; that it failed is seen",
    "budget left": "every analyst sees what is left for all, and so when others spend; it depends on charges alone",
    "load of the machine": "open to whoever can watch its processor, memory, disk or network",
    "whoever runs the engine": "sees all: logs, query plans and temporary files of a database have no noise",
}
LIMITS = (
    "facts about everybody: what a study finds holds for those who took no part in it",
    "groups: of k people, relatives in the data included, the guarantee is k times weaker",
    "what is known from elsewhere, or was published from a copy of the data that this ledger does not know",
    "the data themselves: whoever holds them sees them",
)


def dataset_report(policy: Policy, standing: Standing, entries: Iterable[Entry], *, ledger: str) -> dict[str, Any]:
    """All sections. `entries` are those of the people's account, in order."""
    privacy, currency = policy.privacy, standing.currency
    whole = standing.balance("dataset")
    limit = privacy.total if whole is None else whole.limit
    spent = Amount(0) if whole is None else whole.spent
    uses = _uses(entries, currency)
    reading = standing.reading(spent)
    amount = currency.decimals
    variant, statement = variant_words(currency.value, _text(limit.spend, amount), _text(limit.delta, 30))
    return {
        "format": "tacit dataset report 1",
        "dataset": policy.dataset.name,
        "people": standing.people,
        "made": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "software": f"tacit {VERSION}",
            "policy": policy.hash,
            "ledger": ledger,
            "entry": standing.seq,
            "digest": standing.head.hex(),
        },
        "promise": {
            "unit": standing.unit,
            "relation": standing.relation.value,
            "hidden": neighbours_words(standing.relation, standing.unit),
            "variant": variant,
            "statement": f"{statement}, for one {standing.unit}",
            "epsilon": standing.promise(limit),
            "delta": float(standing.delta),
            "window": None if privacy.reset is None else str(privacy.reset),
            "sealed": standing.sealed,
            "odds": explain(_most(policy, standing, limit), delta=standing.delta).json(),
        },
        "spent": {
            "currency": currency.value,
            "in all": _text(spent.spend, amount),
            "epsilon": None if reading is None else reading[0],
            "delta": None if reading is None else reading[1],
            "holders": [
                {
                    "holder": each.holder,
                    "limit": _text(each.limit.spend, amount),
                    "spent ever": _text(each.spent.spend, amount),
                    "left": _text(each.left.spend, amount),
                }
                for each in standing.balances
            ],
            "uses": uses[:MANY],
            "uses not listed": max(0, len(uses) - MANY),
        },
        "bounds": list(_bounds(policy)),
        "promises of the curator": list(_promises(policy)),
        "mechanisms": _mechanisms(uses),
        "not protected": [*_exact(policy, standing), *LIMITS],
        "side channels": _sides(policy),
        "nist": _nist(policy, standing, variant),
        "registry": _registry(policy, standing, variant, statement),
    }


def _most(policy: Policy, standing: Standing, limit: Amount) -> Loss:
    """What may be spent in all. Where policy and ledger say different limits the smaller binds; the larger is told."""
    ever = [each for each in (policy.privacy.ever, standing.lifetime) if each is not None] or [
        limit,
        policy.privacy.total,
    ]
    spend = Fraction(max(each.spend for each in ever), 10**standing.currency.decimals)
    delta = Fraction(max(each.delta for each in ever), 10**30)
    return standing.currency.loss(spend, delta, relation=standing.relation, unit=standing.unit)


def _text(whole: int, decimals: int) -> str:
    """An exact decimal without needless zeros."""
    units, rest = divmod(whole, 10**decimals)
    return f"{units}.{rest:0{decimals}d}".rstrip("0").rstrip(".")


def _uses(entries: Iterable[Entry], currency: Currency) -> list[dict[str, Any]]:
    """What was paid for, by whom and for what, the dearest first. Charges that were taken back are left out."""
    charges: dict[int, tuple[int, str, str]] = {}
    for entry in entries:
        if entry.kind == "charge":
            record = read_charge(entry.body)
            charges[entry.seq] = (record.spend, record.analyst, record.program)
        elif entry.kind == "void":
            charges.pop(int(loads(entry.body)["charge"]), None)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    known: dict[str, tuple[str, list[str]]] = {}
    for spend, analyst, text in charges.values():
        if text not in known:
            known[text] = _program_words(text)
        purpose, mechanisms = known[text]
        line = found.setdefault((analyst, purpose), {"times": 0, "spend": 0, "mechanisms": set()})
        line["times"] += 1
        line["spend"] += spend
        line["mechanisms"] |= set(mechanisms)
    ordered = sorted(found.items(), key=lambda item: (-item[1]["spend"], item[0]))
    return [
        {
            "analyst": analyst,
            "for": purpose,
            "times": line["times"],
            "spent": _text(line["spend"], currency.decimals),
            "mechanisms": sorted(line["mechanisms"]),
        }
        for (analyst, purpose), line in ordered
    ]


def _program_words(text: str) -> tuple[str, list[str]]:
    """What a program is for, and its mechanisms by name."""
    try:
        program = Program.from_json(loads(text))
    except (TacitError, ValueError):
        return "a program that this release does not read", []
    query: Mapping[str, Any] = program.query if isinstance(program.query, dict) else {}
    asked = [str(recipe["text"] or recipe["function"]) for recipe in query.get("recipes", ())]
    named = query.get("job") or query.get("kind") or ", ".join(dict.fromkeys(step.name for step in program.steps))
    words = ", ".join(dict.fromkeys(asked)) or str(named)
    tables = f" of {', '.join(program.tables)}" if program.tables else ""
    kinds = [type(step.mechanism).__name__ if isinstance(step, Step) else "Adaptive" for step in program.steps]
    return f"{words}{tables}", kinds


def _mechanisms(uses: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    counted: dict[str, int] = defaultdict(int)
    for line in uses:
        for name in line["mechanisms"]:
            counted[name] += line["times"]
    return [{"mechanism": name, "releases": times} for name, times in sorted(counted.items())]


def _bounds(policy: Policy) -> Iterator[dict[str, str]]:
    """What is cut, to what, and who said so. All of it is declared: no bound is read from the data."""
    for name, table in policy.tables.items():
        if table.public:
            continue
        clip = table.clip_rows
        private = "found privately for each question, which pays for it"
        yield {
            "of": name,
            "what": f"rows of one {policy.privacy.unit}",
            "bound": "as much as the policy promises or a question says" if clip is None else _bound(clip),
            "origin": _origin(clip, private if table.profile is None else "found by the profile of the table"),
        }
        for column_name, column in table.columns.items():
            if column.bounds is not None:
                low, high = (_plain(each) for each in column.bounds)
                yield {
                    "of": f"{name}.{column_name}",
                    "what": "values",
                    "bound": f"{low} to {high}",
                    "origin": "declared",
                }
            if column.clip is not None:
                origin = _origin(column.clip, private)
                what = f"sum of one {policy.privacy.unit}"
                yield {"of": f"{name}.{column_name}", "what": what, "bound": _bound(column.clip), "origin": origin}


def _plain(value: Any) -> str:
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)


def _bound(clip: Fraction | str) -> str:
    return clip if isinstance(clip, str) else f"at most {float(clip):g}"


def _origin(clip: Fraction | str | None, private: str) -> str:
    return private if isinstance(clip, str) else "declared" if clip is not None else "by the question"


def _promises(policy: Policy) -> Iterator[str]:
    """What the guarantee rests on and nothing checks."""
    unit = policy.privacy.unit
    for name, table in policy.tables.items():
        if table.public:
            yield f"table {name} holds nothing about any {unit}: it is not protected"
        elif table.each_row_is_a_unit:
            yield f"table {name}: no {unit} has two rows"
        elif table.link is not None:
            yield f"table {name}: a row is the {unit}'s to whom {table.link.column} leads, and nobody else's"
        else:
            columns = table.unit_column if isinstance(table.unit_column, str) else ", ".join(table.unit_column or ())
            yield f"table {name}: {columns} names the {unit}, and nobody goes by two names"
        if table.max_rows_per_unit is not None:
            yield f"table {name}: no {unit} has more than {table.max_rows_per_unit:,} rows"
    yield "no copy of these data is asked under another budget"
    yield f"{policy.dataset.identity} are all the people in them"


def _exact(policy: Policy, standing: Standing) -> Iterator[str]:
    if standing.relation is Relation.REPLACE:
        yield f"how many {standing.unit}s there are, which is public"
    for name, table in policy.tables.items():
        if table.invariants:
            yield f"counts of table {name} that a census may release exactly: {', '.join(table.invariants)}"


def _sides(policy: Policy) -> dict[str, str]:
    clock, free = SIDE["time of an answer"]
    return {"time of an answer": free if policy.privacy.deadline is None else clock, **SIDES}


def _nist(policy: Policy, standing: Standing, variant: str) -> list[dict[str, str]]:
    """The points that NIST SP 800-226 (2025) wants evaluated, from the top of its pyramid to the base."""
    unit = standing.unit
    bounded = "bounded (replace)" if standing.relation is Relation.REPLACE else "unbounded (add or remove)"
    analysts = ", ".join(sorted(policy.analysts)) or "nobody"
    points = {
        "Privacy parameters": f"{variant}; limit and spending stand above. No question can pass the limit",
        "Unit of privacy": f"one {unit}, with all rows of the tables named here",
        "Neighbouring datasets": f"{bounded}, where not said otherwise",
        "Composition": ACROSS,
        "Query model": "interactive; analysts and groups have limits; a repeated question is answered from the store",
        "Trust model": TRUST,
        "Algorithms": "every mechanism has a theory page with its proof or source; those in use stand above",
        "Utility": "each answer states its interval and what that covers; a quote states the expected error, free",
        "Bias": "clipping and bounds make answers too small where a few do much; each interval says what it covers. "
        "Small groups have the same noise as large ones, and so more of it in per cent",
        "Correctness of noise": "exact integers from a cryptographic generator: no floating point decides an outcome; "
        "training noise has a distance from its law that is proven and counted in δ",
        "Side channels": "listed above, the open ones too",
        "Access control": f"who may ask: {analysts}. Without a service, whoever can read the files holds the data",
        "Security of the data": OPEN,
        "Exposure at collection": OPEN,
    }
    return [{"point": point, "answer": answer} for point, answer in points.items()]


def _registry(policy: Policy, standing: Standing, variant: str, statement: str) -> dict[str, Any]:
    """The fields of the public registry of deployments, by its three tiers of openness."""
    tables = {name: sorted(table.columns) for name, table in policy.tables.items() if not table.public}
    return {
        "tier 1": {
            "data curator": OPEN,
            "intended use": OPEN,
            "data product": f"answers to questions about {standing.people}",
            "publication date": OPEN,
        },
        "tier 2": {
            "flavor of differential privacy": variant,
            "privacy unit": standing.unit,
            "privacy loss": statement,
            "model": "central, interactive",
        },
        "tier 3": {
            "data domain": tables,
            "unprotected quantities": list(_exact(policy, standing)),
            "privacy unit in detail": neighbours_words(standing.relation, standing.unit),
            "accounting": ACROSS,
            "post-processing": "ratios, HAVING, ORDER BY, LIMIT and intervals are worked out from noisy numbers",
            "implementation": f"tacit {VERSION}, engine {policy.dataset.engine.value}",
            "security": f"exact noise from a cryptographic generator; side channels: above; where the data lie: {OPEN}",
            "justification": OPEN,
        },
    }
