"""A bar on standard error for what takes longer than a moment, if there is somebody to see it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["Told", "bar"]

Told = Callable[[float, str | None], None]
PATIENCE = 2.0  # seconds after which somebody wonders


@contextmanager
def bar(words: str, *, after: float = PATIENCE) -> Iterator[Told]:
    """What is yielded takes the share done, and words if they change; the bar appears after so many seconds."""
    watcher = Console(stderr=True)
    if not watcher.is_terminal:
        yield lambda share, words: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=watcher, transient=True)
    task = shown.add_task(words, total=None)  # moves to and fro until a share is known
    clock = Timer(after, shown.start)
    clock.daemon = True

    def told(share: float, words: str | None = None) -> None:
        shown.update(task, total=1.0, completed=share)
        if words is not None:
            shown.update(task, description=words)

    clock.start()
    try:
        yield told
    finally:
        clock.cancel()
        clock.join()  # a start that has begun is over before the bar is taken away
        if shown.live.is_started:
            shown.stop()
