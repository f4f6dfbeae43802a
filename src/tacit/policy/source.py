"""Where data lies: filling in the environment, finding files, and one identity for one place.

The identity is what a ledger remembers, so that the same data under new names is noticed. Symbolic links, relative
paths, users, passwords and default ports do not make a new place; a copy of the data does, and cannot be recognised.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from tacit.base import PolicyError
from tacit.policy.problem import quoted

__all__ = ["filled", "identity", "is_file", "is_url", "located", "with_password"]

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
        return f"file:{os.path.realpath(url.path)}"
    host, port, path = (url.hostname or "").lower(), url.port, url.path
    if scheme == "postgresql":
        query = parse_qs(url.query)
        host = query.get("host", [host])[-1].lower()
        port = int(query["port"][-1]) if query.get("port", [""])[-1].isdigit() else port or 5432
        path = "/" + query.get("dbname", [path.strip("/") or url.username or ""])[-1]
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
