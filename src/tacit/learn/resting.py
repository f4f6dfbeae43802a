"""A job that rests: its owner's loop goes on as long as it likes, and the same call goes on from there another day.

What it has told is in a `PrivateBook` under its charge. When all that was paid for is told, that is its release, and
the book is gone.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tacit.desk import ContentRelease, Job, Release, Run, Spender
from tacit.desk.release import release_from_bytes, release_of
from tacit.engine import Stopped, Watch
from tacit.learn.private_book import PrivateBook
from tacit.program import Program

__all__ = ["RestingJob"]


@dataclass(kw_only=True, eq=False)
class RestingJob(Job):
    """`loop` is its owner's own code; only quotes have none."""

    loop: Callable[[Any], Any] | None
    priced: Program
    path: Path | None = field(default=None, repr=False)

    book: ClassVar[type[PrivateBook]]
    kind: ClassVar[str]  # and how its file's name ends
    stops = None
    scrubbed = False

    @property
    def program(self) -> Program:
        return self.priced

    def advance(self, book: Any, run: Run) -> Any:
        """Let the loop go on; what is released, or None while there is more to tell."""
        raise NotImplementedError

    def run(self, run: Run) -> bytes:
        assert self.loop is not None  # only quotes have none
        self.path = run.state.path.with_suffix(f".{self.kind}")
        run.saved()  # from here on no other process has this job
        opened = self.book.resume if run.receipt.replayed else self.book.begin
        with opened(self.path, run.receipt.digest.hex()) as book:
            told = self.advance(book, run)
            if told is None:
                run.watch.stop()
                raise Stopped
        return release_of(told, kind="value", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)

    def spent_by(self, session: Spender, name: str) -> ContentRelease | None:
        """Charged once, by its kind, name and program; None where it rests."""
        key = f"{self.kind} {name} {self.program.hash[:16]}"
        try:
            release = session.spend(self, idempotency_key=key, watch=Watch())
        except Stopped:
            return None
        with suppress(OSError):
            if self.path is not None:
                self.path.unlink(missing_ok=True)
        assert isinstance(release, ContentRelease)  # as `run` keeps it
        return release
