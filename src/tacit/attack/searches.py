"""A search log without names is full of names, and keeping less of it helps without a promise.

People look for themselves, and for what worries them. A pseudonym ties the two together, as it did when AOL published
the searches of 650,000 people in 2006. Private release of queries: Korolova, Kenthapadi, Mishra and Ntoulas (2009).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tacit.attack.population import Chance, chance
from tacit.attack.registry import Attempt, Outcome, bars
from tacit.base import InputError, whole
from tacit.mechanism import StableHistogram

__all__ = ["Log", "exposed", "named", "searches", "stage"]

Log = list[list[str]]  # what each person looked for, in order
WORRIES = ("divorce lawyer", "loan shark", "hiv test", "gambling help", "lump in breast", "cheap bankruptcy")
COMMON = 2_000  # other queries, the commonest far more often than the rest
DELTA = "0.000001"


def searches(people: int, dice: Chance) -> Log:
    """Some twenty common queries each; seven in ten look for themselves, a third for a worry, some with their name."""
    weights = 1 / np.arange(1, COMMON + 1)
    popular = dice.choice(COMMON, (people, 20), p=weights / weights.sum())
    log: Log = []
    for person in range(people):
        own = [f"query {number}" for number in popular[person]]
        name, worry = f"person {person}", WORRIES[int(dice.integers(len(WORRIES)))]
        if dice.random() < 0.7:
            own += [name] * int(dice.integers(1, 7))
        if dice.random() < 0.2:
            own += [f"person {dice.integers(people)}"]  # somebody else
        if dice.random() < 0.33:
            own += [worry]
            if dice.random() < 0.3:
                own += [f"{name} {worry}"] * int(dice.integers(1, 7))
        log.append([own[place] for place in dice.permutation(len(own))])
    return log


def named(queries: Sequence[str]) -> str | None:
    """Whose queries these probably are: the name that is looked for most."""
    names = Counter(query for query in queries if query.startswith("person ") and query.count(" ") == 1)
    return names.most_common(1)[0][0] if names else None


def exposed(parts: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
    """Names with their worries, as somebody reads them off `parts`: queries known to be of one person, or one alone."""
    found = set()
    for queries in parts:
        name = named(queries)
        for query in queries:
            worry = next((each for each in WORRIES if query.endswith(each)), None)
            who = query.removesuffix(worry).strip() or name if worry else None
            if who is not None and worry is not None:
                found.add((who, worry))
    return found


def stage(*, seed: int = 1, people: int = 3_000, epsilon: float = 1.0, each: int = 5) -> Outcome:
    """A log with pseudonyms, with less and less kept, and queries as tacit publishes them: `each` of a person count."""
    many, most = whole(people, "people", least=10), whole(each, "each", least=1)
    dice = chance(seed)
    log = searches(many, dice)
    truth = {
        (f"person {who}", worry) for who, own in enumerate(log) for worry in WORRIES if any(worry in q for q in own)
    }
    flat = [[query] for own in log for query in own]
    rows = Counter(query for own in log for query in own)
    histogram = StableHistogram(epsilon=epsilon, delta=DELTA, partitions=most)
    bounded = Counter(query for own in log for query in _some(own, most, dice))
    published = histogram.sample(bounded)
    ours = f"tacit's queries, ε = {epsilon:g}"
    releases: Mapping[str, Sequence[Sequence[str]]] = {
        "names replaced by numbers": log,
        "a new number every ten queries": [own[at : at + 10] for own in log for at in range(0, len(own), 10)],
        "no numbers at all": flat,
        "no numbers, queries asked five times": [[query] for query, count in rows.items() if count >= 5],
        ours: [[query] for query in published],
    }
    if not truth:
        raise InputError("nobody has a worry here: take more people")
    hits = {name: Attempt.counted(name, len(exposed(parts) & truth), len(truth)) for name, parts in releases.items()}
    first, *_, last = hits.values()
    return Outcome(
        name="search-logs",
        headline="A search log without names is full of names",
        measure=f"of {len(truth):,} people with a worry, those whose name and worry can be read off the log",
        chance=0.0,
        undefended=first,
        defended=last,
        remarks=(
            "keeping less helps: short histories tie fewer searches together. It is no promise: whoever types a name "
            "and a worry in one query gives both away, and asking five times is not five people asking",
            f"tacit counts at most {most} queries of each person, adds noise at ε = {epsilon:g}, δ = {float(DELTA):g} "
            f"for all that one person typed, and shows counts from {histogram.threshold()} on: {len(published):,} of "
            f"{len(rows):,} queries, {sum(rows[query] for query in published) / rows.total():.0%} of all that was "
            "typed",
        ),
        facts={"people": many, "epsilon": epsilon, "delta": float(DELTA), "each": most, "queries": len(rows)}
        | {"shown": len(published), "read": {name: attempt.success for name, attempt in hits.items()}},
        draw=bars(
            [(name, attempt, name == ours) for name, attempt in hits.items()],
            title=("Names with what they looked for", f"{many:,} people, {rows.total():,} searches"),
            axis="people with a worry whose name and worry are read",
        ),
    )


def _some(own: Sequence[str], most: int, dice: Chance) -> list[str]:
    """At most so many different queries of one person, drawn by chance."""
    different = sorted(set(own))
    return [different[place] for place in dice.permutation(len(different))[:most]]
