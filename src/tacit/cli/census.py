"""`tacit census`: consistent tables of every place of a geography, from a file that says what is counted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from tacit.base import InputError
from tacit.census import Census, CensusTables
from tacit.census.settings import CENSUS, census_of
from tacit.cli import options as o
from tacit.cli.screen import check_outputs, output, remark, table, write_out
from tacit.cli.settings import AskerOptions, settings_of, write_template
from tacit.desk.show import number, spelled
from tacit.session import Session

__all__ = ["check", "make", "new", "quote"]

File = Annotated[Path, o.argument("FILE", "What is counted, in TOML; a list of places is looked for beside it.")]
PolicyFile = Annotated[Path | None, o.option("FILE", "The dataset's policy. Default: tacit.toml.")]
Analyst = Annotated[str | None, o.option("NAME", "Who asks. Default: TACIT_ANALYST, or your login.")]
FirstFile = Annotated[Path, o.argument("FILE", "The file to write.")]


def new(file: FirstFile = Path("census.toml")) -> None:
    """Write a first file, with every key explained.

    Example: tacit census new census.toml
    """
    write_template(CENSUS, file)


@contextmanager
def _planned(
    file: Path, policy: Path | None, analyst: str | None, workers: int = 1
) -> Iterator[tuple[Session, Census]]:
    settings = settings_of(CENSUS, file)
    if settings.places is not None:
        settings = replace(settings, places=str(file.parent / settings.places))
    with AskerOptions(policy=policy, analyst=analyst).open() as session:
        yield session, census_of(settings, session, workers=workers)


def quote(file: File, policy: PolicyFile = None, analyst: Analyst = None, as_json: o.Json = False) -> None:
    """What a census would cost, and how far its numbers would be wrong. Free: nothing is looked at.

    Example: tacit census quote census.toml
    """
    with _planned(file, policy, analyst) as (_, plan):
        found, errors = plan.quote(), plan.errors()
    told = {**found.json(), "errors": errors}
    cost = f"costs {spelled(found.cost)}; " + (
        f"{spelled(found.left)} would be left" if found.enough else "the budget does not allow it"
    )
    output(as_json, told, _errors(errors), *_notes([cost, *found.notes]))


def make(
    file: File,
    out: Annotated[Path, o.option("FILE", "Where the release is written: all of it, with how it was made.")],
    policy: PolicyFile = None,
    analyst: Analyst = None,
    csv: Annotated[Path | None, o.option("FILE", "Also write all counts there.")] = None,
    parquet: Annotated[Path | None, o.option("FILE", "The same as Parquet.")] = None,
    certificate: Annotated[
        Path | None, o.option("FILE", "How it was made, for others: .json to check, .html to read.")
    ] = None,
    plot: o.Picture = None,
    workers: Annotated[int, o.option("NUMBER", "In how many processes the tables are fitted.")] = 1,
    idempotency_key: Annotated[
        str | None, o.option("NAME", "Names the charge: the same name never pays twice.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Take a census: it is paid for before anything is looked at, and of the same data once.

    Example: tacit census make census.toml --out people.census --csv people.csv
    """
    for name, path in (("--out", out), ("--csv", csv), ("--parquet", parquet), ("--certificate", certificate)):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f'{name}: there is no folder "{path.parent}" to write {path.name} in')
    if certificate is not None and certificate.suffix not in (".json", ".html"):
        raise InputError(f"--certificate: {certificate.name} must end in .json, to be checked, or in .html, to be read")
    check_outputs(plot=plot)
    with _planned(file, policy, analyst, workers) as (session, plan):
        made = plan.release(idempotency_key=idempotency_key)
        left = session.left()
        if certificate is not None:
            session.certificate(made.release).save(certificate)
    made.save(out)
    if csv is not None:
        made.to_csv(csv)
    if parquet is not None:
        made.to_parquet(parquet)
    paid = "made before: free" if made.cached else "paid"
    told = {"cached": made.cached, "left": left.json(), **_told(made)}
    output(as_json, told, _totals(made), *_notes(made.notes), remark(f"{paid}; {spelled(left)} is left"))
    write_out("picture", plot, made.plot, quiet=as_json)


def check(
    release: Annotated[Path, o.argument("FILE", "What `tacit census make` wrote.")],
    level: Annotated[str | None, o.option("LEVEL", "Show the counts of this level.")] = None,
    query: Annotated[str, o.option("QUERY", "Which counts: total, a column, or several as in age*sex.")] = "total",
    as_json: o.Json = False,
) -> None:
    """Whether a release is whole: whole numbers, none of them negative, in a geography that is a tree; and its tables.

    Example: tacit census check people.census --level county
    """
    made = CensusTables.read(release)
    problems = made.problems()
    if problems:
        raise InputError(f"{release.name} is no census: {'; '.join(problems)}")
    told: dict[str, Any] = _told(made)
    shown: list[Any] = [_totals(made), _errors(made.errors()), *_notes(made.notes)]
    if level is not None:
        found = made.table(level, query)
        rows = found.to_pylist()
        told |= {"table": rows}
        shown = [table(*found.column_names, rows=[[_cell(value) for value in row.values()] for row in rows])]
    output(as_json, told, *shown)


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _told(made: CensusTables) -> dict[str, Any]:
    return {
        "levels": {level: len(made.total(level)) for level in made.levels},
        "people": sum(made.total(made.levels[0]).values()),
        "errors": made.errors(),
        "notes": list(made.notes),
        "facts": dict(made.facts),
    }


def _totals(made: CensusTables) -> Any:
    totals = {level: list(made.total(level).values()) for level in made.levels}
    rows = [
        [level, number(len(counts)), number(sum(count > 0 for count in counts)), number(max(counts))]
        for level, counts in totals.items()
    ]
    return table("level", "places", "with people", "most people", rows=rows)


def _errors(errors: Sequence[Mapping[str, Any]]) -> Any:
    rows = [
        [
            each["level"],
            each["query"],
            number(each["counts"]),
            f"{each['share']:.2%}",
            "not measured" if each["noise"] is None else f"{each['noise']:.4g}",
            f"{each['error']:.3g}",
        ]
        for each in errors
    ]
    return table("level", "query", "counts", "share", "noise", "error about", rows=rows)


def _notes(notes: Sequence[str]) -> list[Any]:
    return [Text(f"• {note}", style="bold yellow" if note.startswith("NOT") else "") for note in notes]
