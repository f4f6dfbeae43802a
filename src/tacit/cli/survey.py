"""`tacit survey`: plan a survey, try it on made-up people, tally reports, and read what they say."""

from collections.abc import Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import write_private
from tacit.cli import options as o
from tacit.cli.screen import announce, bar, check_outputs, print_json
from tacit.desk.show import table_of

if TYPE_CHECKING:
    from tacit.survey.protocol import Tally
    from tacit.survey.results import Results
    from tacit.survey.survey import Survey

__all__ = ["collect", "invite", "new", "plan", "results", "simulate", "survey_demo"]

File = Annotated[Path, o.argument("FILE", "The survey, in TOML.", show_default=False)]
Files = Annotated[list[Path], o.argument("REPORTS…", "What was collected.", show_default=False)]
Answers = Annotated[int, o.option("--answers", "NUMBER", "How many people answer.", min=1)]
PEOPLE = 5000
DELTA = 1e-6  # of the shuffled and central ways that a plan is drawn beside


def new(
    file: Annotated[Path, o.argument("FILE", "The file to write.")] = Path("survey.toml"),
    reference: Annotated[bool, o.flag("--reference", "Print the page of all keys instead.")] = False,
) -> None:
    """Write a first survey file, to be changed.

    Example: tacit survey new survey.toml
    """
    from tacit.survey.survey_file import STARTER, as_markdown

    if reference:
        typer.echo(as_markdown(), nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(STARTER)
    except FileExistsError:
        raise InputError(f"{file} exists already, and is not overwritten: choose another name") from None
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    typer.echo(f"{file} is written. Change it, then: tacit survey plan {file}")


def plan(
    file: File,
    answers: Answers = PEOPLE,
    within: Annotated[
        float | None, o.option("--within", "POINTS", "Also: how many answers it takes to know to so many points.")
    ] = None,
    plot: o.Picture = None,
    as_json: o.Json = False,
) -> None:
    """How well each question will be answered, before anybody is asked.

    The picture shows what it costs to trust nobody: the error of each question with answers to choose from, beside what
    it would be with a shuffler, or with a curator who sees the answers.

    Example: tacit survey plan survey.toml --answers 5000 --within 2
    """
    from tacit.survey import plan as planning

    check_outputs(plot=plot)
    survey = _survey(file)
    if within is not None and not 0 < within < 100:
        raise InputError(f"--within must be more than 0 and less than 100 points, not {within:g}")
    with bar("planning"):
        found = planning.plan(survey, answers=answers, within=None if within is None else within / 100)
    console = Console()
    if plot is not None:
        with bar("drawing"):
            _draw(survey, answers, plot)
        announce(console, "picture", plot, quiet=as_json)
    if as_json:
        print_json(console, found.json())
        return
    console.print(Text(f"{survey.title}: with {answers:,} answers, at 95 %, expect"))
    names = ["question", "ε", "protocol", "report", "error", "if the collector were trusted"]
    rows = []
    for each in found.forecasts:
        size = f"{each.report_bytes} byte{'' if each.report_bytes == 1 else 's'}"
        trusted = planning.spelled(each.central, "number" if each.unit == "number" else "share")
        rows.append([each.name, each.epsilon, each.protocol.replace("_", " "), size, each.shown, trusted])
        if each.needed is not None:
            rows[-1].append(f"{each.needed:,}")
    if within is not None:
        names.append(f"answers for ± {within:g} points")
    console.print(table_of(names, rows, right={"ε", "report", names[-1] if within is not None else "ε"}))


def _draw(survey: "Survey", answers: int, path: Path) -> None:
    """Local, shuffled and central error of each question with answers to choose from."""
    from tacit.plot import page, write
    from tacit.plot.surveys import models
    from tacit.survey.plan import beside

    counts = sorted({max(answers, 2), 100, 1000, 10_000, 100_000, 1_000_000})
    panels = []
    for name, question in survey.questions.items():
        protocol = survey.protocols[name]
        if protocol.choices is not None:
            rows = beside(categories=protocol.choices, epsilon=protocol.epsilon, delta=DELTA, reports=counts)
            panels.append([models(rows, title=(question.ask, f"ε = {float(protocol.epsilon):g}, δ = {DELTA:g}"))])
    if not panels:
        raise InputError("--plot is for questions with answers to choose from, and this survey has none")
    write(page(panels, title=survey.title, subtitle="what it costs to trust nobody"), path)


def simulate(
    file: File,
    answers: Answers = PEOPLE,
    out: Annotated[Path | None, o.option("--out", "FILE.parquet", "Also write their reports there.")] = None,
    as_json: o.Json = False,
) -> None:
    """Made-up people answer: what the survey would show, beside what they really answered.

    Example: tacit survey simulate survey.toml --answers 5000
    """
    from tacit.survey.demo import simulate as simulate_answers
    from tacit.survey.results import results_of
    from tacit.survey.survey_reports import write_reports

    survey = _survey(file)
    if out is not None:
        _writable(out, ".parquet")
    with bar("answering"):
        made = simulate_answers(survey, answers=answers)
        if out is not None:
            write_reports(out, survey, made.reports)
        found = results_of(survey, made.tallies())
        truth = {name: made.truth(name) for name in survey.questions}
    if as_json:
        print_json(Console(), {**found.json(), "truth": truth})
    else:
        show(Console(), found, truth)


def collect(
    file: File,
    reports: Files,
    out: Annotated[Path, o.option("--out", "FILE.json", "Where the tallies are written.")] = Path("tallies.json"),
    engine: Annotated[str, o.option("--engine", "NAME", "duckdb, or spark for very many.")] = "duckdb",
) -> None:
    """Add up reports that lie in Parquet files, however many.

    Example: tacit survey collect survey.toml day1.parquet day2.parquet --out tallies.json
    """
    from tacit.survey.survey_reports import tally_files, write_tallies

    if engine not in ("duckdb", "spark"):
        raise InputError(f"--engine must be duckdb or spark, not {engine}")
    survey = _survey(file)
    _writable(out, ".json")
    with bar("adding up"):
        tallies = tally_files(survey, reports, engine="spark" if engine == "spark" else "duckdb")
    write_tallies(out, survey, tallies)
    count = max(tally.reports for tally in tallies.values())
    typer.echo(f"{count:,} reports on each question are added up in {out}.")


def results(
    file: File,
    reports: Files,
    as_json: o.Json = False,
    as_csv: Annotated[bool, o.flag("--csv", "Print CSV instead of a table.")] = False,
) -> None:
    """What reports say: from Parquet files, or from tallies that `collect` wrote, several of them added up.

    Example: tacit survey results survey.toml tallies.json
    """
    from tacit.survey.results import results_of

    survey = _survey(file)
    with bar("adding up"):
        parts = [_tallies(survey, path) for path in reports]
    tallies = {name: reduce(add, (part[name] for part in parts)) for name in survey.questions}
    count = min(tally.reports for tally in tallies.values())
    if count < survey.minimum:
        raise InputError(f"there are fewer than {survey.minimum} reports, the least that {file.name} lets results show")
    found = results_of(survey, tallies)
    if as_json:
        print_json(Console(), found.json())
    elif as_csv:
        typer.echo(found.csv(), nl=False)
    else:
        show(Console(), found)


def invite(
    survey: Annotated[str, o.argument("SURVEY", "Its file, or its name in the address.")],
    count: Annotated[int, o.option("--count", "NUMBER", "How many people are invited.")],
    out: Annotated[Path, o.option("--out", "FILE.csv", "Where the codes are written.")] = Path("invitations.csv"),
    config: o.ConfigFile = None,
    state: o.StateFolder = None,
) -> None:
    """Make invitation codes for a survey of the service on this machine. It may be running.

    The file has a code and a link for each person. The service keeps digests alone: a lost file cannot be made again.

    Example: tacit survey invite survey.toml --count 200 --out invitations.csv
    """
    with o.server_extra("this"):
        from tacit.server.survey.surveys import Surveys
    _writable(out, ".csv")
    if out.exists():
        raise InputError(f"{out} exists already, and is not overwritten: choose another name")
    settings = o.service_settings(config, state)
    named = _survey(Path(survey)).name if survey.endswith(".toml") else survey
    files = (*settings.surveys, *([Path(survey)] if survey.endswith(".toml") else []))
    folder, rate, body = settings.survey_folder, settings.survey_rate, settings.body
    if not settings.database and not Path(settings.survey_store).is_file():
        raise InputError(f"no service has begun in {settings.state}: start it once, or name its folder with --state")
    surveys = Surveys(
        dict.fromkeys(path.resolve() for path in files), settings.survey_store, rate=rate, body=body, folder=folder
    )
    try:
        codes = surveys.invite(surveys.named(named), count)
    finally:
        surveys.close()
    address = f"{settings.public_url.rstrip('/')}/s/{named}"
    write_private(out, "".join(["code,link\n", *(f"{code},{address}#{code}\n" for code in codes)]))
    typer.echo(f"{len(codes):,} codes are in {out}. Send each person one link: a code works once.")


def survey_demo(console: Console, answers: int = PEOPLE) -> None:
    """The demo survey with made-up respondents, for the tour."""
    from tacit.survey.demo import DEMO
    from tacit.survey.demo import simulate as simulate_answers
    from tacit.survey.results import results_of
    from tacit.survey.survey_file import parse

    survey = parse(DEMO)
    made = simulate_answers(survey, answers=answers)
    show(console, results_of(survey, made.tallies()), {name: made.truth(name) for name in survey.questions})


def show(console: Console, found: "Results", truth: Mapping[str, Mapping[str, float]] | None = None) -> None:
    """Results as tables; `truth` is known of made-up people alone."""
    console.print(Text(f"{found.survey.title}: {found.reports:,} reports, none of which holds an answer for sure."))
    for each in found.findings:
        console.print()
        console.print(Text(f"{each.ask}  (ε = {each.epsilon}, {each.protocol.replace('_', ' ')})", style="bold"))
        names, rows = ["answer", "estimate", "95 % bar"], []
        lines = each.lines if each.mean is None else (*each.lines, each.mean)
        for line in lines:
            words = _percent if each.unit == "share" and line is not each.mean else _plain
            row = [line.answer, words(line.consistent), f"{words(line.lower)} to {words(line.upper)}"]
            if truth is not None:
                true = truth[each.name].get(line.answer)
                row.append("" if true is None else words(true))
            rows.append(row)
        if truth is not None:
            names.append("(true)")
        console.print(table_of(names, rows, right={*names[1:]}))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _plain(value: float) -> str:
    return f"{value:.4g}"


def _survey(file: Path) -> "Survey":
    from tacit.survey.survey_file import load

    return load(file)


def _tallies(survey: "Survey", path: Path) -> "Mapping[str, Tally]":
    from tacit.survey.survey_reports import read_tallies, tally_files

    return read_tallies(path, survey) if path.suffix == ".json" else tally_files(survey, [path])


def _writable(path: Path, suffix: str) -> None:
    if path.suffix != suffix:
        raise InputError(f"{path} must end in {suffix}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no directory {path.parent} to write {path.name} to")
