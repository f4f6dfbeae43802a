"""The redistricting file of the 2020 census of the United States: its 2,016 cells, and how ρ = 2.5562 was shared.

The shares are those of the Census Bureau's published production code (DAS_2020_Redistricting_Production_Code: global
scale 339/542, so ρ = (542/339)²; shares of the levels for persons in the United States without Puerto Rico; strategy
`ProductionCandidate20210527US_mult8_add02_dsepJune3`). The names of the categories are ours. There the block groups
were regrouped to have few children, some invariants were of housing units, and the fit went through several passes:
none of this is in it.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

__all__ = ["CATEGORIES", "LEVELS", "LEVEL_SHARES", "RECODES", "RHO", "census_2020", "query_shares"]

RHO = Fraction(542, 339) ** 2
LEVELS = ("nation", "state", "county", "tract", "block_group", "block")
RACES = ("white", "black", "native", "asian", "pacific", "other")
QUARTERS = (
    "household", "adult prison", "youth prison", "nursing home", "other institution", "college", "barracks",
    "other quarters",
)  # fmt: skip
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "quarters": QUARTERS,
    "age": ("under 18", "18 and over"),
    "hispanic": ("no", "yes"),
    "race": tuple("+".join(mix) for size in range(1, 7) for mix in combinations(RACES, size)),
}
RECODES: Mapping[str, Any] = {
    "institution": {
        "column": "quarters",
        "groups": {"household": QUARTERS[:1], "institution": QUARTERS[1:5], "other": QUARTERS[5:]},
    }
}
LEVEL_SHARES = dict(zip(LEVELS, (104, 1440, 447, 687, 1256, 165), strict=True))  # of 4,099

TOTAL, DETAIL = "total", "detail"
QUERIES = (
    TOTAL, "race", "hispanic", "age", "institution", "quarters", "hispanic*race", "age*race", "age*hispanic",
    "age*hispanic*race", DETAIL,
)  # fmt: skip
SHARES = {  # of each level, in the order of QUERIES, over one denominator
    "nation": (0, 52, 26, 26, 26, 26, 130, 130, 26, 442, 3213),  # of 4,097
    "state": (3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230),  # of 4,097
    "county": (3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754),  # of 4,097
    "tract": (1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482),  # of 4,102
    "block_group": (1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288),  # of 4,099
    "block": (5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945),  # of 4,097
}


def query_shares() -> dict[str, dict[str, int]]:
    """The weight of each query by level, as `Session.census` takes it."""
    return {query: {level: SHARES[level][place] for level in LEVELS} for place, query in enumerate(QUERIES)}


def census_2020(rho: Any = RHO) -> dict[str, Any]:
    """What to pass to `Session.census` beside a table, a spine of these six levels and the invariants."""
    return {"rho": rho, "queries": query_shares(), "levels": LEVEL_SHARES, "recodes": RECODES}
