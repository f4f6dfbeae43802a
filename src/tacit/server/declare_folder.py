"""A folder of files that are added while the service runs, policies or surveys: whether something is new there."""

from pathlib import Path
from time import time_ns

from tacit.server.opened import stamp_of

__all__ = ["Folder"]

SETTLED = 2_000_000_000  # ns after which a folder's time differs from that of any later change


class Folder:
    """Remembers what was seen. A folder that is not there, or None, has nothing new."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None
        self._broken: dict[Path, tuple[int, ...]] = {}

    def changed(self) -> bool:
        """Whether to look again: asked at each list and for each name that is not known, so it is one `stat`."""
        if self.path is None:
            return False
        stamp = stamp_of(self.path)
        if not stamp or stamp == self._seen:
            return self._mended()
        # two changes within one tick of the clock have one time: what was seen counts once that tick is over
        self._seen = stamp if time_ns() - stamp[0] > SETTLED else None
        return True

    def _mended(self) -> bool:
        return any(stamp_of(path) != stamp for path, stamp in list(self._broken.items()))

    def files(self) -> list[Path]:
        """The files in it, without those that are still as broken as they were."""
        if self.path is None or not self.path.is_dir():
            return []
        found = sorted(path for path in self.path.glob("*.toml") if not path.name.startswith("."))
        self._broken = {path: stamp for path, stamp in self._broken.items() if path in found}
        return [path for path in found if self._broken.get(path) != stamp_of(path)]

    def broken(self, path: Path) -> None:
        """Do not offer this one again until it changes."""
        self._broken[path] = stamp_of(path)
