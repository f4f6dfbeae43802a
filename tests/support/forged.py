"""A ledger rewritten past its own rules, and what verification says of it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tacit.ledger.chain import digest
from tacit.ledger.verify import VerificationReport

__all__ = ["rewrite", "said"]


def said(report: VerificationReport) -> str:
    return "\n".join(map(str, report.findings))


def rewrite(
    path: Path,
    change: Callable[[int, str], str],
    later: Callable[[int, int], int] = lambda _, time: time,
    *,
    account: int = 2,
) -> None:
    """Forge an account's bodies or times and all hashes after them, as its owner could."""
    raw = sqlite3.connect(path)
    with raw:
        rows = raw.execute(
            "SELECT seq, time, body, digest FROM tacit_entries WHERE account = ? ORDER BY seq", (account,)
        ).fetchall()
        head = rows[0][3]
        for seq, time, body, _ in rows[1:]:
            forged = (later(seq, time), change(seq, body))
            head = digest(head, seq, forged[0], forged[1].encode())
            values = (*forged, head, account, seq)
            raw.execute("UPDATE tacit_entries SET time = ?, body = ?, digest = ? WHERE account = ? AND seq = ?", values)
        raw.execute("UPDATE tacit_accounts SET head = ? WHERE id = ?", (head, account))
    raw.close()
