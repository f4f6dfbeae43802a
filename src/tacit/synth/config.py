"""What `synth.toml`, HTTP and the console take: every key of a synthetic table, and the kind of job that they make."""

import json
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

from tacit.base import InputError, Problem
from tacit.desk import Job, Release, Spender
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.kind import JobKind, JobSettings, ReleaseForm, job_setting
from tacit.policy.declaration import declared
from tacit.policy.kind import choice, names, number, text, whole
from tacit.synth.columns import MOST_CELLS, ColumnChoices
from tacit.synth.job import MEDIA
from tacit.synth.made import SyntheticTable
from tacit.synth.plan import Synthesis
from tacit.synth.rows import SyntheticRows
from tacit.synth.workload import Pairs
from tacit.synth.zeros import Rules

__all__ = ["SYNTH", "MethodName", "SynthSettings", "synthesis_of"]


class MethodName(StrEnum):
    """How it is chosen what to measure."""

    AIM = "aim"
    MST = "mst"
    INDEPENDENT = "independent"


@declared
class SynthSettings(JobSettings):
    """One synthetic table."""

    table: str = job_setting("The table of the policy.", text, example='"people"', suggests="tables")
    columns: tuple[str, ...] = job_setting(
        "The columns that the synthetic table has.", names, example='["age", "job", "income"]', suggests="columns"
    )
    rho: Fraction | None = job_setting(
        "What it may cost one unit, as ρ; for a dataset that is paid for in rho.",
        number(above=0), example='"0.015"', default=None,
    )  # fmt: skip
    epsilon: Fraction | None = job_setting(
        "What it may cost one unit, as ε, at the dataset's delta.", number(above=0), example="1", default=None
    )
    delta: Fraction | None = job_setting(
        "The δ for finding the values of texts that nobody listed. Default: the price's part of the dataset's.",
        number(above=0, below=1), example="1e-9", default=None,
    )  # fmt: skip
    method: MethodName = job_setting(
        "How it is chosen what to measure: aim is the most exact, mst a tree of pairs, independent the plain baseline.",
        choice(MethodName), example='"aim"', default=MethodName.AIM,
    )  # fmt: skip
    pairs: tuple[str, ...] = job_setting(
        "The sets of columns that the table is to be right about, each with its weight if that is not 1. Left out: all "
        "pairs.",
        names, example='["age, income = 2", "job, income"]', default=(),
    )  # fmt: skip
    bins: tuple[str, ...] = job_setting(
        "Into how many bins of equal width a number or a date is divided. Default: 32.",
        names, example='["age = 20", "income = 50"]', default=(),
    )  # fmt: skip
    edges: tuple[str, ...] = job_setting(
        "Where bins begin, as everybody may know them.", names, example='["age = 18, 30, 45, 65"]', default=()
    )
    private_edges: tuple[str, ...] = job_setting(
        "Numbers whose bins are to hold about as many units each: edges are found for a part of the price.",
        names, example='["income"]', default=(), suggests="columns",
    )  # fmt: skip
    impossible: tuple[str, ...] = job_setting(
        "Combinations that cannot be: of a number from one end to the other, of a category some values.",
        names, example='["age = 0:9, job = cook|clerk"]', default=(),
    )  # fmt: skip
    rows: int | None = job_setting(
        "The number of units, if it is public. Default: it is measured.", whole, example="40000", default=None
    )
    most_cells: int = job_setting("The most cells of one column.", whole, example="2000", default=MOST_CELLS)

    @property
    def title(self) -> str:
        return f"{self.table} by {self.method.value}"

    def contradictions(self) -> Iterator[Problem]:
        yield from super().contradictions()
        if (self.rho is None) == (self.epsilon is None):
            yield Problem(("rho",), 'say how much to spend, once: rho = "0.015", or an epsilon')
        for key in ("bins", "edges", "impossible"):
            for entry in getattr(self, key):
                if "=" not in entry:
                    example = {"bins": "age = 20", "edges": "age = 18, 65", "impossible": "age = 0:9, job = cook"}[key]
                    yield Problem((key,), f'an entry of {key} is written as in "{example}", not as "{entry}"')


