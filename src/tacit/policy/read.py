"""Read a policy from TOML, strictly: everything that is wrong with a file is said at once."""

import tomllib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from unicodedata import normalize

from tacit.base import PolicyError, PrivacyWarning, Problem, cached_property
from tacit.base.former import warn_former
from tacit.policy.declaration import Declaration, instead, keys, part_of, quoted, read_values, required, shown
from tacit.policy.model import Policy, references

__all__ = ["PolicyFile", "load", "parse", "quietly", "read_part", "read_text", "read_toml", "stamp_of"]


def read_text(path: str | Path, *, what: str, made_by: str, megabytes: int) -> str:
    """The text of a file that holds a `what`, which the command `made_by` would write."""
    place = Path(path)
    try:
        if place.stat().st_size > megabytes * 1024 * 1024:
            raise PolicyError(f"{place.name}: is larger than {megabytes} MB: this is not a {what}")
        return place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{place.name}: there is no such file: write one with `{made_by}`") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{place.name}: is not UTF-8 text: save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PolicyError(f"{place.name}: cannot be read: {reason}") from None


def read_toml(text: str, file: str) -> dict[str, Any]:
    """The data of a text; `file` is how messages call it."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise PolicyError(Problem((), "is nested too deeply", file)) from None
    except ValueError as error:  # also tomllib's own; a number with thousands of digits is a plain one
        told = f"is not valid TOML: {error}. Text needs quotes, lists need [ ]"
        raise PolicyError(Problem((), told, file)) from None


def _decimal(text: str) -> Decimal:
    """A number as it was written; one that even a decimal cannot hold is out of every range."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("a number is out of range") from None


def load(path: str | Path) -> Policy:
    """The policy in this file; relative paths in it are meant from where the file lies."""
    place = Path(path)
    text = read_text(place, what="policy", made_by="tacit init DATA", megabytes=64)
    return parse(text, file=place.name, folder=place.absolute().parent)


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of a policy, for whoever has seen them or has other places to show them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        warnings.simplefilter("ignore", FutureWarning)  # of keys by their former names
        yield


def stamp_of(path: Path) -> tuple[int, ...]:
    """Differs whenever a file may have changed; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()  # reading says what is wrong
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@dataclass(frozen=True)
class PolicyFile:
    """A policy as its file said when it was read."""

    path: Path
    policy: Policy
    stamp: tuple[int, ...]

    @classmethod
    def read(cls, path: Path) -> "PolicyFile":
        stamp = stamp_of(path)  # before it is read: a change in between is seen at the next look
        return cls(path, load(path), stamp)

    def changed(self) -> bool:
        """Whether to read it again."""
        return stamp_of(self.path) != self.stamp

    @cached_property
    def places(self) -> tuple[object, ...]:
        """What is opened for it and cannot change under whoever did: people, engine, ledger, and where tables lie."""
        policy, dataset = self.policy, self.policy.dataset
        tables = tuple((name, policy.where(name)) for name in policy.tables)
        return dataset.identity, dataset.engine, policy.ledger(), tables


def parse(text: str, *, file: str = "tacit.toml", folder: Path | None = None) -> Policy:
    """The policy in this text; `file` is how messages call it. Every problem is in the one `PolicyError`."""
    data = read_toml(text, file)
    values, problems = read_part(Policy, data)
    if not problems:
        try:
            return Policy(**values, file=file, folder=folder)
        except PolicyError as error:
            problems = list(error.problems)
    else:
        problems += references(
            values.get("analysts", {}),
            values.get("groups", {}),
            _names(data, "tables"),
            map(_nfc, _names(data, "groups")),
        )
    raise PolicyError(*(problem.of_file(file) for problem in problems))


def _names(data: Mapping[str, Any], listing: str) -> list[str]:
    """The names that a file uses, also for parts that are wrong."""
    found = data.get(listing)
    return list(found) if isinstance(found, dict) else []


def _nfc(name: str) -> str:
    return normalize("NFC", name)


def read_part(part: type[Declaration], data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The values to make a `part` with, and what is wrong with the others."""
    known = {item.name: item for item in keys(part)}
    data = _renamed(part, data)
    strange = [name for name in data if name not in known]
    problems = [
        Problem((), part.removed.get(name) or f"there is no key {quoted(name)}: {instead(name, known, those='keys')}")
        for name in strange
    ]
    for item in known.values():
        if required(item) and item.name not in data:
            shape = f"[{item.name}]" if part_of(item) else f"{item.name} = {item.metadata['example']}"
            problems.append(Problem((item.name,), f"{item.name} is missing: add {shape}", short="is needed"))
    values, wrong = read_values(part, data)
    problems += wrong
    for name, item in known.items():
        inner = part_of(item)
        if inner is None or name not in data:
            continue
        if not isinstance(data[name], dict):
            told = f"{name} = {shown(data[name])} must be written as [{name}{'.NAME' * item.metadata['many']}]"
            problems.append(Problem((name,), told))
        elif item.metadata["many"]:
            values[name], wrong = _each(inner, data[name], name, item.metadata["what"])
            problems += wrong
        else:
            values[name], wrong = _whole(inner, data[name])
            problems += [problem.within(f"[{name}]", name) for problem in wrong]
    return values, problems


def _renamed(part: type[Declaration], data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with the names that keys have now; one that is there under both names is left for the reader to see."""
    former = {old: new for old, new in part.renamed.items() if old in data and new not in data}
    for old, new in former.items():
        warn_former(old, new, where="a policy", level=2)
    return {former.get(name, name): value for name, value in data.items()} if former else data


def _each(
    part: type[Declaration], data: Mapping[str, Any], listing: str, what: str
) -> tuple[dict[str, Any], list[Problem]]:
    values, problems = {}, []
    for name, given in data.items():
        place = f"{what} {quoted(name)}"
        if not isinstance(given, dict):
            told = f"must be written as [{listing}.{name}] with its keys below"
            problems.append(Problem((listing, name), told, place))
            continue
        made, wrong = _whole(part, given)
        problems += [problem.within(place, listing, name) for problem in wrong]
        if made is not None:
            values[name] = made
    return values, problems


def _whole(part: type[Declaration], data: Mapping[str, Any]) -> tuple[Any, list[Problem]]:
    values, problems = read_part(part, data)
    if problems:
        return None, problems
    try:
        return part(**values), []
    except PolicyError as error:
        return None, list(error.problems)
