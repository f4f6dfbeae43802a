"""A kind of job that is bought by plain data: a closed list of declared keys, and the job that they make.

The keys are fields of a `JobSettings`, which carry their own documentation and check themselves, as those of a policy
do. A file, a request and a form are read by them alone, so that a key exists everywhere or nowhere. Nothing in
settings is code, a pickle or, unless a key is `local`, a place on a machine.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field
from enum import Enum
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

from tacit.base import PolicyError, Problem, SettingsError
from tacit.desk.job import Job, Spender
from tacit.policy.declaration import Declaration, declared, key, keys, number, quoted, required
from tacit.policy.kind import Kind
from tacit.policy.read import read_part

if TYPE_CHECKING:
    from tacit.desk.certificate.certificate import Certificate
    from tacit.desk.release import Release

__all__ = ["JobKind", "JobSettings", "described", "job_setting"]

WIDTH = 100  # of a comment


def job_setting(
    words: str,
    kind: Kind,
    *,
    example: str,
    default: Any = MISSING,
    suggests: str = "",
    only: Mapping[str, tuple[str, ...]] | None = None,
    local: bool = False,
    shown: bool = False,
) -> Any:
    """The field of a key; without a default it must be given. `example` is how a file writes it.

    `suggests` is "tables" or "columns" where those of the dataset can be offered. `only` names another key and those of
    its values with which this one means something. A `local` key names a place on a machine: no service takes it. A
    first file has the example of a key that is required or `shown`.
    """
    more = {"suggests": suggests, "only": dict(only or {}), "local": local, "shown": shown}
    return field(default=default, metadata={**key(words, kind, example=example), **more})


@declared
class JobSettings(Declaration):
    """What one job is told. A key that means nothing beside the others is an error, not ignored."""

    @property
    def title(self) -> str:
        """What a list of jobs calls it, beside its kind."""
        return ""

    @classmethod
    def read(cls, data: Mapping[str, object], *, file: str = "", local: bool = False) -> Self:
        """The settings in plain data; everything that is wrong with them is in the one `SettingsError`."""
        problems = []
        for item in keys(cls):
            if item.metadata["local"] and not local and data.get(item.name) is not None:
                told = f"{item.name} names a place on a machine, and no service takes one: leave it out"
                problems.append(Problem((item.name,), told, short="is not taken here"))
        values, wrong = read_part(cls, data)
        problems += wrong
        if not problems:
            try:
                return cls(**values)
            except PolicyError as error:
                problems = list(error.problems)
        raise SettingsError(*(problem.of_file(file) if file else problem for problem in problems))

    def contradictions(self) -> Iterator[Problem]:
        """Keys that mean nothing with what was chosen."""
        for item in keys(type(self)):
            if getattr(self, item.name) == item.default or required(item):
                continue
            for other, values in item.metadata["only"].items():
                chosen = _plain(getattr(self, other))
                if chosen not in values:
                    told = f"{item.name} is for {other} = {_listed(values)}, and {other} is {quoted(str(chosen))}"
                    yield Problem((item.name,), f"{told}: leave it out", short=f"is not for {chosen}")

    def json(self) -> dict[str, Any]:
        """What was told beyond the defaults, as plain data."""
        given = ((item, getattr(self, item.name)) for item in keys(type(self)))
        return {item.name: _plain(value) for item, value in given if required(item) or value != item.default}


def _listed(values: tuple[str, ...]) -> str:
    *most, last = map(quoted, values)
    return f"{', '.join(most)} or {last}" if most else last


def _plain(value: Any) -> Any:
    """A value as JSON has it; numbers that are not whole as texts, which lose nothing."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else number(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, kw_only=True)
class ReleaseForm:
    """Another form of what a job released, such as a page or a file of rows. It follows from the release, so it is
    free. `make` gets the release and its certificate."""

    name: str
    title: str
    media: str
    ending: str
    make: "Callable[[Release, Certificate], bytes]"

    def json(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title, "media": self.media}


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """One of them: `title` is on a button, `words` say what it makes, `job_of` makes the job of settings.

    `certified` puts a certificate into the file of a release that can hold one, whose release is of the kind `makes`.
    `forms` are other forms of releases whose content is of `media`.
    """

    name: str
    title: str
    words: str
    settings: type[JobSettings]
    job_of: Callable[[Any, Spender], Job]
    makes: str
    certified: "Callable[[bytes, Certificate], bytes] | None" = None
    media: str = ""
    forms: tuple[ReleaseForm, ...] = ()

    def job(self, data: Mapping[str, object], spender: Spender, *, file: str = "", local: bool = False) -> Job:
        """The job that plain data describe, planned and checked. Nothing is read, and nothing is charged."""
        return self.job_of(self.settings.read(data, file=file, local=local), spender)

    def json(self) -> dict[str, Any]:
        """Everything that a form is made of; keys that no service takes are left out."""
        about = {"kind": self.name, "title": self.title, "words": self.words, "makes": self.makes}
        return about | {"keys": described(self.settings)}

    def template(self) -> str:
        """A file of settings with every key explained; those that may be left out are behind a #."""
        lines = [*_comment(self.words), "", f"kind = {quoted(self.name)}"]
        for item in keys(self.settings):
            meta = item.metadata
            words = meta["words"]
            if item.default not in (MISSING, None, ()):
                words += f" Default: {_toml(item.default)}."
            for other, values in meta["only"].items():
                words += f" For {other} = {_listed(values)}."
            off = "" if required(item) or meta["shown"] else "# "
            lines += ["", *_comment(words), f"{off}{item.name} = {meta['example']}"]
        return "\n".join(lines) + "\n"


def described(settings: type[JobSettings]) -> list[dict[str, Any]]:
    """The keys that a form is made of."""
    return [_key(item) for item in keys(settings) if not item.metadata["local"]]


def _comment(words: str) -> list[str]:
    return [f"# {each}" for each in wrap(words, WIDTH)]


def _toml(value: Any) -> str:
    plain = _plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return str(plain) if isinstance(value, Fraction) or not isinstance(plain, str) else quoted(plain)


def _key(item: "Field[Any]") -> dict[str, Any]:
    meta = item.metadata
    kind: Kind = meta["kind"]
    return {
        "name": item.name,
        "words": meta["words"],
        "is": kind.words,
        "shape": kind.shape,
        "options": list(kind.options),
        "required": required(item),
        "default": None if required(item) else _plain(item.default),
        "example": tomllib.loads(f"example = {meta['example']}")["example"],
        "suggests": meta["suggests"],
        "shown": required(item) or meta["shown"],
        "only": {name: list(values) for name, values in meta["only"].items()},
    }
