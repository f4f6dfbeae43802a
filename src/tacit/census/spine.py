"""A geography that is a tree: levels from the widest to the narrowest, and every place in exactly one wider place.

It is public: who lives where is not in it, only which places there are. Names are of a level, so a block's name says
which block it is without its tract: two blocks of one name in two tracts are a mistake, and are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import ConvertOptions, read_csv
from pyarrow.parquet import read_table

from tacit.base import InputError, cached_property

__all__ = ["MOST_PLACES", "Codes", "Spine"]

MOST_PLACES = 10_000_000  # at the last level
Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False, repr=False)
class Spine:
    """`Spine("state", "county", "block", places=…)`: the names of the levels, and the places as rows of one name for
    each level (tuples, an Arrow or pandas table, or a CSV or Parquet file with those columns).

    The last level is a column of the table that is counted. Places are kept so that children of one place stand
    together: `names[l]` are those of a level, and `parents[l][i]` is the place in level l − 1 that holds place i.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    parents: tuple[Codes, ...]

    def __init__(self, *levels: str, places: Any = None) -> None:
        if not levels or not all(levels):
            raise InputError('a spine has levels, from the widest to the narrowest: Spine("state", "county", "block")')
        for level in levels:
            if "." in level or level == "count":
                raise InputError(
                    f"a level cannot be called {level!r}: names with a dot, and count, mean something else"
                )
        if len(set(levels)) < len(levels):
            raise InputError(f"the levels {', '.join(levels)} are not all different")
        if places is None:
            raise InputError(
                f"which places are there? pass places=, a row for each {levels[-1]} with its {', '.join(levels)}"
            )
        names, parents = _tree(levels, _rows(places, levels))
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "parents", parents)

    @classmethod
    def from_codes(cls, codes: Iterable[Any], levels: Mapping[str, int]) -> "Spine":
        """From codes of the narrowest places whose first characters name the wider ones, as census codes do:
        `from_codes(blocks, {"state": 2, "county": 5, "tract": 11, "block": 15})`."""
        lengths = list(levels.values())
        if not lengths or lengths != sorted(set(lengths)) or lengths[0] < 0:
            raise InputError("levels must say rising numbers of characters, from the widest to the narrowest")
        rows = []
        for code in map(str, codes):
            if len(code) != lengths[-1]:
                raise InputError(f"{code!r} has {len(code)} characters, and a {list(levels)[-1]} has {lengths[-1]}")
            rows.append(tuple(code[:length] for length in lengths))
        return cls(*levels, places=rows)

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(names):,} × {level}" for level, names in zip(self.levels, self.names, strict=True))
        return f"<Spine: {sizes}>"

    @property
    def leaf(self) -> str:
        """The last level, whose places people live in."""
        return self.levels[-1]

    def place(self, level: str) -> int:
        """The number of a level."""
        if level not in self.levels:
            raise InputError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        return self.levels.index(level)

    @cached_property
    def children(self) -> tuple[Codes, ...]:
        """For each level but the last, where the children of place i begin in the next: from [i] to [i + 1]."""
        return tuple(
            np.searchsorted(parents, np.arange(len(names) + 1))
            for names, parents in zip(self.names[:-1], self.parents[1:], strict=True)
        )

    @cached_property
    def above(self) -> tuple[Codes, ...]:
        """For each level, in which of its places each narrowest place lies."""
        found = [np.arange(len(self.names[-1]))]
        for parents in self.parents[:0:-1]:
            found.append(parents[found[-1]])
        return tuple(found[::-1])

    @cached_property
    def digest(self) -> str:
        """By which a stored program knows the places."""
        found = sha256()
        for level, names, parents in zip(self.levels, self.names, self.parents, strict=True):
            for text in (level, *names):
                found.update(len(text.encode()).to_bytes(4, "big") + text.encode())
            found.update(parents.astype(">i8").tobytes())
        return found.hexdigest()

    def json(self) -> dict[str, Any]:
        """What a program says of it."""
        return {"levels": list(self.levels), "places": [len(names) for names in self.names], "sha256": self.digest}

    def columns(self) -> dict[str, pa.DictionaryArray]:
        """A column for each level, with a row for each narrowest place."""
        return {
            level: pa.DictionaryArray.from_arrays(above.astype(np.int32), pa.array(names, pa.string()))
            for level, names, above in zip(self.levels, self.names, self.above, strict=True)
        }


def _rows(places: Any, levels: Sequence[str]) -> list[list[str]]:
    """The names of each level, in the order of the rows."""
    if isinstance(places, str | Path):
        places = _read(Path(places))
    elif hasattr(places, "to_dict") and not isinstance(places, pa.Table):  # pandas
        places = pa.Table.from_pandas(places, preserve_index=False)
    if isinstance(places, pa.Table):
        for level in levels:
            if level not in places.column_names:
                raise InputError(f"places have no column {level!r}: there are {', '.join(places.column_names)}")
        found = [places.column(level).to_pylist() for level in levels]
    else:
        rows = [tuple(row) if isinstance(row, Sequence) and not isinstance(row, str) else (row,) for row in places]
        for number, row in enumerate(rows):
            if len(row) != len(levels):
                raise InputError(f"row {number} of places has {len(row)} names, and there are {len(levels)} levels")
        found = [list(column) for column in zip(*rows, strict=True)]
    if not found or not found[0]:
        raise InputError("there are no places: a spine has one at least")
    if len(found[-1]) > MOST_PLACES:
        raise InputError(f"{len(found[-1]):,} places are more than {MOST_PLACES:,}: take some of them at a time")
    for level, column in zip(levels, found, strict=True):
        for number, name in enumerate(column):
            if name is None or name == "" or name != name:
                raise InputError(f"row {number} of places has no {level}: name it, or leave the row out")
    return [[str(name) for name in column] for column in found]


def _read(path: Path) -> pa.Table:
    try:
        if path.suffix.lower() == ".parquet":
            return read_table(path)
        with path.open(encoding="utf-8") as file:  # codes keep their zeros: every cell is text
            names = [name.strip().strip('"') for name in file.readline().strip().split(",")]
        return read_csv(path, convert_options=ConvertOptions(column_types=dict.fromkeys(names, pa.string())))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error).splitlines()[0]
        raise InputError(f"the places in {path} cannot be read: {why}") from None


def _tree(levels: Sequence[str], rows: list[list[str]]) -> tuple[tuple[tuple[str, ...], ...], tuple[Codes, ...]]:
    """The places of each level and their parents; a place with two parents is refused by name."""
    names: list[tuple[str, ...]] = []
    parents: list[Codes] = []
    before: dict[str, int] = {"": 0}
    wider = [""] * len(rows[0])
    for number, (level, column) in enumerate(zip(levels, rows, strict=True)):
        home: dict[str, str] = {}
        for name, parent in zip(column, wider, strict=True):
            if home.setdefault(name, parent) != parent:
                raise InputError(
                    f"{level} {name!r} lies in {levels[number - 1]} {home[name]!r} and in {parent!r}, so the places "
                    f"are no tree: if these are two places, give each a name of its own, such as its full code"
                )
        if number == len(levels) - 1 and len(home) < len(column):
            seen: set[str] = set()
            twice = next(name for name in column if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise InputError(f"{level} {twice!r} is listed twice: say each {level} once")
        ordered = sorted(home, key=lambda name: before[home[name]])  # stable: as they were listed
        names.append(tuple(ordered))
        parents.append(np.array([before[home[name]] for name in ordered], dtype=np.int64))
        before, wider = {name: place for place, name in enumerate(ordered)}, column
    return tuple(names), tuple(parents)
