"""What HTTP, the console and a file of plain settings take: every key of a census, and the kind of job that they make.

Plain settings have no tables in them. The places are codes whose first characters name the wider places, and are those
that the policy declares for the column; a file may name a list of the places instead. What has parts is written in one
line: `grown of age = no: child, yes: adult|old`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

from tacit.base import InputError, Problem
from tacit.census.job import Census, plan_census
from tacit.census.release import MEDIA, CensusTables
from tacit.census.schema import VACANT
from tacit.census.spine import Spine
from tacit.desk import ContentRelease, Job, Release, Spender
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.kind import JobKind, JobSettings, ReleaseForm, job_setting
from tacit.policy.declaration import declared
from tacit.policy.kind import names, number, text, whole

__all__ = ["CENSUS", "CensusSettings", "census_of"]


@declared
class CensusSettings(JobSettings):
    """One census."""

    table: str = job_setting("The table of the policy to count.", text, example='"people"', suggests="tables")
    levels: tuple[str, ...] = job_setting(
        "The levels of the geography, from the widest to the narrowest, each with how many characters of a code name "
        "its places. The last one is a column whose codes the policy lists as group_keys. With `places`, names alone.",
        names, example='["state:2", "county:5", "block:15"]',
    )  # fmt: skip
    places: str | None = job_setting(
        "A CSV or Parquet file with a row for each place of the last level, and a column for each level.",
        text, example='"places.csv"', default=None, local=True,
    )  # fmt: skip
    queries: tuple[str, ...] = job_setting(
        'The sums that are measured, each with its weight: "total", a column, several, or "detail" for all of them. '
        'Of one level alone: "block.detail = 3".',
        names, example='["total = 2", "age = 1", "age*sex = 1"]',
    )  # fmt: skip
    rho: Fraction | None = job_setting(
        "What the whole census may cost, as ρ.", number(above=0), example='"1"', default=None, shown=True
    )
    epsilon: Fraction | None = job_setting("The same as ε.", number(above=0), example="2", default=None)
    delta: Fraction | None = job_setting(
        "The δ of that ε. Default: the dataset's.", number(above=0, below=1), example="1e-10", default=None
    )
    shares: tuple[str, ...] = job_setting(
        "How much of the price each level has. Default: all the same.",
        names, example='["state = 1", "block = 3"]', default=(),
    )  # fmt: skip
    columns: tuple[str, ...] = job_setting(
        "Columns that are told apart although no query names them.", names, example='["sex"]', default=(),
        suggests="columns",
    )  # fmt: skip
    invariants: tuple[str, ...] = job_setting(
        "Counts that are given exactly, and are NOT protected, as far as the policy's invariants allow them. Numbers "
        'that everybody knows are written here, and not read: "state.total = A: 700, B: 690", "block.vacant = A1|A7".',
        names, example='["state.total"]', default=(),
    )  # fmt: skip
    zeros: tuple[str, ...] = job_setting(
        "Combinations that nobody can have.", names, example='["age = child, marital = married|widowed"]', default=()
    )
    recodes: tuple[str, ...] = job_setting(
        "Coarser columns, which queries may name.", names, example='["grown of age = no: child, yes: adult|old"]',
        default=(),
    )  # fmt: skip
    passes: int | None = job_setting(
        "1: all counts of a level are fitted at once; 2: their totals first. Default: by the noise.",
        whole, example="1", default=None,
    )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.table} by {self.levels[-1].partition(':')[0]}"

    def contradictions(self) -> Iterator[Problem]:
        yield from super().contradictions()
        if (self.rho is None) == (self.epsilon is None):
            yield Problem(("rho",), 'say what it may cost, once: rho = "1", or an epsilon')


def _spine(settings: CensusSettings, spender: Spender) -> Spine:
    pairs = [level.partition(":") for level in settings.levels]
    if settings.places is not None:
        return Spine(*(name for name, _, _ in pairs), places=Path(settings.places))
    for name, _, length in pairs:
        if not length.isdecimal():
            raise InputError(
                f'level "{name}" does not say how many characters of a code name it: write "{name}:5" for five'
            )
    leaf = pairs[-1][0]
    domain = _listed_values(spender, settings.table, leaf)
    if domain is None:
        raise InputError(f'column "{leaf}" lists no codes: declare group_keys = […] for it in the policy')
    return Spine.from_codes(domain, {name: int(length) for name, _, length in pairs})


def _listed_values(spender: Spender, table: str, name: str) -> Sequence[Any] | None:
    """The values that the policy lists for a column."""
    return next(each.facts.domain for each in spender.scan(table, [name]).columns if each.name == name)


def _parts(words: str, key: str, *, at: str = "=") -> tuple[str, str]:
    name, found, value = (word.strip() for word in words.partition(at))
    if not (name and found and value):
        raise InputError(f'{key}: "{words}" is not of the form name {at.strip()} value')
    return name, value


def _table(entries: Iterable[str], key: str, *, at: str = "=") -> dict[str, str]:
    """What comes after the sign, by what comes before it."""
    found: dict[str, str] = {}
    for name, value in (_parts(each, key, at=at) for each in entries):
        if name in found:
            raise InputError(f'{key}: "{name}" is listed twice: give it one value')
        found[name] = value
    return found


def _queries(settings: CensusSettings, levels: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    entries = (each if "=" in each else f"{each} = 1" for each in settings.queries)
    for name, weight in _table(entries, "queries").items():
        level, _, query = name.partition(".")
        if level not in levels:
            query = name
        if isinstance(found.get(query), str) or (query in found and query == name):
            raise InputError(f'query "{query}" has a weight of its own and one of a level: write it one way')
        if query == name:
            found[query] = weight
        else:
            found.setdefault(query, {})[level] = weight
    return found


def _invariants(settings: CensusSettings) -> Mapping[str, Any]:
    found: dict[str, Any] = {each: None for each in settings.invariants if "=" not in each}
    for name, value in _table((each for each in settings.invariants if "=" in each), "invariants").items():
        vacant = name.endswith(f".{VACANT}")
        found[name] = _split(value, "|") if vacant else _table(_split(value, ","), name, at=":")
    return found


def _split(value: str, sign: str) -> list[str]:
    return [each.strip() for each in value.split(sign)]


def census_of(settings: CensusSettings, spender: Spender, *, workers: int = 1) -> Census:
    """The plan that settings describe."""
    spine = _spine(settings, spender)

    def values(column: str, words: str) -> list[Any]:
        """The values that are meant, as the policy has them; a coarser column's are texts."""
        domain = () if column in recodes else _listed_values(spender, settings.table, column) or ()
        known = {str(each): each for each in domain}
        return [known.get(each, each) for each in _split(words, "|")]

    recodes: dict[str, Any] = {}
    for name, groups in _table(settings.recodes, "recodes").items():
        coarse, column = _parts(name, "recodes", at=" of ")
        told = _table(_split(groups, ","), name, at=":")
        recodes[coarse] = {"column": column, "groups": {each: values(column, words) for each, words in told.items()}}
    zeros = [_table(_split(each, ","), "zeros") for each in settings.zeros]
    return plan_census(
        spender,
        settings.table,
        spine,
        rho=settings.rho,
        epsilon=settings.epsilon,
        delta=settings.delta,
        queries=_queries(settings, spine.levels),
        levels=_table(settings.shares, "shares") or None,
        columns=settings.columns,
        recodes=recodes,
        zeros=[{column: values(column, words) for column, words in each.items()} for each in zeros],
        invariants=_invariants(settings),
        passes=settings.passes,
        workers=workers,
    )


