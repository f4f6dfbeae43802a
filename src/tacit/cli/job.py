"""`tacit job`: how far long jobs of one's own are, and how to stop them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tacit.base import InputError
from tacit.cli.options import Json, LedgerOptions, Yes, argument, confirm, option
from tacit.cli.screen import WIDTH, bar, output, say, when
from tacit.desk.show import table_of

if TYPE_CHECKING:
    from tacit.desk.state import SavedJob

__all__ = ["discard", "list_jobs", "stop"]

Entry = Annotated[int, argument("ENTRY", "The ledger entry that pays for it, as `tacit job list` shows it.")]
PolicyFile = Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")]


def list_jobs(policy: PolicyFile = None, as_json: Json = False) -> None:
    """Jobs that saved how far they are and did not end: those that run, and those that were stopped or killed.

    A job goes on where it was, under its charge, when the code that began it is run again.

    Example: tacit job list --policy tacit.toml
    """
    found, names = _jobs(policy), ["entry", "job", "analyst", "done", "state", "saved"]
    rows = []
    for job in found:
        state = "running" if job.running else "stopped"
        rows.append([str(job.entry), job.name, job.analyst, _bar(job.done), state, when(job.saved)])
    shown = table_of(names, rows, right={"entry"}) if found else "No job has saved anything and not ended."
    output(as_json, {"jobs": [job.json() for job in found]}, shown)


def _bar(done: float | None) -> str:
    if done is None:
        return "–"
    return f"{bar(round(WIDTH * min(max(done, 0.0), 1.0)))} {done:.0%}"


def stop(entry: Entry, policy: PolicyFile = None) -> None:
    """Stop a job that runs, when it next saves or tells how far it is. What was charged stays charged.

    Run again, its code goes on from what it saved, and pays nothing.

    Example: tacit job stop 12
    """
    job = _job(policy, entry)
    if not job.running:
        raise InputError(f"job {entry} does not run now: run its code again to go on, or `tacit job discard {entry}`")
    job.stop()
    say(f"Job {entry} stops when it next saves. Run its code again to go on; nothing is paid twice.")


def discard(entry: Entry, policy: PolicyFile = None, yes: Yes = False) -> None:
    """Delete what a stopped job saved, and give up what its charge still pays for.

    It does not run again under that charge: what it drew would be drawn twice. Under another name it pays again.

    Example: tacit job discard 12
    """
    job = _job(policy, entry)
    confirm(f"Delete what job {entry} ({job.name}) saved? It cannot go on then, and its charge stands.", yes=yes)
    job.discard()
    say(f"What job {entry} saved is deleted.")


def _jobs(policy: Path | None) -> "list[SavedJob]":
    from tacit.desk.state import jobs_folder, saved_jobs

    _, declared = LedgerOptions(policy=policy).place()
    assert declared is not None  # since no ledger was named
    return saved_jobs(jobs_folder(declared), declared.dataset.identity)


def _job(policy: Path | None, entry: int) -> "SavedJob":
    for job in _jobs(policy):
        if job.entry == entry:
            return job
    raise InputError(f"no job has saved anything under entry {entry}: `tacit job list` shows those that have")
