"""A ledger rewritten past its own rules, and what verification says of it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tacit.ledger.entry import digest
from tacit.ledger.verify import Report

__all__ = ["rewrite", "said"]


def said(report: Report) -> str:
    return "\n".join(map(str, report.findings))


def rewrite(
    path: Path, change: Callable[[int, str], str], later: Callable[[int, int], int] = lambda _, time: time
) -> None:
    """Forge an account's bodies or times and all hashes after them, as its owner could."""
    raw = sqlite3.connect(path)
    with raw:
        rows = raw.execute(
            "SELECT seq, time, body, digest FROM tacit_entries WHERE account = 2 ORDER BY seq"
        ).fetchall()
        head = rows[0][3]
        for seq, time, body, _ in rows[1:]:
            forged = (later(seq, time), change(seq, body))
            head = digest(head, seq, forged[0], forged[1].encode())
            values = (*forged, head, seq)
            raw.execute("UPDATE tacit_entries SET time = ?, body = ?, digest = ? WHERE account = 2 AND seq = ?", values)
        raw.execute("UPDATE tacit_accounts SET head = ? WHERE id = 2", (head,))
    raw.close()
