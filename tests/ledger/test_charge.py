"""A charge in PostgreSQL: the same answers as SQLite's, every limit by itself, windows, and races."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.postgres import Server
from support.visitors import (
    ONE,
    PROGRAM,
    UNIT,
    account,
    blocked,
    connect,
    spent,
    terms,
    until,
    verify,
)
from tacit.base import Denied, LedgerError, OutcomeUnknown, OverBudget, Relation, TacitError
from tacit.ledger import Ledger
from tacit.ledger.charge import ChargeEntry, ChargeOrder, charge, remaining_budget
from tacit.ledger.postgres import PostgresStore
from tacit.ledger.queue import QueuedWork
from tacit.ledger.sqlite.file import rows_of
from tacit.ledger.sqlite.store import SqliteStore
from tacit.ledger.store import Page
from tacit.loss import Cost
from tacit.policy.account import Account, Amount, Currency, Limit, analyst_holder, group_holder
from tacit.program import Program


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    with Ledger.open(database) as opened:
        opened.apply(terms())
        yield opened


amounts = st.builds(Amount, st.integers(0, 4).map(lambda n: n * UNIT // 2), st.integers(0, 2))
Asked = tuple[str, Amount, list[tuple[int, int, Amount | None]], bool, int]
orders = st.tuples(
    st.sampled_from(["ann", 'bö"b\\', "{cy}"]),
    amounts.filter(lambda amount: amount.spend > 0),
    st.lists(st.tuples(st.integers(3, 12), st.integers(2, 9), st.none() | amounts), min_size=3, max_size=3),
    st.booleans(),
    st.integers(0, 9),
)


@given(st.lists(orders, min_size=1, max_size=12), st.none() | st.integers(3, 9), amounts)
@settings(max_examples=10)
def test_it_answers_like_sqlite(
    postgres: Server,
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[Asked],
    life: int | None,
    cap: Amount,
) -> None:
    ever = None if life is None else Amount(life * UNIT, 5)
    recorded = (
        Limit(holder="dataset", total=Amount(8 * UNIT, 6)),
        Limit(holder=analyst_holder("ann"), total=Amount(5 * UNIT, 4), each=cap),
    )
    said = terms(limits=recorded, lifetime=ever, period=10**15)
    with postgres.database() as name:
        path = tmp_path_factory.mktemp("sqlite") / "book"
        with Ledger.open(postgres.url(name)) as ours, Ledger.open(path) as other:
            for book in (ours, other):
                book.apply(said)
            for one in asked:
                told = outcome(ours, one)
                assert told == outcome(other, one)
                assert told[-1] or told[0] is not OverBudget
            for book in (ours, other):
                verify(book)
            mine, theirs = ours.standing("visitors"), other.standing("visitors")
            assert mine.balances == theirs.balances
            plain = [[(e.seq, e.kind, strip(e.body, book)) for e in book.log("visitors")] for book in (ours, other)]
            assert plain[0] == plain[1]


@given(st.lists(orders, min_size=2, max_size=12), st.booleans())
@settings(max_examples=20)
def test_orders_together_end_as_one_after_another(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Asked], turned: bool
) -> None:
    folder, said = tmp_path_factory.mktemp("books"), terms(total=6, period=10**9)
    ends = []
    for together in (True, False):
        times = [10**15]
        with Ledger(SqliteStore(folder / str(together), clock=partial(max, times))) as book:
            book.apply(said)
            times.append(times[0] + (2 * 10**9 if turned else 1))
            wanted = [book._order(*ordered(one)) for one in asked]
            parts = [wanted] if together else [[order] for order in wanted]
            answers = [answer for part in parts for answer in book.store.write(partial(at_once, part, times[-1]))]
            told = [one[:2] + one[3:4] if isinstance(one, ChargeEntry) else str(one) for one in answers]
            entries = [(entry.seq, entry.kind, strip(entry.body, book)) for entry in book.log("visitors")]
            ends.append((told, entries, book.standing("visitors").balances))
            verify(book)
    assert ends[0] == ends[1]


def at_once(wanted: list[ChargeOrder], now: int, page: Page) -> list[ChargeEntry | TacitError]:
    raw = page.connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return charge(rows_of(raw), wanted, clock=lambda: now, seen=page.seen, heads=page.heads)


def strip(body: str, book: Ledger) -> str:
    """Without what no two books share: the process, and the random bits behind it."""
    return re.sub(f"{re.escape(book.process)}(:[0-9a-f]{{32}})?", "", body)


def outcome(book: Ledger, asked: Asked) -> tuple[object, ...]:
    """What became of a charge; of one over budget also whether that was foretold."""
    payer, cost, program, key = ordered(asked)
    holders, held, amount = payer.holders, payer.limits, asked[1]
    left, enough = remaining_budget(book.glance("visitors", holders), held, amount)
    try:
        receipt = book.charge(payer, cost, program, key)
    except OverBudget as error:
        return OverBudget, str(error), enough is False
    except TacitError as error:
        return type(error), str(error)
    if not receipt.replayed:
        assert enough
        assert remaining_budget(book.glance("visitors", holders), held, Amount(0))[0] == left
    return receipt.seq, receipt.amount, receipt.replayed


def ordered(asked: Asked) -> tuple[Account, Cost, Program, str]:
    """What a ledger is asked for."""
    who, amount, said, group, key = asked
    holders = ["dataset", *([group_holder("wards")] if group else []), analyst_holder(who)]
    held = tuple(
        Limit(holder=holder, total=Amount(total * UNIT, delta), each=each)
        for holder, (total, delta, each) in zip(holders, said, strict=False)
    )
    cost = amount.cost(Currency.EPSILON, relation=Relation.ADD_REMOVE, unit="row")
    return Account(people="visitors", analyst=who, limits=held), cost, PROGRAM, f"key {key}"


def test_every_limit_binds_by_itself(database: str) -> None:
    """Charges until the one limit that is tight."""
    places = ("recorded dataset", "recorded ann", "carried dataset", "carried ann", "recorded each", "carried each")
    cost = Amount(UNIT, 1).cost(Currency.EPSILON, relation=Relation.ADD_REMOVE, unit="row")
    with Ledger.open(database) as ledger:
        for tight in (*places, "lifetime"):
            for low in (Amount(3 * UNIT, 50), Amount(50 * UNIT, 3)):
                none = Amount(low.spend - 3 * UNIT, 50) if low.delta == 50 else Amount(50 * UNIT, 0)
                most = dict.fromkeys([*places, "lifetime"], Amount(50 * UNIT, 50))
                most[tight] = none if tight.endswith("each") else low
                people = f"{tight} {low.delta}"
                for side in ("recorded", "carried"):
                    held = (
                        Limit(holder="dataset", total=most[f"{side} dataset"]),
                        Limit(holder="analyst:ann", total=most[f"{side} ann"], each=most[f"{side} each"]),
                    )
                    if side == "recorded":
                        ledger.apply(terms(people=people, limits=held, lifetime=most["lifetime"]))
                payer, allowed = Account(people=people, analyst="ann", limits=held), 0 if "each" in tight else 3
                for key in range(allowed):
                    ledger.charge(payer, cost, PROGRAM, str(key))
                with pytest.raises(OverBudget):
                    ledger.charge(payer, cost, PROGRAM, "last")


def test_a_window_that_ended_is_reset_first(database: str) -> None:
    with Ledger.open(database) as ledger:
        ledger.apply(terms(total=2, period=3_600_000_000, lifetime=Amount(3 * UNIT)))
        for key in ("a", "b"):
            ledger.charge(account(total=2), ONE, PROGRAM, key)
        with pytest.raises(OverBudget, match="0 epsilon left now"):
            ledger.charge(account(total=2), ONE, PROGRAM, "c")
        with connect(database) as direct:
            direct.execute("UPDATE tacit_accounts SET window_end = window_end - 4 * period WHERE people <> ''")
            (before,) = direct.execute("SELECT window_end FROM tacit_accounts WHERE people <> ''").fetchone() or (0,)
        receipt = ledger.charge(account(total=2), ONE, PROGRAM, "c")
        standing = ledger.standing("visitors")
        assert isinstance(before, int)
        assert standing.window == 2
        assert standing.window_end == before + 4 * 3_600_000_000
        reset = next(ledger.log("visitors", after=receipt.seq - 2))
        assert (reset.kind, reset.body) == ("reset", '{"kind":"reset","window":2}')
        dataset = standing.balance("dataset")
        assert dataset is not None
        assert (dataset.spent.spend, dataset.window_spent.spend) == (3 * UNIT, UNIT)
        with pytest.raises(OverBudget, match="lifetime"):
            ledger.charge(account(total=2), ONE, PROGRAM, "d")
        verify(ledger)


def test_time_never_goes_back(ledger: Ledger, database: str) -> None:
    first = ledger.charge(account(), ONE, PROGRAM, "a")
    with connect(database) as direct:
        direct.execute("UPDATE tacit_accounts SET time = time + 10000000000 WHERE people <> ''")
    for key in ("b", "c"):
        assert ledger.charge(account(), ONE, PROGRAM, key).time == first.time + 10**10


def test_sealed_and_renamed(ledger: Ledger, database: str) -> None:
    ledger.charge(account(), ONE, PROGRAM, "a")
    with Ledger.open(database) as other:
        other.rename("visitors", "guests")
        with pytest.raises(LedgerError, match="no account"):
            ledger.charge(account(), ONE, PROGRAM, "b")
        other.rename("guests", "visitors")
        other.seal("visitors", "the study is over")
    assert ledger.charge(account(), ONE, PROGRAM, "a").replayed
    with pytest.raises(Denied, match="sealed"):
        ledger.charge(account(), ONE, PROGRAM, "b")
    assert spent(ledger) == 1


# --- races


def test_a_charge_that_waited_sees_what_was_spent_meanwhile(ledger: Ledger, database: str) -> None:
    """The statements after the lock must not use the snapshot from before it."""
    ledger.charge(account(total=2), ONE, PROGRAM, "a")
    with connect(database) as direct, ThreadPoolExecutor() as pool, Ledger.open(database) as other:
        direct.execute("BEGIN")
        direct.execute("SELECT 1 FROM tacit_accounts FOR UPDATE")
        direct.execute("UPDATE tacit_balances SET spent_spend = 2e12, window_spend = 2e12")
        books = {"ann": ledger, "bob": other}
        waiting = [pool.submit(book.charge, account(who, total=2), ONE, PROGRAM, "b") for who, book in books.items()]
        until(lambda: blocked(database) == 2)
        direct.execute("COMMIT")
        for one in waiting:
            with pytest.raises(OverBudget, match="0 epsilon left"):
                one.result()
    assert spent(ledger) == 2


def test_charges_that_wait_together_are_one_transaction(ledger: Ledger, database: str) -> None:
    store = ledger.store
    assert isinstance(store, PostgresStore)
    (number,) = (row.id for row in store.read(lambda page: [page.account("visitors")]))
    with connect(database) as direct, ThreadPoolExecutor(8) as pool:
        direct.execute("BEGIN")
        direct.execute("SELECT 1 FROM tacit_accounts FOR UPDATE")
        first = pool.submit(ledger.charge, account(), ONE, PROGRAM, "first")
        until(lambda: blocked(database) == 1)
        waiting = [pool.submit(ledger.charge, account(f"a{n % 2}"), ONE, PROGRAM, f"key {n // 2}") for n in range(4)]
        again = pool.submit(ledger.charge, account(), ONE, PROGRAM, "first")
        refused = pool.submit(ledger.charge, account("cy", own=0), ONE, PROGRAM, "c")
        until(lambda: len(store._queues[number]._waiting) == 6)
        direct.execute("COMMIT")
        with pytest.raises(OverBudget, match="analyst:cy"):
            refused.result()
        assert again.result().digest == first.result().digest
        assert len({done.result().digest for done in waiting}) == 4
        made = direct.execute("SELECT count(DISTINCT xmin::text), count(*) FROM tacit_entries WHERE kind = 'charge'")
        assert made.fetchone() == (2, 5)
    assert spent(ledger) == 5
    verify(ledger)


def test_an_error_is_told_to_everybody_who_waited(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ledger.store
    assert isinstance(store, PostgresStore)
    asks = [QueuedWork(None, writes=True) for _ in range(2)]
    for problem, told in ((LedgerError("it is locked"), LedgerError), (KeyboardInterrupt(), OutcomeUnknown)):
        monkeypatch.setattr(store, "write", raising(problem))
        with suppress(KeyboardInterrupt):
            store._serve(asks)
        assert [type(ask.error) for ask in asks] == [told, told]
        assert asks[0].error is not asks[1].error


def raising(problem: BaseException) -> Callable[[object], None]:
    def fails(_: object) -> None:
        raise problem

    return fails