def _named(entries: Sequence[str], read: Callable[[str], Any], key: str) -> dict[str, Any]:
    found = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        try:
            found[name.strip()] = read(value.strip())
        except ValueError:
            raise InputError(f'{key}: "{entry}" does not end in what it should: write numbers after the =') from None
    return found


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",")]


def _weights(entries: Sequence[str]) -> dict[tuple[str, ...], str]:
    """ "age, income = 2"."""
    split = (entry.partition("=") for entry in entries)
    return {tuple(_parts(columns)): weight.strip() or "1" for columns, _, weight in split}


def _combination(entry: str) -> dict[str, Any]:
    """ "age = 0:9, job = cook|clerk"."""
    found: dict[str, Any] = {}
    for part in _parts(entry):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f'impossible: "{part}" names no value: write a column, = and a value')
        low, colon, high = value.partition(":")
        found[name] = (low.strip(), high.strip()) if colon else [each.strip() for each in value.split("|")]
        if found[name] == [value]:
            found[name] = value
    return found


def synthesis_of(settings: SynthSettings, spender: Spender) -> Synthesis:
    """The plan that settings describe."""
    pairs: Pairs = _weights(settings.pairs) if settings.pairs else "all"
    method: Any = settings.method.value
    return Synthesis(
        session=spender,
        table=settings.table,
        columns=settings.columns,
        rho=settings.rho,
        epsilon=settings.epsilon,
        delta=settings.delta,
        pairs=pairs,
        method=method,
        rows=settings.rows,
        choices=ColumnChoices(
            bins=_named(settings.bins, int, "bins"),
            edges=_named(settings.edges, _parts, "edges"),
            private_edges=settings.private_edges,
            most_cells=settings.most_cells,
        ),
        rules=Rules(impossible=tuple(_combination(entry) for entry in settings.impossible)),
    )


def _job(settings: SynthSettings, spender: Spender) -> Job:
    return synthesis_of(settings, spender).job


def _report(release: Release, certificate: Certificate) -> bytes:
    return SyntheticTable.of(release, certificate=certificate).report().html().encode()


def _measurements(release: Release, certificate: Certificate) -> bytes:
    made = SyntheticTable.of(release, certificate=certificate)
    told = {**made.about, "measurements": made.measurements_json(), "certificate": certificate.json()}
    return json.dumps(told, allow_nan=False).encode()


def _drawn(release: Release, certificate: Certificate) -> SyntheticRows:
    made = SyntheticTable.of(release, certificate=certificate)
    return made.rows(min(max(made.units, 1), SERVED))


def _parquet(release: Release, certificate: Certificate) -> bytes:
    return _drawn(release, certificate).parquet()


def _csv(release: Release, certificate: Certificate) -> bytes:
    return _drawn(release, certificate).csv()


SERVED = 1_000_000  # rows of one download
FORMS = (
    ReleaseForm(name="report", title="Report", media="text/html", ending=".html", make=_report),
    ReleaseForm(
        name="rows", title="Rows (Parquet)", media="application/vnd.apache.parquet", ending=".synthetic.parquet",
        make=_parquet,
    ),
    ReleaseForm(name="csv", title="Rows (CSV)", media="text/csv", ending=".synthetic.csv", make=_csv),
    ReleaseForm(
        name="measurements", title="Measurements", media="application/json", ending=".measurements.json",
        make=_measurements,
    ),
)  # fmt: skip

SYNTH = JobKind(
    name="synth",
    title="Make a synthetic table",
    words="A synthetic table: marginals are chosen and measured with noise, and rows are drawn from a model of them.",
    settings=SynthSettings,
    job_of=_job,
    makes="rows",
    media=MEDIA,
    forms=FORMS,
)
