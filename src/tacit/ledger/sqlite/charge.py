"""One charge inside a SQLite transaction: one statement reads all that matters, then checks, then writes."""

import sqlite3
from functools import cache

from tacit.base import Denied
from tacit.ledger.chain import digest
from tacit.ledger.page import lost
from tacit.ledger.store import Charged, Moved, Order, over, reset_body
from tacit.policy.account import DATASET, Amount

__all__ = ["charge"]

Heads = dict[int, tuple[int, bytes]]


@cache
def _question(holders: int) -> str:
    marks = ",".join("?" * holders)
    return f"""
SELECT a.people, a.sealed, a.seq, a.time, a.head, a.period, a.window, a.window_end, a.lifetime_spend, a.lifetime_delta,
    e.seq, b.holder, b.limit_spend, b.limit_delta, b.each_spend, b.each_delta, b.spent_spend, b.spent_delta,
    b.window, b.window_spend, b.window_delta
FROM tacit_accounts a
LEFT JOIN tacit_entries e ON e.account = a.id AND e.analyst = ? AND e.key = ?
LEFT JOIN tacit_balances b ON b.account = a.id AND b.holder IN ({marks})
WHERE a.id = ?"""


STORED = "SELECT seq, time, digest, body FROM tacit_entries WHERE account = ? AND seq = ?"
DIGEST = "SELECT digest FROM tacit_entries WHERE account = ? AND seq = ?"
ENTER = (
    "INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
FIRST = "INSERT INTO tacit_balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SPEND = """UPDATE tacit_balances SET spent_spend = ?, spent_delta = ?, window = ?, window_spend = ?, window_delta = ?
WHERE account = ? AND holder = ?"""
MOVE = "UPDATE tacit_accounts SET seq = ?, time = ?, head = ?, window = ?, window_end = ? WHERE id = ?"


def charge(raw: sqlite3.Connection, order: Order, now: int, known: Heads, heads: Heads) -> Charged:
    """Follow the steps of `store.py`. Refusals come before the first write. `heads` learns of the new entry."""
    number, amount = order.account, order.amount
    holders = [limit.holder for limit in order.limits]
    rows = raw.execute(_question(len(holders)), (order.analyst, order.key, *holders, number)).fetchall()
    if not rows or rows[0][0] != order.people:
        raise Moved(f'this ledger has no account for "{order.people}": apply its policy first')
    _, sealed, seq, last, head, period, window, window_end, life_spend, life_delta, old = rows[0][:11]
    at, mark = heads.get(number) or known.get(number) or (0, b"")
    if at and (head if seq == at else _digest(raw, number, at) if seq > at else None) != mark:
        raise lost(order.people)
    if old is not None:
        return Charged(*_stored(raw, number, old))
    if sealed:
        raise Denied(f'the account of "{order.people}" is sealed: nothing can be charged to it any more')
    time = now if now > last else last
    lines: list[tuple[str, str, str | None, str | None]] = []
    if window_end is not None and time >= window_end:
        window += 1
        window_end += period * ((time - window_end) // period + 1)
        lines.append(("reset", reset_body(window), None, None))
    found = {row[11]: row[12:] for row in rows}
    firsts, spends = [], []
    for limit in order.limits:
        top, each = limit.total, limit.each
        most_spend, most_delta = top.spend, top.delta
        spent_spend = spent_delta = in_spend = in_delta = 0
        balance = found.get(limit.holder)
        if balance is not None:
            most_spend, most_delta = min(most_spend, int(balance[0])), min(most_delta, int(balance[1]))
            if balance[2] is not None:
                cap = Amount(int(balance[2]), int(balance[3]))
                each = cap if each is None else Amount(min(each.spend, cap.spend), min(each.delta, cap.delta))
            spent_spend, spent_delta = int(balance[4]), int(balance[5])
            if balance[6] == window:
                in_spend, in_delta = int(balance[7]), int(balance[8])
        if each is not None and not amount.fits(each):
            raise over(order, limit.holder, which="each", left=each)
        if in_spend + amount.spend > most_spend or in_delta + amount.delta > most_delta:
            left = Amount(max(0, most_spend - in_spend), max(0, most_delta - in_delta))
            raise over(order, limit.holder, which="total", left=left)
        if limit.holder == DATASET and life_spend is not None:
            lifetime = Amount(int(life_spend), int(life_delta))
            spent = Amount(spent_spend, spent_delta)
            if not (spent + amount).fits(lifetime):
                raise over(order, DATASET, which="lifetime", left=spent.left(lifetime))
        totals = (str(spent_spend + amount.spend), str(spent_delta + amount.delta), window)
        inside = (str(in_spend + amount.spend), str(in_delta + amount.delta))
        if balance is None:
            lines.append(("limit", order.limit_body(limit), None, None))
            own = (None, None) if limit.each is None else (str(limit.each.spend), str(limit.each.delta))
            firsts.append((number, limit.holder, str(top.spend), str(top.delta), *own, *totals, *inside))
        else:
            spends.append((*totals, *inside, number, limit.holder))
    lines.append(("charge", order.body, order.analyst, order.key))
    for kind, body, analyst, key in lines:
        seq += 1
        head = digest(head, seq, time, body.encode())
        raw.execute(ENTER, (number, seq, kind, time, analyst, key, body, head))
    for values in firsts:
        raw.execute(FIRST, values)
    for values in spends:
        raw.execute(SPEND, values)
    raw.execute(MOVE, (seq, time, head, window, window_end, number))
    heads[number] = (seq, head)
    return Charged(seq, time, head, False, order.body)


def _digest(raw: sqlite3.Connection, account: int, seq: int) -> bytes | None:
    found = raw.execute(DIGEST, (account, seq)).fetchone()
    return None if found is None else bytes(found[0])


def _stored(raw: sqlite3.Connection, account: int, seq: int) -> tuple[int, int, bytes, bool, str]:
    seq, time, mark, body = raw.execute(STORED, (account, seq)).fetchone()
    return seq, time, mark, True, body
