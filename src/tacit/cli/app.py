"""The command line: every command by name, how it is found, and how errors look.

A command's module is imported when the command is called, so that help, and one command, do not wait for the others.
"""

import sys
from importlib import import_module
from inspect import signature
from io import TextIOWrapper
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

__all__ = ["COMMANDS", "FORMER", "FORMER_OPTIONS", "GROUPS", "app", "main"]

GROUPS = {
    "account": "Work out what noise costs: ε, δ, and what they mean",
    "attack": "Break releases that are not defended",
    "census": "Count people in every place of a geography, consistently",
    "data": "Read CSV files for questions, and delete what was read",
    "job": "See how far long jobs are, and stop them",
    "label": "Label public inputs by teachers that learn from a private table",
    "ledger": "Read, verify and keep the book of what was spent",
    "ledger key": "Keys for signed checkpoints",
    "market": "Prices, choices, goods and routes, that nobody gains by gaming",
    "people": "Say who may use the service",
    "pufferfish": "Work out noise for entries that depend on each other",
    "service": "Look after a running service",
    "synth": "Make synthetic tables, and draw rows from them",
    "survey": "Ask people whose devices randomise the answers",
    "train": "Train models on private tables",
}

# name: where it is, and its line in the menu; the docstring there says more
COMMANDS = {
    "demo": ("demo:demo", "Take a short tour on made-up data"),
    "init": ("data:init", "Write a first policy for your data"),
    "check": ("data:check", "Check a policy: what it promises, what is missing"),
    "profile": ("profile:profile", "Find how much people count, once, for better answers"),
    "explain-sql": ("ask:explain_sql", "See how a question is understood, for free"),
    "quote": ("ask:quote", "See what a question would cost, for free"),
    "ask": ("ask:ask", "Ask a question in SQL"),
    "budget": ("budget:budget", "See what was spent and what is left"),
    "report": ("report:report", "Say on one page what is promised and what was spent"),
    "verify": ("verify:verify", "Check the certificate of an answer or a survey"),
    "audit": ("audit:audit", "Measure how much a mechanism gives away"),
    "serve": ("service:serve", "Serve datasets and surveys to many people"),
    "place": ("place:place", "Report a place with noise"),
    "panel": ("panel:panel", "Ask for sums, under a budget for each person"),
    "holdout": ("holdout:holdout", "Test models on held rows, again and again"),
    "stream": ("stream:stream", "Count events as they come, one noisy count a tick"),
    "together": ("together:together", "Plan training over many devices, and rehearse a round"),
    "account epsilon": ("account:epsilon", "The ε that a program costs"),
    "account calibrate": ("account:calibrate", "The noise that an ε needs"),
    "account compare": ("compare:compare", "One program under every method of accounting"),
    "account choose": ("choose:choose", "Which budget, for the accuracy and the odds that you want"),
    "account explain": ("account:explain", "What a guarantee means"),
    "account mechanisms": ("account:mechanisms", "Every mechanism and its theory"),
    "attack list": ("attack:list_attacks", "The attacks that can be staged"),
    "attack run": ("attack:run", "Stage one on made-up data"),
    "attack lab": ("attack:lab", "Stage all of them, and two audits, on one page"),
    "attack anonymity": ("attack:anonymity", "k, l and t of a table of yours"),
    "attack risk": ("attack:risk", "The risk of an anonymised or synthetic table"),
    "attack link": ("attack:link", "Rows that get a name from another table"),
    "census new": ("census:new", "Write a first census file"),
    "census quote": ("census:quote", "See what a census would cost, and its errors, for free"),
    "census make": ("census:make", "Take a census"),
    "census check": ("census:check", "Check what one released, and show its tables"),
    "data import": ("data:import_text", "Read the CSV files of a policy into typed copies"),
    "data forget": ("data:forget", "Delete such copies"),
    "job list": ("job:list_jobs", "The jobs that saved how far they are"),
    "job stop": ("job:stop", "Stop one; it can go on later"),
    "job discard": ("job:discard", "Delete what one saved"),
    "ledger log": ("ledger:log", "What happened, in order"),
    "ledger verify": ("ledger:verify", "Is it whole?"),
    "ledger export": ("ledger:export", "All entries, or a signed checkpoint, for somebody outside"),
    "ledger recompute": ("ledger:recompute", "What the same charges would cost by today's proofs"),
    "ledger apply": ("ledger:apply", "Record what a policy says"),
    "ledger adopt": ("ledger:adopt", "Use a ledger that was put back from an older copy"),
    "ledger seal": ("ledger:seal", "Close an account for good"),
    "ledger rename": ("ledger:rename", "Give an account another name"),
    "ledger claims": ("ledger:claims", "The data that an account answers for"),
    "ledger unclaim": ("ledger:unclaim", "Say that data is not this account's"),
    "ledger key new": ("ledger:new_signing_key", "Make a key to sign checkpoints with"),
    "market price": ("market:set_price", "A price from sealed bids"),
    "market choose": ("market:choose_option", "An option from what each person reports"),
    "market match": ("market:match_goods", "Who gets which of a few goods"),
    "market game": ("market:advise_routes", "Which route each should take"),
    "market tools": ("market_tools:serve_tools", "Let a language model take part in a service's markets"),
    "people add": ("service:add", "Add a person"),
    "people token": ("service:token", "Make a token"),
    "people revoke": ("service:revoke", "Revoke a token"),
    "people bar": ("service:block", "Block a person"),
    "people link": ("service:link", "Make a sign-in link"),
    "people list": ("service:list_people", "List people and their tokens"),
    "pufferfish quilt": ("pufferfish:quilt_noise", "The noise for a count, by a Markov quilt"),
    "pufferfish wasserstein": ("pufferfish:wasserstein_noise", "The same for one release, by how far laws lie apart"),
    "pufferfish compare": ("pufferfish:compare_noise", "All of them beside each other, and what they really keep"),
    "service running": ("service:running", "The questions that are being answered now"),
    "service cancel": ("service:cancel", "Stop one of them"),
    "service backup": ("service:backup", "Copy everything to one file; check and restore it"),
    "synth new": ("synth:new", "Write a first file of settings"),
    "synth quote": ("synth:quote", "What a synthetic table would cost, for free"),
    "synth make": ("synth:make", "Pay for one, once"),
    "synth rows": ("synth:rows", "Draw rows from it, for free"),
    "synth report": ("synth:report", "A page with pictures of how it was made"),
    "survey new": ("survey:new", "Write a first survey file"),
    "survey plan": ("survey:plan", "See how well each question will be answered"),
    "survey simulate": ("survey:simulate", "Let made-up people answer"),
    "survey collect": ("survey:collect", "Add up reports"),
    "survey results": ("survey:results", "See what reports say"),
    "survey invite": ("survey:invite", "Make invitation codes"),
    "label new": ("label:new", "Write a first file of settings"),
    "label quote": ("label:quote", "See what labels would cost, for free"),
    "label run": ("label:run", "Let teachers vote, once"),
    "train new": ("train:new", "Write a first file of settings"),
    "train quote": ("train:quote", "See what a training would cost, for free"),
    "train run": ("train:run", "Train a model; go on with one that was stopped"),
}

