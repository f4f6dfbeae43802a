"""Where a stream is. A tick is two commits, each on disk.

The first holds whose events the tick has, the second its noisy number: noise is drawn between them, and shown after. So
a process that dies leaves either no tick, or one whose data are fixed and whose noise nobody saw; that one is finished
before any other. The file holds true counts and who was seen when: it is private.
"""

from collections.abc import Iterable
from hashlib import blake2b

from tacit.base import LedgerError
from tacit.learn.private_book import PrivateBook

__all__ = ["StreamState"]


class StreamState(PrivateBook):
    """One stream's file."""

    tables = """
CREATE TABLE ticks (step INTEGER PRIMARY KEY, true INTEGER NOT NULL, noisy TEXT);
CREATE TABLE seen (unit BLOB PRIMARY KEY, last INTEGER NOT NULL, turns INTEGER NOT NULL) WITHOUT ROWID;
"""

    def commit(self, step: int, units: Iterable[str], *, times: int, separation: int) -> int:
        """Fix whose events tick `step` has: each unit once, at most `times` in all, at least `separation` ticks apart.
        On disk when this returns; how many there are."""
        taken = 0
        with self.book:
            for unit in set(units):
                name = blake2b(unit.encode(), key=self.salt, digest_size=16).digest()
                row = self.book.execute("SELECT last, turns FROM seen WHERE unit = ?", (name,)).fetchone()
                if row is not None and (row[1] >= times or step - row[0] < separation):
                    continue  # more than was declared: it does not count, and nobody is told
                turns = 1 if row is None else row[1] + 1
                self.book.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (name, step, turns))
                taken += 1
            self.book.execute("INSERT INTO ticks VALUES (?, ?, NULL)", (step, taken))
        return taken

    def release(self, step: int, noisy: int) -> None:
        """Keep the noisy number of a tick that has none. On disk when this returns, and only then may it be shown."""
        with self.book:
            changed = self.book.execute(
                "UPDATE ticks SET noisy = ? WHERE step = ? AND noisy IS NULL", (str(noisy), step)
            )
            if changed.rowcount != 1:
                raise LedgerError(f"tick {step} of this stream was released before")

    def true_counts(self) -> list[int]:
        """Private."""
        return [row[0] for row in self.book.execute("SELECT true FROM ticks ORDER BY step")]

    def released(self) -> list[int]:
        """The noisy numbers so far, in order."""
        rows = self.book.execute("SELECT noisy FROM ticks WHERE noisy IS NOT NULL ORDER BY step")
        return [int(row[0]) for row in rows]
