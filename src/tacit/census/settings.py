"""What HTTP, the console and a file of plain settings take: every key of a census, and the kind of job that they make.

Plain settings have no tables in them, so the places are codes whose first characters name the wider places, and are
those that the policy declares for the column. A file may name a list of the places instead.
"""

from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

from tacit.base import InputError
from tacit.census.job import CensusJob, plan_census
from tacit.census.release import MEDIA, CensusTables
from tacit.census.spine import Spine
from tacit.desk import ContentRelease, Job, Release, Spender
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.kind import JobKind, JobSettings, ReleaseForm, job_setting
from tacit.policy.declaration import declared
from tacit.policy.kind import names, number, text

__all__ = ["CENSUS", "CensusSettings"]


@declared
class CensusSettings(JobSettings):
    """One census."""

    table: str = job_setting("The table of the policy to count.", text, example='"people"', suggests="tables")
    levels: tuple[str, ...] = job_setting(
        "The levels of the geography, from the widest to the narrowest, each with how many characters of a code name "
        "its places. The last one is a column whose codes the policy lists as group_keys. With `places`, names alone.",
        names, example='["state:2", "county:5", "block:15"]',
    )  # fmt: skip
    queries: tuple[str, ...] = job_setting(
        'The sums that are measured, each with its weight: "total", a column, several, or "detail" for all of them.',
        names, example='["total=2", "age=1", "age*sex=1"]',
    )  # fmt: skip
    rho: Fraction = job_setting("What the whole census may cost, as ρ.", number(above=0), example="1")
    columns: tuple[str, ...] = job_setting(
        "Columns that are told apart although no query names them.", names, example='["sex"]', default=(),
        suggests="columns",
    )  # fmt: skip
    invariants: tuple[str, ...] = job_setting(
        "Counts that are given exactly, and are NOT protected, as far as the policy's invariants allow them.",
        names, example='["state.total"]', default=(),
    )  # fmt: skip
    places: str | None = job_setting(
        "A CSV or Parquet file with a row for each place of the last level, and a column for each level.",
        text, example='"places.csv"', default=None, local=True,
    )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.table} by {self.levels[-1].partition(':')[0]}"


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
    (source,) = (each for each in spender.scan(settings.table, [leaf]).columns if each.name == leaf)
    if source.facts.domain is None:
        raise InputError(f'column "{leaf}" lists no codes: declare group_keys = […] for it in the policy')
    return Spine.from_codes(source.facts.domain, {name: int(length) for name, _, length in pairs})


def _queries(settings: CensusSettings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in settings.queries:
        name, _, weight = each.partition("=")
        if name.strip() in found:
            raise InputError(f'query "{name.strip()}" is listed twice: give it one weight')
        found[name.strip()] = weight.strip() or "1"
    return found


def _job(settings: CensusSettings, spender: Spender) -> Job:
    job: CensusJob = plan_census(
        spender,
        settings.table,
        _spine(settings, spender),
        rho=settings.rho,
        queries=_queries(settings),
        columns=settings.columns,
        invariants=settings.invariants,
    ).job
    return job


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
