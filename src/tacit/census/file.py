"""A census as a file: `census.toml` says what `Session.census` is given. Keys that are not known are refused."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tacit.base import InputError
from tacit.census.spine import Spine

__all__ = ["STARTER", "CensusFile"]

KEYS = (
    "policy", "table", "rho", "epsilon", "delta", "columns", "invariants", "passes", "workers", "spine", "queries",
    "levels", "recodes", "zeros",
)  # fmt: skip
STARTER = """\
# A census: consistent tables of every place of a geography. Try `tacit census quote census.toml`: it is free.
policy = "tacit.toml"
table = "people"
rho = "1"
invariants = []            # such as ["state.total"]: held exactly, and NOT protected

[spine]
levels = ["state", "county", "block"]
places = "places.csv"      # a row for each block: its state, county and block

[queries]                  # sums of the cells, with their shares
total = 1
age = 1
"age*sex" = 1
detail = 2                 # all columns that are named here, or in columns = […]
"""


@dataclass(frozen=True, kw_only=True)
class CensusFile:
    """What a file says. Paths in it are relative to it."""

    table: str
    policy: Path | None
    spine: Spine
    terms: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path | str) -> "CensusFile":
        where = Path(path)
        try:
            data = tomllib.loads(where.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{where} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{where.name}: {error}") from None
        try:
            return cls._of(data, where.parent)
        except InputError as error:
            raise InputError(f"{where.name}: {error}") from None

    @classmethod
    def _of(cls, data: dict[str, Any], folder: Path) -> "CensusFile":
        _known(data, KEYS, "")
        for key in ("table", "spine", "queries"):
            if key not in data:
                raise InputError(f"{key} is missing: see `tacit census new`")
        spine = data.pop("spine")
        if not isinstance(spine, dict):
            raise InputError("spine is a section: [spine] with levels and places")
        _known(spine, ("levels", "places"), "spine.")
        if not isinstance(spine.get("levels"), list) or not isinstance(spine.get("places"), str):
            raise InputError("spine says levels, a list of names, and places, a CSV or Parquet file")
        policy, table = data.pop("policy", None), data.pop("table")
        for key in ("rho", "epsilon", "delta"):  # a number in a file is the decimal that is written there
            if isinstance(data.get(key), float):
                data[key] = str(data[key])
        return cls(
            table=table,
            policy=None if policy is None else folder / policy,
            spine=Spine(*spine["levels"], places=folder / spine["places"]),
            terms=data,
        )


def _known(data: Mapping[str, Any], keys: tuple[str, ...], place: str) -> None:
    for key in data:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
            raise InputError(f"there is no key {place}{key}: {meant}")
