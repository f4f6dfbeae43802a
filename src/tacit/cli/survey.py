"""`tacit survey`: plan a survey, try it on made-up people, tally reports, and read what they say."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli import options as o
from tacit.cli.screen import check_outputs, counted, new_file, output, say, write_out
from tacit.desk.show import table_of
from tacit.survey import plan as planning
from tacit.survey.plan import DEMO, Simulation
from tacit.survey.plan import simulate as simulated
from tacit.survey.results import Results, results_of
from tacit.survey.survey import STARTER, Survey, as_markdown, load, parse
from tacit.survey.survey_reports import read_tallies, tally_files, write_reports, write_tallies

__all__ = ["collect", "invite", "new", "plan", "results", "simulate", "survey_demo"]

File = Annotated[Path, o.argument("FILE", "The survey, in TOML.")]
Files = Annotated[list[Path], o.argument("REPORTS…", "What was collected.")]
Answers = Annotated[int, o.option("NUMBER", "How many people answer.", min=1)]
PEOPLE = 5000
DELTA = 1e-6  # of the shuffled and central ways that a plan is drawn beside


def new(
    file: Annotated[Path, o.argument("FILE", "The file to write.")] = Path("survey.toml"),
    reference: Annotated[bool, o.flag("--reference", "Print the page of all keys instead.")] = False,
) -> None:
    """Write a first survey file, to be changed.

    Example: tacit survey new survey.toml
    """
    if reference:
        typer.echo(as_markdown(), nl=False)
        return
    with new_file(file) as out:
        out.write(STARTER)
    say(f"{file} is written. Change it, then: tacit survey plan {file}")


def plan(
    file: File,
    answers: Answers = PEOPLE,
    within: Annotated[
        float | None, o.option("POINTS", "Also: how many answers it takes to know to so many points.")
    ] = None,
    plot: o.Picture = None,
    as_json: o.Json = False,
) -> None:
    """How well each question will be answered, before anybody is asked.

    The picture shows what it costs to trust nobody: the error of each question with answers to choose from, beside what
    it would be with a shuffler, or with a curator who sees the answers.

    Example: tacit survey plan survey.toml --answers 5000 --within 2
    """
    check_outputs(plot=plot)
    survey = load(file)
    if within is not None and not 0 < within < 100:
        raise InputError(f"--within must be more than 0 and less than 100 points, not {within:g}")
    with progress_bar("planning"):
        found = planning.plan(survey, answers=answers, within=None if within is None else within / 100)
    write_out("picture", plot, lambda path: _draw(survey, answers, path), quiet=as_json)
    names = ["question", "ε", "protocol", "report", "error", "if the collector were trusted"]
    rows = []
    for each in found.forecasts:
        size = counted(each.report_bytes, "byte")
        trusted = planning.spelled(each.central, "number" if each.unit == "number" else "share")
        rows.append([each.name, each.epsilon, each.protocol.replace("_", " "), size, each.shown, trusted])
        if each.needed is not None:
            rows[-1].append(f"{each.needed:,}")
    if within is not None:
        names.append(f"answers for ± {within:g} points")
    output(
        as_json,
        found.json(),
        Text(f"{survey.title}: with {answers:,} answers, at 95 %, expect"),
        table_of(names, rows, right={"ε", "report", names[-1] if within is not None else "ε"}),
    )


def _draw(survey: Survey, answers: int, path: Path) -> None:
    """Local, shuffled and central error of each question with answers to choose from."""
    from tacit.plot import page, write
    from tacit.plot.answers import models

    counts = sorted({max(answers, 2), 100, 1000, 10_000, 100_000, 1_000_000})
    panels = []
    for name, question in survey.questions.items():
        protocol = survey.protocols[name]
        if protocol.choices is not None:
            rows = planning.beside(categories=protocol.choices, epsilon=protocol.epsilon, delta=DELTA, reports=counts)
            errors = {way: [getattr(row, way) for row in rows] for way in ("local", "shuffle", "central")}
            title = (question.ask, f"ε = {float(protocol.epsilon):g}, δ = {DELTA:g}")
            panels.append([models(counts, errors, title=title)])
    if not panels:
        raise InputError("--plot is for questions with answers to choose from, and this survey has none")
    with progress_bar("drawing"):
        write(page(panels, title=survey.title, subtitle="what it costs to trust nobody"), path)


def simulate(
    file: File,
    answers: Answers = PEOPLE,
    out: Annotated[Path | None, o.option("FILE.parquet", "Also write their reports there.")] = None,
    as_json: o.Json = False,
) -> None:
    """Made-up people answer: what the survey would show, beside what they really answered.

    Example: tacit survey simulate survey.toml --answers 5000
    """
    survey = load(file)
    if out is not None:
        _writable(out, ".parquet")
    with progress_bar("answering"):
        made = simulated(survey, answers=answers)
        found, truth = results_of(survey, made.tallies()), _truth(survey, made)
        if out is not None:
            write_reports(out, survey, made.reports)
    output(as_json, {**found.json(), "truth": truth}, _shown(found, truth))


def survey_demo(answers: int = PEOPLE) -> Iterator[Any]:
    """What the demo survey shows of made-up respondents, for the tour."""
    survey = parse(DEMO)
    made = simulated(survey, answers=answers)
    return _shown(results_of(survey, made.tallies()), _truth(survey, made))


def _truth(survey: Survey, made: Simulation) -> dict[str, dict[str, float]]:
    return {name: made.truth(name) for name in survey.questions}


def collect(
    file: File,
    reports: Files,
    out: Annotated[Path, o.option("FILE.json", "Where the tallies are written.")] = Path("tallies.json"),
    engine: Annotated[str, o.option("NAME", "duckdb, or spark for very many.")] = "duckdb",
) -> None:
    """Add up reports that lie in Parquet files, however many.

    Example: tacit survey collect survey.toml day1.parquet day2.parquet --out tallies.json
    """
    if engine not in ("duckdb", "spark"):
        raise InputError(f"--engine must be duckdb or spark, not {engine}")
    survey = load(file)
    _writable(out, ".json")
    with progress_bar("adding up"):
        tallies = tally_files(survey, reports, engine="spark" if engine == "spark" else "duckdb")
    write_tallies(out, survey, tallies)
    count = max(tally.reports for tally in tallies.values())
    say(f"{count:,} reports on each question are added up in {out}.")


def results(
    file: File,
    reports: Files,
    as_json: o.Json = False,
    as_csv: Annotated[bool, o.flag("--csv", "Print CSV instead of a table.")] = False,
) -> None:
    """What reports say: from Parquet files, or from tallies that `collect` wrote, several of them added up.

    Example: tacit survey results survey.toml tallies.json
    """
    survey = load(file)
    with progress_bar("adding up"):
        parts = [
            read_tallies(path, survey) if path.suffix == ".json" else tally_files(survey, [path]) for path in reports
        ]
    tallies = {name: reduce(add, (part[name] for part in parts)) for name in survey.questions}
    count = min(tally.reports for tally in tallies.values())
    if count < survey.minimum:
        raise InputError(f"there are fewer than {survey.minimum} reports, the least that {file.name} lets results show")
    found = results_of(survey, tallies)
    if as_csv and not as_json:
        typer.echo(found.csv(), nl=False)
    else:
        output(as_json, found.json(), _shown(found))


def invite(
    survey: Annotated[str, o.argument("SURVEY", "Its file, or its name in the address.")],
    at: o.ServiceOptions,
    count: Annotated[int, o.option("NUMBER", "How many people are invited.")],
    out: Annotated[Path, o.option("FILE.csv", "Where the codes are written.")] = Path("invitations.csv"),
) -> None:
    """Make invitation codes for a survey of the service on this machine. It may be running.

    The file has a code and a link for each person. The service keeps digests alone: a lost file cannot be made again.

    Example: tacit survey invite survey.toml --count 200 --out invitations.csv
    """
    with o.extra("server", "this"):
        from tacit.server.survey.surveys import Surveys
    _writable(out, ".csv")
    settings, own = at.settings(), [Path(survey)] if survey.endswith(".toml") else []
    named = load(own[0]).name if own else survey
    if not settings.database and not Path(settings.survey_store).is_file():
        raise InputError(f"no service has begun in {settings.state}: start it once, or name its folder with --state")
    address = f"{settings.public_url.rstrip('/')}/s/{named}"
    with new_file(out, private=True) as file:
        surveys = Surveys(
            dict.fromkeys(path.resolve() for path in (*settings.surveys, *own)),
            settings.survey_store,
            rate=settings.survey_rate,
            body=settings.body,
            folder=settings.survey_folder,
        )
        with closing(surveys):
            codes = surveys.invite(surveys.named(named), count)
        file.write("".join(["code,link\n", *(f"{code},{address}#{code}\n" for code in codes)]))
    say(f"{len(codes):,} codes are in {out}. Send each person one link: a code works once.")


def _shown(found: Results, truth: Mapping[str, Mapping[str, float]] | None = None) -> Iterator[Any]:
    """Results as tables; `truth` is known of made-up people alone."""
    yield Text(f"{found.survey.title}: {found.reports:,} reports, none of which holds an answer for sure.")
    for each in found.findings:
        yield Text(f"\n{each.ask}  (ε = {each.epsilon}, {each.protocol.replace('_', ' ')})", style="bold")
        names, rows = ["answer", "estimate", "95 % bar", *(["(true)"] if truth else [])], []
        for line in each.lines if each.mean is None else (*each.lines, each.mean):
            share = each.unit == "share" and line is not each.mean
            numbers = [line.consistent, line.lower, line.upper, (truth or {}).get(each.name, {}).get(line.answer)]
            value, low, high, true = ("" if n is None else f"{100 * n:.1f} %" if share else f"{n:.4g}" for n in numbers)
            rows.append([line.answer, value, f"{low} to {high}", true][: len(names)])
        yield table_of(names, rows, right={*names[1:]})


def _writable(path: Path, suffix: str) -> None:
    if path.suffix != suffix:
        raise InputError(f"{path} must end in {suffix}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no directory {path.parent} to write {path.name} to")
