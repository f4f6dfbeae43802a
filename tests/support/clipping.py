"""Questions about a small table with every kind of odd value, and their answers in exact arithmetic.

Nothing here looks at how engines are asked: sums, norms and weights follow `plan/bounded.py` and the clip's theorem.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit.plan.bounded import Bounded, Clip, Key, Measure, Presence, Ranks
from tacit.plan.cells import Piece
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = [
    "COST",
    "COUNT",
    "FACTS",
    "QUESTIONS",
    "WHO",
    "Answer",
    "Row",
    "clip",
    "column",
    "database",
    "expected",
    "visits",
]

Row = tuple[Any, ...]  # unit, ward, product, cost, age
Group = tuple[Any, ...]
Answer = dict[str, dict[Group, int]]

WARDS = ("east", "north", "west")
FURTHEST = 2.0**40  # of what is a number, in columns with such bounds
FACTS = {
    "unit": Facts(type=Type.INTEGER),
    "ward": Facts(type=Type.TEXT, domain=WARDS),
    "product": Facts(type=Type.TEXT),
    "cost": Facts(type=Type.NUMBER, low=Fraction(-50), high=Fraction(200), step=Fraction(1, 100)),
    "age": Facts(type=Type.INTEGER, low=0, high=120),
}
STRICT = ("ward", "cost")
UNITS = [1, 2, 3, 4, 2**60, 2**60 + 1, -5]
COSTS = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1e300,
    2.0**40,
    -(2.0**40),
    2.0**40 + 1,
    0.0,
    -0.0,
    5e-324,
    0.005,
    0.015,
    1.115,
    199.995,
    200.0,
    200.01,
]
AGES = [None, 0, 17, 18, 65, 120, 121, -1, 2**62, -(2**62), 33, 34]
WHERE = [None, "east", "north", "west", "EAST", "elsewhere", ""]
PRODUCTS = [None, "", "a", "A", "b", "ä", "c'd", "e"]


def database(seed: int, rows: int = 60) -> list[Row]:
    draw = random.Random(seed)

    def row() -> Row:
        # one unit has most rows, so that some are far over their bounds
        unit = draw.choice([None, 1, 1, 1, 1, *UNITS])
        cost = draw.choice(COSTS) if draw.random() < 0.4 else round(draw.uniform(-60, 250), 3)
        return unit, draw.choice(WHERE), draw.choice(PRODUCTS), cost, draw.choice(AGES)

    return [row() for _ in range(rows)]


def column(name: str) -> Column:
    return Column(name=name, facts=FACTS[name])


def key(name: str) -> Key:
    return Key(name=name, expression=column(name))


def visits(*, unit: bool = True, strict: bool = False) -> Scan:
    """With `strict`, wards and costs cannot be NULL: rows in which they would be do not count."""
    columns = tuple(
        Source(name=name, column=name, facts=facts.but(nullable=False) if strict and name in STRICT else facts)
        for name, facts in FACTS.items()
        if unit or name != "unit"
    )
    return Scan(table="visits", columns=columns, is_private=True, unit_name="unit" if unit else None)


COUNT = Measure(name="count", low=16, high=16)
COST = Measure(name="cost", value=column("cost"), step=Fraction(1, 100), low=-5000, high=20000)
NARROW = Measure(name="narrow", value=column("cost"), step=Fraction(3, 7), offset=10, low=-60, high=300)
AGE = Measure(name="age", value=column("age"), low=0, high=120)
WHO = Measure(name="who", kind="units", value=column("age"), low=64, high=64)
EVERYONE = Measure(name="everyone", kind="units", low=32, high=32)
AGES_SEEN = Measure(name="ages", kind="distinct", value=column("age"), cap=3)
PIECES = (
    Piece(low=Fraction(-40), width=Fraction(20), cells=2),  # some lie before it
    Piece(low=Fraction(0), width=Fraction(1, 100), cells=1000),
    Piece(low=Fraction(10), width=Fraction(7, 3), cells=30),
    Piece(low=Fraction(80), width=Fraction(33), cells=3),  # and some after
)
CELLS = Ranks(name="cells", value=column("cost"), pieces=PIECES, one=256)
EVEN = Piece(low=Fraction(-50), width=Fraction(25), cells=10)


def clip(norm: str, bound: Fraction | int, *names: str, scales: Sequence[Fraction] = (), exempt: bool = False) -> Clip:
    chosen = tuple(scales) or (Fraction(1),) * len(names)
    return Clip(names=names, scales=chosen, norm=norm, bound=Fraction(bound), exempt=exempt)  # type: ignore[arg-type]  # the norm is a word


def question(norm: str, *keys: str, tight: int = 1, presence: bool = False) -> Bounded:
    """Everything at once: shared and separate clips of both norms, units, distinct values, ranks."""
    other = "l1" if norm == "l2" else "l2"
    clips = (
        clip(norm, Fraction(1000 * 7, tight * 3), "count", "cost", scales=(Fraction(5, 3), Fraction(1, 7))),
        clip(other, Fraction(50, tight), "age"),
        clip(other, Fraction(90, tight), "narrow"),
        clip(norm, 100, "who"),
        clip(other, Fraction(200, 3), "everyone"),
        clip(norm, 3, "ages", exempt=True),
        clip(norm, 256 * 3, "cells"),
    )
    return Bounded(
        source=visits(),
        keys=tuple(key(name) for name in keys),
        measures=(COUNT, AGES_SEEN, COST, AGE, WHO, EVERYONE, NARROW),
        clips=clips,
        ranks=(CELLS,),
        presence=Presence(norm=norm, one=2**10) if presence else None,  # type: ignore[arg-type]  # the norm is a word
    )


def of_busy(norm: str, *keys: str, strict: bool = False) -> Bounded:
    """Bounds that sixteen rows never pass, so that only units with more of them are looked at."""
    source = visits(strict=strict)

    def read(name: str) -> Column:
        return Column(name=name, facts=source.schema[name])

    return Bounded(
        source=source,
        keys=tuple(Key(name=name, expression=read(name)) for name in keys),
        measures=(COUNT, replace(COST, value=read("cost")), AGE, replace(NARROW, value=read("cost"))),
        clips=(
            clip(norm, 16 * 2900, "count", "cost", scales=(Fraction(5, 3), Fraction(1, 7))),
            clip(norm, 17 * 120, "age"),
            clip(norm, 2**30, "narrow", exempt=True),
            clip(norm, 256 * 18, "cells"),
        ),
        ranks=(replace(CELLS, value=read("cost"), pieces=(EVEN,)),),
    )


def alike(norm: str, *keys: str, presence: bool = False) -> Bounded:
    """Units that differ only in how many groups they are in."""
    return Bounded(
        source=visits(),
        keys=tuple(key(name) for name in keys),
        measures=(EVERYONE,),
        clips=(clip(norm, 50, "everyone"),),
        presence=Presence(norm=norm, one=2**10) if presence else None,  # type: ignore[arg-type]  # the norm is a word
    )


QUESTIONS = {
    "l2 busy units": of_busy("l2", "ward"),
    "l1 busy units, strict": of_busy("l1", "ward", strict=True),
    "l2 busy units in all": of_busy("l2"),
    "l2 alike": alike("l2", "ward"),
    "l1 alike, unknown keys": alike("l1", "product", presence=True),
    "l2 alike, unknown keys": alike("l2", "product", "ward", presence=True),
    "l2 by ward": question("l2", "ward"),
    "l1 by ward": question("l1", "ward", tight=3),
    "l2 in all": question("l2", tight=2),
    "l1 unknown keys": question("l1", "product", presence=True),
    "l2 unknown keys": question("l2", "product", "ward", presence=True, tight=5),
}


def enforced(row: Row) -> Row | None:
    unit, ward, product, cost, age = row
    if unit is None:
        return None
    cost = None if cost is None or not abs(cost) <= FURTHEST else min(max(cost, -50.0), 200.0)
    age = None if age is None or abs(age) > FURTHEST else min(max(age, 0), 120)
    return unit, ward if ward in WARDS else None, product, cost, age


def steps(measure: Measure, row: Row) -> int | None:
    if measure.value is None:
        return measure.high
    assert isinstance(measure.value, Column)
    value = row[list(FACTS).index(measure.value.name)]
    if value is None:
        return None
    inverse = 1 / measure.step
    divided = float(value) * float(inverse) if inverse.denominator == 1 else float(value) / float(measure.step)
    return min(max(math.floor(divided + 0.5) - measure.offset, measure.low), measure.high)


def weight(norm: str, size: int, common: int, bound: Fraction) -> float | None:
    """None for a unit within the bound; all numbers that decide are whole."""
    reach = bound * common
    if size <= (reach * reach if norm == "l2" else reach):
        return None
    exact = reach * (1 - Fraction(1, 2**48))
    top = float(exact)
    if Fraction(top) > exact:
        top = math.nextafter(top, -math.inf)
    double = float(size >> 63) * 2.0**63 + float(size & (2**63 - 1))
    return top / (math.sqrt(double) if norm == "l2" else double)


Vectors = dict[int, dict[tuple[Any, ...], int]]


def clipped(item: Clip, vectors: dict[str, Vectors]) -> dict[str, Vectors]:
    """Each unit's vectors after the clip."""
    common = math.lcm(*(scale.denominator for scale in item.scales))
    factors = {name: int(scale * common) for name, scale in zip(item.names, item.scales, strict=True)}
    result: dict[str, Vectors] = {name: {} for name in item.names}
    for unit in {unit for name in item.names for unit in vectors[name]}:
        values = [factors[name] * v for name in item.names for v in vectors[name].get(unit, {}).values()]
        size = sum(v * v for v in values) if item.norm == "l2" else sum(map(abs, values))
        assert item.bound is not None
        scale = None if item.exempt else weight(item.norm, size, common, item.bound)
        for name in item.names:
            own = vectors[name].get(unit, {})
            result[name][unit] = own if scale is None else {g: math.trunc(float(v) * scale) for g, v in own.items()}
    return result


