"""Made-up people for the census: blocks as large and as uneven as those of the United States, with the cells of 2020.

There 331 million people lived in 8.1 million blocks, 41 in each, and about a third of the blocks had nobody. Which
races, ages and quarters people have here is made up, and differs from block to block.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.census import Spine
from tacit.census.redistricting import CATEGORIES, LEVELS

__all__ = ["MadeUpCountry", "made_up"]

EMPTY = 0.3
PER_BLOCK = 41.0
QUARTERS = (0.975, 0.004, 0.0002, 0.005, 0.0003, 0.009, 0.001, 0.0055)
SHAPE = {"tracts": 30, "groups": 3, "blocks": 32}  # in a county, in a tract, in a group

POLICY = """\
[dataset]
name = "country"
ledger = "country.ledger"

[privacy]
unit = "person"
relation = "replace"
currency = "rho"
budget = 100
delta = 1e-10

[tables.people]
source = "people.parquet"
each_row_is_a_unit = true
invariants = ["nation.total", "state.total", "block.vacant"]

[tables.people.columns]
block = { type = "text", nullable = false }
COLUMNS

[analysts.ana]
"""


@dataclass(frozen=True, kw_only=True)
class MadeUpCountry:
    """The spine, and for each person the block and the value of each column, as codes."""

    spine: Spine
    block: Any
    columns: dict[str, Any]

    @property
    def people(self) -> int:
        return len(self.block)

    def table(self) -> pa.Table:
        named = {"block": (self.spine.names[-1], self.block)}
        named |= {name: (CATEGORIES[name], codes) for name, codes in self.columns.items()}
        return pa.table(
            {
                name: pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(values)).cast(pa.string())
                for name, (values, codes) in named.items()
            }
        )

    def write(self, folder: Path) -> Path:
        """The people and a policy for them."""
        pq.write_table(self.table(), folder / "people.parquet")
        lines = [
            f'{name} = {{ type = "text", nullable = false, group_keys = {list(values)!r} }}'.replace("'", '"')
            for name, values in CATEGORIES.items()
        ]
        path = folder / "country.toml"
        path.write_text(POLICY.replace("COLUMNS", "\n".join(lines)))
        return path


def made_up(blocks: int, seed: int = 1) -> MadeUpCountry:
    """A nation of about so many blocks: of one state up to ten counties, and of one for each ten more."""
    rng = np.random.default_rng(seed)
    places = []
    for number in range(blocks):
        group = number // SHAPE["blocks"]
        tract = group // SHAPE["groups"]
        county = tract // SHAPE["tracts"]
        places.append(("us", f"s{county // 10}", f"c{county}", f"t{tract}", f"g{group}", f"b{number}"))
    spine = Spine(*LEVELS, places=places)
    mean = PER_BLOCK / (1 - EMPTY)
    sizes = rng.poisson(rng.gamma(0.8, mean / 0.8, blocks)) * (rng.random(blocks) >= EMPTY)
    where = np.repeat(np.arange(blocks), sizes)
    tracts = spine.above[LEVELS.index("tract")]
    mixes = _mixes(rng, len(spine.names[LEVELS.index("tract")]))
    race = (rng.random(len(where))[:, None] > mixes.cumsum(axis=1)[tracts[where]]).sum(axis=1).clip(0, 62)
    hispanic = rng.random(len(where)) < rng.beta(0.8, 3.5, len(mixes))[tracts[where]]
    quarters = np.where(
        rng.random(blocks)[where] < 0.01, rng.choice(8, blocks, p=QUARTERS)[where], 0
    )  # quarters are places: whoever is in one is there with others
    age = rng.random(len(where)) < 0.78
    columns = {"quarters": quarters, "age": age.astype(int), "hispanic": hispanic.astype(int), "race": race}
    return MadeUpCountry(spine=spine, block=where, columns=columns)


def _mixes(rng: np.random.Generator, tracts: int) -> Any:
    """Shares of 63 races and mixtures in each tract: few of three or more."""
    sizes = np.array([name.count("+") for name in CATEGORIES["race"]])
    usual = np.array([0.62, 0.13, 0.011, 0.06, 0.002, 0.08])
    weight = np.concatenate([usual, 0.09 * np.exp(-2.2 * (sizes[6:] - 1)) * rng.dirichlet(np.full(57, 0.4))])
    return rng.dirichlet(weight / weight.sum() * 12 + 1e-4, tracts)
