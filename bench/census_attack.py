"""The lab's reconstruction of people from the tables of their block, run on exact tables, on tables that were protected
as they used to be, and on a census. Blocks of four to nine made-up people, as in `tacit attack run microdata`.

Swapped: a tenth of the people change places with somebody of another block, then exact tables. Rounded: every count to
the nearest multiple of three. From a census nothing has to be rebuilt: its block tables are people, and are compared as
they are.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.attack.microdata import (
    BY_DECADE,
    DECADES,
    DOMAIN,
    WITH_AGES,
    Person,
    _block,
    fitted,
    overlap,
    publish,
    rebuild,
)  # fmt: skip
from tacit.attack.population import Chance, chance
from tacit.attack.registry import Attempt
from tacit.census import Spine
from tacit.plan.price import rho_of
from tacit.session import Session

__all__ = ["ATTEMPTS", "attacked"]

SWAPPED, BASE = 0.1, 3
DELTA = Fraction(1, 10**6)
DRAWS = 10  # of noise, whose mean is shown
ATTEMPTS = ("exact tables", "swapped", "rounded", "census, ρ = 2.5562", "census, ε = 1", "nothing published")

POLICY = """\
[dataset]
name = "blocks"
ledger = "blocks.ledger"

[privacy]
unit = "person"
relation = "replace"
currency = "rho"
budget = 10
delta = 1e-6

[tables.people]
source = "people.parquet"
each_row_is_a_unit = true

[tables.people.columns]
block = { type = "text", nullable = false }
age = { type = "integer", bounds = [0, 89], nullable = false }
sex = { type = "text", group_keys = ["female", "male"], nullable = false }
race = { type = "text", group_keys = ["black", "white", "other"], nullable = false }

[analysts.ana]
"""
QUERIES = {"total": 1, "sex*decade": 2, "sex*race": 2, "detail": 1}
RECODES = {"decade": {"column": "age", "groups": {str(d): list(range(10 * d, 10 * d + 10)) for d in DECADES}}}


def attacked(seed: int = 1, blocks: int = 20) -> dict[str, Attempt]:
    """How many of the people each attempt finds, age in years, sex and race."""
    source = chance(seed)
    truth = [_block(source, int(source.integers(4, 10))) for _ in range(blocks)]
    everybody = sum(map(len, truth))
    found = dict.fromkeys(ATTEMPTS, 0.0)
    swapped = _swapped(source, truth)
    budgets = {"census, ρ = 2.5562": Fraction("2.5562"), "census, ε = 1": rho_of(Fraction(1), DELTA)}
    with TemporaryDirectory() as folder:
        released = {
            name: [_census(Path(folder) / f"{name}{draw}", truth, rho) for draw in range(DRAWS)]
            for name, rho in budgets.items()
        }
    for number, people in enumerate(truth):
        for name, block in (("exact tables", people), ("swapped", swapped[number])):
            tables = publish(block, BY_DECADE, ages=WITH_AGES)
            found[name] += overlap(rebuild(tables, DOMAIN).people, people)
        rounded: list[tuple[Any, float, float | None]] = [
            (row.group, float(BASE * round((row.count or 0) / BASE)), None)
            for row in publish(people, [*BY_DECADE, *WITH_AGES])
        ]
        found["rounded"] += overlap(fitted(rounded), people)
        for name, drawn in released.items():
            found[name] += sum(overlap(each[number], people) for each in drawn) / DRAWS
        guesses = [overlap(_block(source, len(people)), people) for _ in range(50)]
        found["nothing published"] += sum(guesses) / len(guesses)
    return {name: Attempt.counted(name, round(count), everybody) for name, count in found.items()}


def _swapped(source: Chance, truth: Sequence[Sequence[Person]]) -> list[list[Person]]:
    blocks = [list(people) for people in truth]
    places = [(block, seat) for block, people in enumerate(blocks) for seat in range(len(people))]
    chosen = source.permutation(len(places))[: 2 * round(SWAPPED * len(places) / 2)]
    for one, other in zip(chosen[::2], chosen[1::2], strict=True):
        (a, i), (b, j) = places[one], places[other]
        blocks[a][i], blocks[b][j] = blocks[b][j], blocks[a][i]
    return blocks


def _census(where: Path, truth: Sequence[Sequence[Person]], rho: Fraction) -> list[list[Person]]:
    """The people that a census of these blocks is made of."""
    where.mkdir()
    rows = [{"block": f"b{number:02d}", **person} for number, people in enumerate(truth) for person in people]
    pq.write_table(pa.Table.from_pylist(rows), where / "people.parquet")
    (where / "blocks.toml").write_text(POLICY)
    spine = Spine("county", "block", places=[("c", f"b{number:02d}") for number in range(len(truth))])
    with Session(where / "blocks.toml", "ana") as session:
        made = session.census(
            "people", spine, rho=rho, queries=QUERIES, columns=["age", "sex", "race"], recodes=RECODES
        ).release()
    found: list[list[Person]] = [[] for _ in truth]
    for row in made.table("block").to_pylist():
        person = {"age": int(row["age"]), "sex": row["sex"], "race": row["race"]}
        found[int(row["block"][1:])] += [person] * row["count"]
    return found
