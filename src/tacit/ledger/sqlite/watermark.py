"""How far the book had come: a small file beside it, against copies that were cut short or put back.

A database can lose its newest entries and still be well-formed: a torn log, a truncated file, yesterday's copy. So
after each commit the newest entry of the account is noted here as well. The note is not forced to the disk, so it may
lag behind the book after a power cut; it never runs ahead of it.

One record of 64 bytes per account, at 64 × its number: number, seq, digest, checksum. The first one names the ledger.
"""

import os
import struct
from hashlib import sha256
from pathlib import Path

from tacit.base import CorruptLedger
from tacit.base.private_file import FILE, open_private

__all__ = ["ADVICE", "Watermark"]

SIZE = 64
RECORD = struct.Struct(">QQ32s")
MAGIC = b"tacit mark 1\0"


def _sealed(content: bytes) -> bytes:
    return content + sha256(content).digest()[:16]


def _header(ledger: str) -> bytes:
    return _sealed(RECORD.pack(0, 0, sha256(MAGIC + ledger.encode()).digest()))


class Watermark:
    """The notes of one ledger. Written and read only by whoever holds the ledger's turnstile."""

    def __init__(self, path: Path, *, mode: int = FILE) -> None:
        self.path = path
        self._file = open_private(path, os.O_RDWR, mode=mode)

    @property
    def empty(self) -> bool:
        return os.fstat(self._file).st_size == 0

    def read(self, ledger: str) -> dict[int, tuple[int, bytes]]:
        """The newest entry known of each account, by number; damaged notes, or another ledger's, are an error."""
        data = b""
        while part := os.pread(self._file, 1 << 20, len(data)):
            data += part
        if data[:SIZE] != _header(ledger):
            raise CorruptLedger(f"{self.path} is missing or of another ledger. {ADVICE}")
        found = {}
        for start in range(SIZE, len(data), SIZE):
            record = data[start : start + SIZE]
            if not any(record):
                continue  # an account whose first note was not written before a crash
            number, seq, digest = RECORD.unpack_from(record.ljust(SIZE, b"\0"))
            if record != _sealed(record[: RECORD.size]) or number * SIZE != start:
                raise CorruptLedger(f"{self.path} is damaged. {ADVICE}")
            found[number] = (seq, digest)
        return found

    def write(self, number: int, seq: int, digest: bytes) -> None:
        """Note an entry that was committed. A failure only lets the note lag."""
        content = RECORD.pack(number, seq, digest)
        os.pwrite(self._file, content + sha256(content).digest()[:16], number * SIZE)

    def rewrite(self, ledger: str, heads: dict[int, tuple[int, bytes]]) -> None:
        """Begin anew with these entries, durably."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _header(ledger), 0)
        for number, (seq, digest) in heads.items():
            self.write(number, seq, digest)
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


ADVICE = (
    "Entries may have been lost, and with them privacy that was spent. Put the newest copy of the ledger back, with "
    "the files beside it. If this copy is meant to be used: `tacit ledger adopt`, which records that it was"
)
