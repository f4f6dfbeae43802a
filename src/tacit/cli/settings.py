"""A job of plain settings from a file: the template, the free quote, and the run. Each trade's commands call these."""

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli.options import USUAL, analyst_name, argument, option
from tacit.cli.screen import line, new_file, output, remark, say, show
from tacit.desk import Job
from tacit.desk.kind import JobKind
from tacit.desk.show import spelled
from tacit.engine import Stopped, Watch
from tacit.ledger.checkpoint import Signer
from tacit.policy.declaration import quoted
from tacit.policy.read import read_text, read_toml
from tacit.session import Session
from tacit.session.kinds import file_with_certificate

__all__ = [
    "AskerOptions", "OutputOptions", "SettingsFile", "quote_settings", "run_settings", "settings_of",
    "write_template",
]  # fmt: skip

SettingsFile = Annotated[Path, argument("FILE", "The settings, in TOML; `new` writes a first one.")]
STOPPED = 130  # exit code after Ctrl-C
PATIENCE = 20.0  # seconds until a job that was stopped is left alone


@dataclass(frozen=True, kw_only=True)
class AskerOptions:
    """Whose data, and who asks."""

    policy: Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")] = None
    analyst: Annotated[str | None, option("NAME", "Who asks. Default: $TACIT_ANALYST, or who is logged in.")] = None

    def open(self) -> Session:
        path = self.policy or USUAL
        if not path.exists():
            raise InputError(f"there is no {path}: name a policy with --policy, or write one with `tacit init DATA`")
        return Session(path, analyst_name(self.analyst))


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the release goes, and what is said of it."""

    out: Annotated[Path | None, option("FILE", "Where to write it. Default: beside the settings.")] = None
    certificate: Annotated[Path | None, option("FILE", "How it was made, for others: .json or .html.")] = None
    signing_key: Annotated[
        Path | None, option("FILE", "Sign the certificate with this key of `tacit ledger key new`.")
    ] = None
    idempotency_key: Annotated[str | None, option("NAME", "Names the charge: the same name never pays twice.")] = None

    def check(self) -> None:
        """Refuse what cannot be written, before anything is spent."""
        for path in (self.out, self.certificate):
            if path is not None and not path.parent.is_dir():
                raise InputError(f'there is no folder "{path.parent}" to write {path.name} in')
        if self.certificate is not None and self.certificate.suffix not in (".json", ".html"):
            raise InputError(f"--certificate: {self.certificate.name} must end in .json or in .html")


def write_template(kind: JobKind, path: Path) -> None:
    """A first file of settings, with every key explained."""
    with new_file(path) as file:
        file.write(kind.template())
    say(f"{path} has every key of it: fill it in, then `tacit {kind.name} quote {path}`, which is free.")


def quote_settings(kind: JobKind, path: Path, asker: AskerOptions, *, as_json: bool) -> None:
    """What it would cost. Free, and nothing is looked at."""
    with asker.open() as session:
        found = session.quote(_job(kind, path, session))
    output(as_json, found.json(), found)


def run_settings(kind: JobKind, path: Path, asker: AskerOptions, outputs: OutputOptions, *, as_json: bool) -> None:
    """Pay, run and write the release; again after it was stopped, go on under the same charge."""
    outputs.check()
    signer = None if outputs.signing_key is None else Signer(outputs.signing_key)
    with asker.open() as session, progress_bar(kind.name) as tell:
        job = _job(kind, path, session)
        if outputs.out is not None and outputs.out.exists():
            raise InputError(f"{outputs.out} exists already, and is not overwritten: choose another name with --out")
        watch = Watch(progress=lambda share: tell(share, watch.words or kind.name))
        try:
            release = session.spend(job, idempotency_key=outputs.idempotency_key, watch=watch)
        except (KeyboardInterrupt, Stopped):
            release = None
            _wait()
        if release is not None:
            certificate = session.certificate(release, signing_key=signer)
            left = session.left()
    if release is None:
        show(
            line("Stopped. What was charged stays charged: the same command goes on from what was saved.", "yellow"),
            stderr=True,
        )
        raise typer.Exit(STOPPED)
    content, _, ending = release.file()
    place = outputs.out or path.with_suffix(ending)
    with_it = file_with_certificate(release, content, certificate)
    _write(place, with_it)
    if outputs.certificate is not None:
        certificate.save(outputs.certificate)
    paid = "made before: free" if release.cached else "paid for"
    told = {"file": str(place), "bytes": len(with_it), "cached": release.cached, "left": left.json()}
    told |= {"notes": list(release.notes), "cost": release.facts["cost"], "ledger": release.facts["ledger"]}
    lines = [f"{place}, {len(with_it):,} bytes; {paid}; {spelled(left)} is left", *release.notes]
    output(as_json, told, *map(remark, lines))


def _wait() -> None:
    """Until the thread of the job has seen that it was stopped: torch does not like to be left in the middle."""
    for thread in threading.enumerate():
        if thread.name == "tacit-question":
            thread.join(PATIENCE)


def _write(place: Path, content: bytes) -> None:
    """Put it there whole, or not at all. The same content may be there already."""
    with suppress(OSError):
        if place.read_bytes() == content:
            return
    if place.exists():
        raise InputError(
            f"the release was made, and {place} exists already and is not overwritten: ask again with --out, free"
        )
    fresh = place.with_name(f".{place.name}.part")
    try:
        fresh.write_bytes(content)
        fresh.replace(place)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise InputError(
            f"the release was made but cannot be written ({error.strerror}): ask again with --out, free"
        ) from None


def settings_of(kind: JobKind, path: Path) -> Any:
    """The settings in a file."""
    text = read_text(path, what="file of settings", made_by=f"tacit {kind.name} new {path.name}", megabytes=1)
    data: dict[str, Any] = read_toml(text, path.name)
    named = data.pop("kind", kind.name)
    if named != kind.name:
        raise InputError(f"{path.name}: kind = {quoted(str(named))} is not {quoted(kind.name)}: `tacit {named}`?")
    return kind.settings.read(data, file=path.name, local=True)


def _job(kind: JobKind, path: Path, session: Session) -> Job:
    return kind.job_of(settings_of(kind, path), session)
