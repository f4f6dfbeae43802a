"""The rules of the ledger, written a second time: what could not have been written is found, what was is not."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.books import account, amount, cost, limit, opened, program, terms
from support.forged import rewrite, said
from tacit.base import OverBudget
from tacit.ledger.replay import ChargeRecord, read_charge
from tacit.ledger.verify import verify
from tacit.policy.account import analyst_holder

DAY = 86_400_000_000


def test_reading_a_charge_reads_what_json_reads() -> None:
    body = (
        '{"analyst":"a\\"b","delta":"7","holders":["dataset","x]\\\\"],"key":"k","kind":"charge","policy":"p",'
        '"process":"q","program":{"a":{"spend":"1"},"z":",\\"spend\\":\\"9\\"}"},"spend":"12"}'
    )
    charge = read_charge(body)
    assert charge == ChargeRecord(
        'a"b', "k", ("dataset", "x]\\"), 12, 7, '{"a":{"spend":"1"},"z":",\\"spend\\":\\"9\\"}"}'
    )
    for broken in (body[:-1], body.replace('"12"', '"-12"'), body.replace("charge", "void"), "{}", " " + body):
        with pytest.raises(ValueError, match="is not a charge"):
            read_charge(broken)


FORGED: dict[str, tuple[Callable[[int, str], str], Callable[[int, int], int]]] = {
    "entry 6: is dated before the entry above it": (
        lambda _, body: body,
        lambda seq, time: time - 10 * DAY * (seq == 6),
    ),
    "opened window 3 after window 1": (lambda _, body: body.replace('"window":2', '"window":3'), lambda _, time: time),
    "opened a window before the one before it had ended": (
        lambda _, body: body,
        lambda seq, time: time - DAY * (seq >= 5),
    ),
    "after its window had ended, without the entry": (lambda _, body: body, lambda seq, time: time + DAY * (seq >= 6)),
    "says another limit of dataset before it": (
        lambda seq, body: body.replace('"before":{"each":null', '"before":{"each":{"delta":"0","spend":"1"}'),
        lambda _, time: time,
    ),
    "takes back entry 2, which is no charge": (
        lambda _, body: body.replace('{"charge":6,"kind":"void"}', '{"charge":2,"kind":"void"}'),
        lambda _, time: time,
    ),
    "is of a kind that this release does not know": (
        lambda _, body: body.replace('{"charge":6,"kind":"void"}', '{"charge":6,"kind":"gift"}'),
        lambda _, time: time,
    ),
    "was not charged to both the dataset and its analyst": (
        lambda _, body: body.replace('"holders":["dataset",', '"holders":['),
        lambda _, time: time,
    ),
    "was charged to dataset2, which had no limit": (
        lambda _, body: body.replace('"holders":["dataset",', '"holders":["dataset2","dataset",'),
        lambda _, time: time,
    ),
    "cost more than analyst:alice allowed for one program": (
        lambda _, body: body.replace('"spend":"4000000000000"', '"spend":"6000000000000"'),
        lambda _, time: time,
    ),
}


@pytest.mark.parametrize("expected", FORGED)
def test_forged_rules_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: str) -> None:
    """Every hash is right here; what was written could not have been written by the ledger."""
    now = 10**15
    monkeypatch.setattr("tacit.ledger.sqlite.store.time_ns", lambda: now * 1000)
    path = tmp_path / "a.ledger"
    declared = terms(period=DAY, limits=(limit(analyst_holder("alice"), 50, each=5),))
    with opened(path, declared) as ledger:
        ledger.charge(account(), cost(4), program(), "1")  # entry 4
        now += DAY
        kept = ledger.charge(account(), cost(4), program(), "2")  # entries 5, a reset, and 6
        ledger.void(kept)
        ledger.apply(terms(total=90, period=DAY, limits=(limit(analyst_holder("alice"), 50, each=5),)))
    assert said(verify(path)) == ""
    rewrite(path, *FORGED[expected])
    found = said(verify(path))
    assert expected in found, found
    assert "was altered" not in found


STEPS = st.one_of(
    st.tuples(st.just("charge"), st.sampled_from(["alice", "bob", "eve"]), st.integers(0, 30)),
    st.tuples(st.just("void"), st.integers(0, 5)),
    st.tuples(st.just("wait"), st.sampled_from([-3 * DAY, 1, DAY // 2, DAY, 5 * DAY])),
    st.tuples(
        st.just("apply"),
        st.sampled_from([40, 60, 100]),
        st.sampled_from([None, DAY, 2 * DAY]),
        st.sampled_from([None, 90, 300]),
    ),
)


@given(steps=st.lists(STEPS, max_size=25))
def test_whatever_the_ledger_allowed_is_played_again_to_the_same_balances(steps: list[tuple[Any, ...]]) -> None:
    """The rules are written twice; here they meet."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        clock = [10**15]
        patch.setattr("tacit.ledger.sqlite.store.time_ns", lambda: clock[0] * 1000)
        with opened(Path(folder) / "a.ledger", terms(total=60)) as ledger:
            mine = []
            for number, step in enumerate(steps):
                if step[0] == "wait":
                    clock[0] += step[1]
                elif step[0] == "apply":
                    ever = None if step[3] is None or step[2] is None else amount(step[3])
                    ledger.apply(terms(total=step[1], period=step[2], lifetime=ever))
                elif step[0] == "charge":
                    with suppress(OverBudget):
                        mine.append(ledger.charge(account(step[1]), cost(step[2]), program(), f"{number}"))
                elif mine:
                    ledger.void(mine.pop(-1 - step[1] % len(mine)))
        assert said(verify(Path(folder) / "a.ledger")) == ""