# former spellings, which still work but are not in the menu
FORMER = {
    "epsilon": "account epsilon",
    "calibrate": "account calibrate",
    "compare": "account compare",
    "explain": "account explain",
    "mechanisms": "account mechanisms",
    "lab": "attack lab",
    "import": "data import",
    "forget": "data forget",
    "running list": "service running",
    "running stop": "service cancel",
    "backup": "service backup",
}

# former names of options, which still work but are not in the help
FORMER_OPTIONS = {
    "init": {"--unit": "--unit-column"},
    "ask": {
        "--unit": "--unit-column",
        "--keys": "--group-keys",
        "--key": "--idempotency-key",
        "--sign": "--signing-key",
    },
    "quote": {"--unit": "--unit-column", "--keys": "--group-keys"},
    "verify": {"--key": "--public-key"},
    "ledger export": {"--sign": "--signing-key"},
}

SETTINGS = {"place": {"ignore_unknown_options": True}}  # a latitude may be -33.9


class _LazyCommand(TyperCommand):
    """A command whose module is imported when it is called."""

    where: ClassVar[str]
    now: ClassVar[str]  # the new spelling, if this is a former one
    renamed: ClassVar[dict[str, str]]  # options

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if self.now:
            typer.echo(f"tacit: this is now spelled `tacit {self.now}`", err=True)
        args = [self._now_spelled(word) for word in args]
        module, _, name = self.where.partition(":")
        from tacit.cli.options import flat

        function = flat(getattr(import_module(f"tacit.cli.{module}"), name))
        bare = all(each.default is not each.empty for each in signature(function).parameters.values())
        alone = typer.Typer(add_completion=False)
        alone.command(self.name, no_args_is_help=not bare, context_settings=dict(self.context_settings))(function)
        return typer.main.get_command(alone).make_context(info_name, args, parent, **extra)

    def _now_spelled(self, word: str) -> str:
        option, equals, value = word.partition("=")
        if option not in self.renamed:
            return word
        typer.echo(f"tacit: {option} is now spelled {self.renamed[option]}", err=True)
        return f"{self.renamed[option]}{equals}{value}"


def _version(wanted: bool) -> None:
    if wanted:
        from tacit import __version__

        typer.echo(f"tacit {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass


def _tree() -> typer.Typer:
    root = typer.Typer(
        name="tacit",
        help="Answers about everyone, silent about anyone: differential privacy that is exact, priced and checked.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        callback=_root,
    )
    groups = {"": root}
    for path, line in (GROUPS | {"running": "Now `tacit service running` and `tacit service cancel`"}).items():
        above, _, name = path.rpartition(" ")
        groups[path] = typer.Typer(no_args_is_help=True)
        panel, hidden = None if above else "Groups of commands", path not in GROUPS
        groups[above].add_typer(groups[path], name=name, help=line, hidden=hidden, rich_help_panel=panel)
    for path, now in (dict.fromkeys(COMMANDS, "") | FORMER).items():
        above, _, name = path.rpartition(" ")
        where, line = COMMANDS[now or path]
        kind = type(
            "_LazyCommand", (_LazyCommand,), {"where": where, "now": now, "renamed": FORMER_OPTIONS.get(path, {})}
        )
        settings = SETTINGS.get(path)
        groups[above].command(name, cls=kind, help=line, hidden=bool(now), context_settings=settings)(lambda: None)
    return root


app = _tree()


def main() -> None:
    """Run the command line. An error made on purpose is one red line and exit code 2; anything else is a bug."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε is shown a question mark, not a traceback
    try:
        app()
    except Exception as error:
        from tacit.base import Refused, TacitError

        if not isinstance(error, TacitError):
            raise
        from rich.console import Console
        from rich.text import Text

        said = Console(stderr=True)
        said.print(Text(f"tacit: {error}", style="bold red"), soft_wrap=True)
        if type(error) is Refused:
            said.print(Text(f"{error.kind}: {error.kind.words}", style="dim"), soft_wrap=True)
        sys.exit(2)
