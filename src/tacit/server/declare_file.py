"""Policy and survey files, changed so that nobody ever reads half of one.

A new file appears whole or not at all, and never in the place of another. A file that is changed is replaced in one
step, under a lock that every worker on this machine honours, and only if the text that was read is still there.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from tacit.base import InputError
from tacit.server.problem import Problem
from tacit.server.tokens import short_name

__all__ = ["create", "file_name", "locked", "replace_text", "trial"]


def file_name(dataset: str) -> str:
    """The file of a dataset: its name where that is plain, else a hash of it."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", dataset)
    return f"{dataset if plain else 'dataset-' + sha256(dataset.encode()).hexdigest()[:16]}.toml"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time changes the policies in a folder."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)  # and with it the lock


@contextmanager
def trial(folder: Path, text: str) -> Iterator[Path]:
    """The text in a file of no lasting name, on disk, in the folder it is meant for; gone afterwards."""
    path = folder / f".{short_name()}.trial"
    try:
        _write(path, text)
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(place, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"the file cannot be written to its folder: {error.strerror}") from None


def create(tried: Path, path: Path) -> None:
    """Give a tried file its name; an error if something of that name is there."""
    try:
        os.link(tried, path)
    except FileExistsError:
        raise Problem(409, "file-exists", "There is such a file", f"{path.name} exists already") from None
    _settle(path.parent)


def replace_text(path: Path, tried: Path, *, before: str) -> None:
    """Put a tried file in the place of the policy that says `before`; whoever may read it stays the same."""
    found = path.stat()
    if path.read_text(encoding="utf-8-sig") != before:
        raise Problem(
            409, "policy-changed", "Somebody else changed it", "the policy is another now: look, and try again"
        )
    tried.chmod(found.st_mode & 0o777)
    with suppress(OSError):
        os.chown(tried, found.st_uid, found.st_gid)  # as far as we may
    os.replace(tried, path.resolve())  # a link stays one  # noqa: PTH105 - says what it does
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """A name is on the disk only when its folder is."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