def expected(bounded: Bounded, rows: list[Row]) -> dict[str, dict[tuple[Any, ...], int]]:
    """Every table of the answer, by group."""
    read = [row for row in map(enforced, rows) if row is not None]
    places = [list(FACTS).index(name) for name, facts in bounded.source.schema.items() if not facts.nullable]
    read = [row for row in read if all(row[place] is not None for place in places)]
    places = [list(FACTS).index(item.name) for item in bounded.keys]

    def group(row: Row) -> tuple[Any, ...]:
        return tuple(row[place] for place in places)

    groups = {group(row) for row in read} or ({()} if not places else set())
    vectors: dict[str, Vectors] = {}
    answer: dict[str, dict[tuple[Any, ...], int]] = {}
    for measure in bounded.measures:
        found: Vectors = defaultdict(lambda: defaultdict(int))
        if measure.kind == "distinct":
            answer[measure.name] = distinct(measure, read, group)
            continue
        for row in read:
            value = steps(measure, row)
            if value is None:
                continue
            if measure.kind == "units":
                found[row[0]][group(row)] = measure.high
            else:
                found[row[0]][group(row)] += value
        vectors[measure.name] = found
    for item in bounded.clips:
        if all(name in vectors for name in item.names):
            for name, found in clipped(item, vectors).items():
                answer[name] = totals(found)
    shown = groups
    if bounded.presence is not None:
        answer["presence"] = presence(bounded.presence, read, group)
        shown = {g for g in groups if answer["presence"].get(g, 0) > 0}
    answer = {name: {g: found.get(g, 0) for g in shown} for name, found in answer.items()}
    for ranks in bounded.ranks:
        answer[ranks.name] = cells(ranks, next(c for c in bounded.clips if ranks.name in c.names), read, group)
    return answer