def _job(settings: CensusSettings, spender: Spender) -> Job:
    return census_of(settings, spender).job


def _csv(release: Release, _: Certificate) -> bytes:
    out = BytesIO()
    _tables(release).to_csv(out)
    return out.getvalue()


def _parquet(release: Release, _: Certificate) -> bytes:
    out = BytesIO()
    _tables(release).to_parquet(out)
    return out.getvalue()


def _tables(release: Release) -> CensusTables:
    assert isinstance(release, ContentRelease)  # by its media
    return CensusTables(release=release)


def _report(release: Release, _: Certificate) -> bytes:
    return _tables(release).report().encode()


FORMS = (
    ReleaseForm(name="report", title="Report", media="text/html", ending=".html", make=_report),
    ReleaseForm(name="csv", title="Counts (CSV)", media="text/csv", ending=".counts.csv", make=_csv),
    ReleaseForm(name="parquet", title="Counts (Parquet)", media="application/vnd.apache.parquet",
                ending=".counts.parquet", make=_parquet),
)  # fmt: skip

CENSUS = JobKind(
    name="census",
    title="Take a census",
    words="Consistent whole counts of every place of a geography, with noise: priced before a row is read.",
    settings=CensusSettings,
    job_of=_job,
    makes="rows",
    media=MEDIA,
    forms=FORMS,
)
