"""Where data lies: filling in the environment, finding files, and one identity for one place.

The identity is what a ledger remembers, so that the same data under new names is noticed. Symbolic links, relative
paths, users, passwords and default ports do not make a new place; a copy of the data does, and cannot be recognised.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from tacit.base import PolicyError
from tacit.policy.declaration import quoted

__all__ = [
    "EACH_ROW",
    "EVERY_FILE",
    "TREE",
    "WHOLE",
    "Claim",
    "ancestors",
    "by_column",
    "by_columns",
    "by_link",
    "filled",
    "identity",
    "is_file",
    "is_url",
    "located",
    "overlap",
    "with_password",
]

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
FILES = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".feather", ".orc", ".avro", ".gz", ".zst")
HERE = {"", "localhost", "127.0.0.1", "::1"}


def filled(text: str, environment: Mapping[str, str] | None = None) -> str:
    """`text` with each ${NAME} replaced from the environment; a name that is not set is an error."""
    values = os.environ if environment is None else environment
    missing = [name for name in VARIABLE.findall(text) if not values.get(name)]
    if missing:
        raise PolicyError(
            f"the environment variable {missing[0]} is not set, and {quoted(text)} needs it: set it first"
        )
    return VARIABLE.sub(lambda found: values[found[1]], text)


def is_url(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) is not None


def is_file(text: str) -> bool:
    """Whether a table's source is a file or folder rather than a name inside a database."""
    return "/" in text or is_url(text) or text.lower().endswith(FILES)


def located(text: str, folder: Path | None) -> str:
    """An absolute path, relative ones being meant from `folder`; a URL as it is."""
    if is_url(text):
        return text
    return os.path.abspath(Path(folder or Path.cwd()) / Path(text).expanduser())  # noqa: PTH100 - keeps links, drops ..


def identity(location: str) -> str:
    """One name for one place."""
    if not is_url(location):
        return f"file:{os.path.realpath(location)}"
    url = _split(location)
    scheme = url.scheme.lower().partition("+")[0]  # a driver's name may follow
    scheme = "postgresql" if scheme == "postgres" else scheme
    if scheme == "file":
        return f"file:{os.path.realpath(unquote(url.path))}"
    host, port, path = (url.hostname or "").lower(), url.port, url.path
    if scheme == "postgresql":
        query = parse_qs(url.query)
        host = query.get("host", [unquote(host)])[-1].lower()  # as libpq reads them
        port = int(query["port"][-1]) if query.get("port", [""])[-1].isdigit() else port or 5432
        path = "/" + query.get("dbname", [unquote(path.strip("/") or url.username or "")])[-1]
        host = "localhost" if host in HERE or host.startswith("/") else host  # a socket is this machine too
    return f"{scheme}://{host}{'' if port is None else f':{port}'}{path.rstrip('/')}"


def with_password(text: str) -> bool:
    """Whether a password stands in the text itself, rather than in the environment."""
    if not is_url(text):
        return False
    try:
        password = urlsplit(text).password
    except ValueError:
        return False
    return bool(password) and VARIABLE.search(password or "") is None


def _split(location: str) -> SplitResult:
    try:
        url = urlsplit(location)
        url.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise PolicyError("a source looks like a URL and cannot be read as one: check its host and port") from None
    return url


WHOLE = ""  # part: all that is at the place, whatever it is called there
EVERY_FILE = "*"  # part: the files in a folder
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


def by_columns(names: tuple[str, ...]) -> str:
    """The unit of a table in which several columns name it together."""
    return f"columns {dumps([name.casefold() for name in names], ensure_ascii=False)}"


def by_link(names: tuple[str, ...], unit: str) -> str:
    """The unit of a table whose link leads to it: through these columns, tables and keys."""
    return f"link {dumps([name.casefold() for name in names], ensure_ascii=False)} to {unit}"


def overlap(one: Claim, other: Claim) -> bool:
    """Whether two claims may be of the same data."""
    if one.place == other.place:
        return one.part == other.part or WHOLE in (one.part, other.part) or {one.part, other.part} == {EVERY_FILE, TREE}
    return _inside(one, other) or _inside(other, one)


def _inside(one: Claim, folder: Claim) -> bool:
    """Whether the one lies in the folder of the other. A database in a folder of files is none of them."""
    if folder.part not in (WHOLE, EVERY_FILE, TREE) or (folder.part != WHOLE and one.part != WHOLE):
        return False
    above = list(ancestors(one.place))
    return folder.place in (above[:1] if folder.part == EVERY_FILE else above)


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
