"""What one question may take of the machine: time, memory, temporary disk, and a place among those that run at once.

A question that goes over fails like any other after its charge: with one constant sentence, and nothing is given back.
Whether it went over can depend on the data, so limits belong well above what questions need.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from tacit.base import InputError

__all__ = ["Limits", "size"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST = 32 * MIB  # less, and nothing runs
DISK = 8 * GIB
SIZE = re.compile(r"\s*(\d{1,15})(?:\.(\d))?\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1 << 40}
CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of each question: `seconds` of work, bytes of `memory` and of temporary `disk`; and how many run `at_once`.

    Memory and disk may be left out: then all questions together get half of the machine's memory, and at most a
    quarter of what is free where temporary files go. `shares` is how many engines like this one the machine has.
    """

    seconds: float = 600.0
    memory: int | None = None
    disk: int | None = None
    at_once: int = 1
    shares: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 10**6:
            raise InputError(f"a question's time must be above 0 and at most a million seconds, not {self.seconds:g}")
        if not 1 <= self.at_once <= 1000:
            raise InputError(f"from 1 to 1000 questions can run at once, not {self.at_once}")
        if self.shares < 1:
            raise InputError(f"at least one engine shares the machine, not {self.shares}")
        if self.memory is not None and self.memory < LEAST:
            raise InputError(f"a question's memory must be at least {LEAST // MIB} MB, not {self.memory} bytes")
        if self.disk is not None and self.disk < 0:
            raise InputError(f"a question's temporary disk must be 0 bytes or more, not {self.disk}")

    @property
    def each(self) -> int:
        """How many of one person run at once: half, so that nobody can take every place."""
        return max(1, self.at_once // 2)

    @property
    def threads(self) -> int:
        """The processors that one question gets: two people who ask as much as they may share all of them."""
        return max(1, (os.cpu_count() or 1) // self.each)

    @property
    def bytes_of_memory(self) -> int:
        """The memory of one question."""
        return self.memory if self.memory is not None else max(LEAST, _machine() // 2 // self.at_once // self.shares)

    def bytes_of_disk(self, folder: str | None = None) -> int:
        """The temporary disk of one question, in a folder on the disk that is meant."""
        if self.disk is not None:
            return self.disk
        return min(DISK, shutil.disk_usage(folder or gettempdir()).free // 4 // self.at_once // self.shares)


def size(text: str | int, what: str) -> int:
    """A number of bytes as people write it: 500MB, 2GB, 1.5 GiB; a thousand is 1024 here."""
    found = None if isinstance(text, bool) else SIZE.fullmatch(str(text))
    if found is None:
        raise InputError(f"{what} is a size, such as 500MB or 2GB, not {text!r}")
    whole, tenth, unit = found.groups()
    return (int(whole) * 10 + int(tenth or 0)) * UNITS[unit.lower()] // 10


def _machine() -> int:
    """The memory of this machine, or of the container that we are in."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    for file in CGROUP:
        try:
            found.append(int(file.read_text()))
        except (OSError, ValueError):
            continue  # there is none, or it says "max"
    return min(found, default=4 * GIB)
