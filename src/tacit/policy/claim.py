"""A claim: data that one account answers for, by what it is called and by what it is.

One table gives several claims: a file its path and its number in the file system, a table its name in the database and
its number there. Two accounts that share any of them are about the same data, whatever it is called. A copy is other
data to anybody who looks from outside, and cannot be recognised.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps

__all__ = ["EACH_ROW", "FILES", "TREE", "WHOLE", "Claim", "ancestors", "by_column", "overlap"]

WHOLE = ""  # part: all that is at the place, whatever it is called there
FILES = "*"  # part: the files in a folder
TREE = "**"  # part: the files in a folder and in the folders below it
EACH_ROW = "each row"  # unit
PATHS = "file:"


@dataclass(frozen=True, order=True)
class Claim:
    """`part` is a table at the place, or one of the words above. `unit` says whom a row is counted for.

    A place that is read only through something else, such as the table behind a view, has no unit: what its columns are
    called there is not known.
    """

    place: str
    part: str = WHOLE
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.place}#{self.part}" if self.part else self.place


def by_column(name: str) -> str:
    """The unit of a table in which a column names it."""
    return f"column {dumps(name.casefold(), ensure_ascii=False)}"


def overlap(one: Claim, other: Claim) -> bool:
    """Whether two claims may be of the same data."""
    if one.place == other.place:
        return one.part == other.part or WHOLE in (one.part, other.part) or {one.part, other.part} == {FILES, TREE}
    return _inside(one, other) or _inside(other, one)


def _inside(one: Claim, folder: Claim) -> bool:
    """Whether the one lies in the folder of the other. A database in a folder of files is none of them."""
    if folder.part not in (WHOLE, FILES, TREE) or (folder.part != WHOLE and one.part != WHOLE):
        return False
    above = list(ancestors(one.place))
    return folder.place in (above[:1] if folder.part == FILES else above)


def ancestors(place: str) -> Iterator[str]:
    """The folders above a file, or above an object in a store of objects; the nearest first."""
    scheme, found, path = place.partition("://")
    if place.startswith(PATHS):
        head, path = PATHS, place.removeprefix(PATHS)
    elif found and scheme != "postgresql":
        host, _, path = path.partition("/")
        head, path = f"{scheme}://{host}", f"/{path}"
    else:
        return
    while path.rstrip("/"):
        path = path.rpartition("/")[0]
        yield head + (path or ("/" if head == PATHS else ""))
