"""A bar for whoever waits."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

__all__ = ["progress_bar"]

PATIENCE = 2.0  # seconds before a bar appears


@contextmanager
def progress_bar(words: str, *, after: float = PATIENCE) -> Iterator[Callable[..., None]]:
    """A bar on standard error for what takes longer than a moment, if there is somebody to see it.

    What is yielded takes the share done, and words if they change; the bar appears after so many seconds. Until a share
    is told it moves to and fro.
    """
    watcher = None
    if (sys.stderr and sys.stderr.isatty()) or "FORCE_COLOR" in os.environ:
        from rich import progress  # takes long to import
        from rich.console import Console

        watcher = Console(stderr=True)
    if watcher is None or not watcher.is_terminal:
        yield lambda share, words=None: None
        return
    parts = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TimeElapsedColumn())
    shown = progress.Progress(*parts, console=watcher, transient=True)
    task = shown.add_task(words, total=None)
    clock = Timer(after, shown.start)
    clock.daemon = True

    def tell(share: float, words: str | None = None) -> None:
        shown.update(task, total=1.0, completed=share)
        if words is not None:
            shown.update(task, description=words)

    clock.start()
    try:
        yield tell
    finally:
        clock.cancel()
        clock.join()  # a start that has begun is over before the bar is taken away
        if shown.live.is_started:
            shown.stop()
