"""The bare endpoint: FastAPI that does the same ledger writes as a new question, and nothing that makes them safe.

No identity, no plan, no price, no check of a budget, no hashes, no noise. With TACIT_BARE_SQL it also runs that DuckDB
statement, as any service that answers from the data would have to.
"""

import os
import sqlite3
import sys
import threading
from itertools import count
from pathlib import Path

import duckdb
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

__all__: list[str] = []

ENTER = (
    "INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest) VALUES (2,?,'charge',?,?,?,?,?)"
)
SPEND = """UPDATE tacit_balances SET spent_spend = ?, spent_delta = ?, window = ?, window_spend = ?, window_delta = ?
WHERE account = 2 AND holder = ?"""
MOVE = "UPDATE tacit_accounts SET seq = ?, time = ?, head = ? WHERE id = 2"
KEEP = """INSERT INTO tacit_answers (account, seq, scope, program, version, kind, release)
VALUES (2, ?, 'analyst:bare', ?, ?, 'answer', ?)"""
LAY = "INSERT INTO laid VALUES (?, ?)"


class Question(BaseModel):
    """As the service takes it."""

    sql: str
    epsilon: float


def application(folder: Path, body: str, statement: str) -> FastAPI:
    """One endpoint over the ledger in this folder."""
    app, lock, numbers = FastAPI(), threading.Lock(), count(10**6)
    ledger, shelf = (_opened(folder / name, full) for name, full in (("bare.ledger", "FULL"), ("bare.db", "NORMAL")))
    shelf.execute("CREATE TABLE IF NOT EXISTS laid (id TEXT PRIMARY KEY, content BLOB)")
    engine, answer, turn = duckdb.connect(":memory:"), bytes(1500), threading.Lock()

    @app.post("/ask")
    def ask(question: Question) -> dict[str, object]:
        number, text = next(numbers), str(10**9)
        with lock:
            ledger.execute("BEGIN IMMEDIATE")
            ledger.execute(ENTER, (number, number, "bare", f"key {number}", body, bytes(32)))
            for holder in ("dataset", "analyst:bare"):
                ledger.execute(SPEND, (text, "0", 1, text, "0", holder))
            ledger.execute(MOVE, (number, number, bytes(32)))
            ledger.execute("COMMIT")
        rows = None
        if statement:
            with turn:
                rows = engine.sql(statement).to_arrow_table().to_pylist()
        with lock:
            ledger.execute(KEEP, (number, "0" * 64, "0" * 64, answer))
        with lock:
            shelf.execute(LAY, (f"{number}", answer))
        return {"id": number, "rows": len(rows or ()), "intervals": [], "facts": {"sql": question.sql}}

    return app


def _opened(path: Path, synchronous: str) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute(f"PRAGMA synchronous = {synchronous}")
    return raw


if __name__ == "__main__":
    here = Path(sys.argv[1])
    made = application(here, os.environ["TACIT_BARE_BODY"], os.environ.get("TACIT_BARE_SQL", ""))
    uvicorn.run(made, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