def totals(found: Vectors) -> dict[tuple[Any, ...], int]:
    total: dict[tuple[Any, ...], int] = defaultdict(int)
    for own in found.values():
        for g, v in own.items():
            total[g] += v
    return total


def distinct(measure: Measure, read: list[Row], group: Callable[[Row], tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    def order(pair: tuple[tuple[Any, ...], Any]) -> Any:
        return pair[1], [(part is not None, (part or "").encode()) for part in pair[0]]

    pairs: dict[int, set[tuple[tuple[Any, ...], Any]]] = defaultdict(set)
    for row in read:
        if row[4] is not None:
            pairs[row[0]].add((group(row), row[4]))
    kept = {pair for own in pairs.values() for pair in sorted(own, key=order)[: measure.cap]}
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    for g, _ in kept:
        counts[g] += 1
    return counts


def presence(item: Presence, read: list[Row], group: Callable[[Row], tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    own: dict[int, set[tuple[Any, ...]]] = defaultdict(set)
    for row in read:
        own[row[0]].add(group(row))
    total: dict[tuple[Any, ...], int] = defaultdict(int)
    for groups in own.values():
        for g in groups:
            total[g] += item.one // len(groups) if item.norm == "l1" else math.isqrt(item.one**2 // len(groups))
    return total


def cell_of(value: float, ranks: Ranks) -> int:
    """In doubles, as an engine does it."""
    before = 0
    for piece in ranks.pieces:
        if value < float(piece.high) or piece is ranks.pieces[-1]:
            inverse = piece.width.numerator == 1
            far = value - float(piece.low)
            place = far * piece.width.denominator if inverse else far / float(piece.width)
            return before + min(max(math.floor(place), 0), piece.cells - 1)
        before += piece.cells
    raise AssertionError


def cells(
    ranks: Ranks, item: Clip, read: list[Row], group: Callable[[Row], tuple[Any, ...]]
) -> dict[tuple[Any, ...], int]:
    counts: Vectors = defaultdict(lambda: defaultdict(int))
    for row in read:
        if row[3] is not None:
            counts[row[0]][group(row)] += ranks.one
    total: dict[tuple[Any, ...], int] = defaultdict(int)
    assert item.bound is not None
    weights = {
        unit: weight(
            item.norm, sum(v * v for v in own.values()) if item.norm == "l2" else sum(own.values()), 1, item.bound
        )
        for unit, own in counts.items()
    }
    for row in read:
        if row[3] is not None:
            scale = weights[row[0]]
            cell = cell_of(row[3], ranks)
            total[(*group(row), cell)] += ranks.one if scale is None else math.trunc(ranks.one * scale)
    return total
