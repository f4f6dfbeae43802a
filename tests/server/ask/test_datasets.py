"""The datasets behind every door: what each person may know, rules that change, stops and padding."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.seats import all_taken
from support.service import COUNT, asked, clinic
from tacit.base import Denied, InputError, OverBudget
from tacit.engine import Watch
from tacit.engine.duckdb import DuckDBEngine, _Instance
from tacit.policy.account import analyst_holder
from tacit.server.ask.datasets import Cancelled, Datasets, NoDataset
from tacit.server.auth.people import Identity
from tacit.server.db import Unavailable

ANA, BEN, ZOE = (Identity(name, "analyst") for name in ("ana", "ben", "zoe"))
CORA, OTTO = Identity("cora", "curator"), Identity("otto", "auditor")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return clinic(tmp_path)


@pytest.fixture
def datasets(policy: Path) -> Iterator[Datasets]:
    found = Datasets([policy])
    yield found
    found.close()


def changed(policy: Path, old: str, new: str) -> None:
    text = policy.read_text()
    assert old in text
    policy.write_text(text.replace(old, new))


def spent(datasets: Datasets, who: Identity) -> int:
    balance = datasets.budget(who, "clinic").balance(analyst_holder(who.name))
    return 0 if balance is None else balance.spent.spend


def test_who_may_know_of_a_dataset(datasets: Datasets) -> None:
    assert [datasets.names(who) for who in (ANA, BEN, CORA, OTTO)] == [["clinic"]] * 4
    assert datasets.names(ZOE) == []
    for call in (datasets.policy, datasets.budget, datasets.left):
        with pytest.raises(NoDataset):
            call(ZOE, "clinic")
        with pytest.raises(NoDataset):
            call(ANA, "nowhere")


def test_only_declared_facts_and_ones_own_are_told(datasets: Datasets, policy: Path) -> None:
    whole, mine = datasets.policy(CORA, "clinic"), datasets.policy(BEN, "clinic")
    assert set(whole.tables) == {"visits", "staff"}
    assert set(mine.tables) == {"visits"}
    assert set(mine.analysts) == {"ben"}
    assert "code" not in whole.tables["staff"].columns  # hidden
    for found in (whole, mine):
        assert str(policy.parent) not in repr(found)
        assert "parquet" not in repr(found)
        assert "clinic.ledger" not in repr(found)
        assert found.folder is None


def test_describing_runs_nothing_and_charges_nothing(datasets: Datasets) -> None:
    before = datasets.budget(CORA, "clinic").seq
    asked = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"
    assert datasets.columns(ANA, "clinic", asked) == [("ward", "text"), ("n", "integer"), ("c", "number")]
    assert datasets.question(ANA, "clinic", asked, epsilon=1).quote().enough
    assert datasets.budget(CORA, "clinic").seq == before


def test_a_list_is_described_as_one(datasets: Datasets) -> None:
    sql = "SELECT HISTOGRAM(ward) AS h, TOP_K(ward, 2) AS t, MODE(ward) AS m FROM visits"
    described = datasets.columns(ANA, "clinic", sql)
    assert described == [("h", "integer[]"), ("t", "text[]"), ("m", "text")]
    assert datasets.question(ANA, "clinic", sql, epsilon=0.5).quote().columns == tuple(described)
    answer = asked(datasets, ANA, "clinic", sql, epsilon=0.5).table
    assert [str(answer.schema.field(name).type) for name in "htm"] == [
        "list<item: int64>",
        "list<item: string>",
        "string",
    ]


def test_a_dataset_that_is_not_there_is_told_in_words_for_every_door(datasets: Datasets) -> None:
    with pytest.raises(NoDataset) as found:
        datasets.policy(ANA, "nowhere")
    assert "/v1" not in str(found.value)


def test_a_budget_shows_what_binds_and_nobody_elses(datasets: Datasets) -> None:
    asked(datasets, ANA, "clinic", COUNT, epsilon=0.5)
    asked(datasets, BEN, "clinic", COUNT, epsilon=0.25)
    mine = datasets.budget(BEN, "clinic")
    assert {balance.holder for balance in mine.balances} == {"dataset", "analyst:ben"}
    assert [b.last for b in mine.balances if b.holder == "dataset"] == [None]
    assert mine.claims == ()
    whole = {balance.holder for balance in datasets.budget(OTTO, "clinic").balances}
    assert {"analyst:ana", "analyst:ben"} <= whole


def test_an_auditor_does_not_ask(datasets: Datasets) -> None:
    with pytest.raises(Denied, match="auditor"):
        datasets.question(OTTO, "clinic", COUNT, epsilon=0.1)
    with pytest.raises(Denied):
        datasets.columns(OTTO, "clinic", COUNT)


def test_a_lowered_limit_binds_the_next_question(datasets: Datasets, policy: Path) -> None:
    asked(datasets, ANA, "clinic", COUNT, epsilon=0.5)
    changed(policy, "[analysts.ana]\nlimit = 2", "[analysts.ana]\nlimit = 0.6")
    assert datasets.left(ANA, "clinic").epsilon == pytest.approx(0.1)
    with pytest.raises(OverBudget):
        asked(datasets, ANA, "clinic", COUNT, epsilon=0.2)


def test_who_is_taken_out_of_the_policy_is_out(datasets: Datasets, policy: Path) -> None:
    changed(policy, "[analysts.ana]", "[analysts.ada]")
    with pytest.raises(NoDataset):
        datasets.question(ANA, "clinic", COUNT, epsilon=0.1).quote()


def test_a_question_that_waited_is_answered_by_the_rules_of_then(datasets: Datasets, policy: Path) -> None:
    waiting = datasets.question(ANA, "clinic", COUNT, epsilon=0.5)
    policy.write_text(policy.read_text().replace("[analysts.ana]\nlimit = 2", "[analysts.ana]\nlimit = 0.1"))
    with pytest.raises(Denied):
        datasets.answer(waiting)
    policy.write_text(policy.read_text().replace("[analysts.ana]", "[analysts.anna]"))
    with pytest.raises(NoDataset):
        datasets.answer(waiting)


def test_rules_that_cannot_be_read_answer_nobody_and_say_no_more(datasets: Datasets, policy: Path) -> None:
    good = policy.read_text()
    policy.write_text("[dataset")
    for who in (ANA, CORA):
        with pytest.raises(Unavailable) as told:
            datasets.question(who, "clinic", COUNT, epsilon=0.1).quote()
        assert str(policy.parent) not in str(told.value)
        assert datasets.names(who) == []
    policy.write_text(good)
    assert datasets.question(ANA, "clinic", COUNT, epsilon=0.1).quote().enough


def test_a_table_that_moved_is_opened_anew_and_the_account_stays(datasets: Datasets, policy: Path) -> None:
    asked(datasets, ANA, "clinic", COUNT, epsilon=0.5)
    moved = policy.parent / "moved.parquet"
    (policy.parent / "visits.parquet").rename(moved)
    changed(policy, "visits.parquet", "moved.parquet")
    found = asked(datasets, ANA, "clinic", COUNT, epsilon=0.25)
    assert found.table.num_rows == 4
    assert spent(datasets, ANA) == 750_000_000_000


def test_two_datasets_of_one_name_are_refused(policy: Path) -> None:
    with pytest.raises(InputError, match="two policies"):
        Datasets([policy, policy])


def test_a_stop_never_stops_somebody_elses_question(datasets: Datasets) -> None:
    """ana's question runs, ben's waits beside it; ben's stop must not reach hers."""
    opened, ana, ben, outcome = datasets._opened["clinic"], Watch(), Watch(), list[str]()
    begun, done = threading.Event(), threading.Event()

    def working(_: object) -> str:
        begun.set()
        done.wait(30)
        return "an answer"

    def waiting() -> None:
        try:
            asked(datasets, BEN, "clinic", COUNT, epsilon=0.1, watch=ben)
        except Cancelled:
            outcome.append("cancelled")

    engine = opened.engine
    assert isinstance(engine, DuckDBEngine)
    found: list[str] = []
    hers = threading.Thread(target=lambda: found.append(engine._seats.run(working, ana)))
    hers.start()
    assert begun.wait(30)
    with all_taken(engine, but=1):
        his = threading.Thread(target=waiting)
        his.start()
        while not spent(datasets, BEN):
            sleep(0.005)
        ben.stop()
        his.join()
    done.set()
    hers.join()
    assert outcome == ["cancelled"]
    assert found == ["an answer"]
    again = asked(datasets, BEN, "clinic", COUNT, epsilon=0.1)
    assert again.table.num_rows == 4
    assert spent(datasets, BEN) == 100_000_000_000


@pytest.mark.parametrize("other", [ANA, BEN], ids=["of one person", "of two"])
def test_new_questions_run_side_by_side(datasets: Datasets, monkeypatch: pytest.MonkeyPatch, other: Identity) -> None:
    both, run = threading.Barrier(2, timeout=60), _Instance.fetch

    def met(instance: _Instance, statement: str) -> Any:
        both.wait()  # is broken if one waits for the other to end
        return run(instance, statement)

    monkeypatch.setattr(_Instance, "fetch", met)
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(asked, datasets, who, "clinic", COUNT, epsilon=e) for who, e in ((ANA, 0.1), (other, 0.2))]
        assert [each.result().cached for each in found] == [False, False]


def test_closing_stops_a_question_and_stores_no_failure(datasets: Datasets, policy: Path) -> None:
    opened, outcome = datasets._opened["clinic"], []

    def waiting() -> None:
        try:
            asked(datasets, BEN, "clinic", COUNT, epsilon=0.1)
        except Cancelled:
            outcome.append("cancelled")

    with all_taken(opened.engine):
        thread = threading.Thread(target=waiting)
        thread.start()
        while not spent(datasets, BEN):
            sleep(0.005)
        closing = threading.Thread(target=datasets.close)
        closing.start()
        while not datasets._closed:
            sleep(0.005)
    thread.join()
    closing.join()
    assert outcome == ["cancelled"]
    fresh = Datasets([policy])
    assert asked(fresh, BEN, "clinic", COUNT, epsilon=0.1).table.num_rows == 4
    assert spent(fresh, BEN) == 100_000_000_000
    fresh.close()
    with pytest.raises(NoDataset):
        asked(datasets, BEN, "clinic", COUNT, epsilon=0.1)


def test_what_is_stopped_before_it_began_is_not_charged(datasets: Datasets) -> None:
    watch = Watch()
    watch.stop()
    with pytest.raises(Cancelled):
        asked(datasets, ANA, "clinic", COUNT, epsilon=0.1, watch=watch)
    assert datasets.left(ANA, "clinic").epsilon == 2


def test_answers_from_the_data_take_whole_steps_of_time(policy: Path) -> None:
    datasets = Datasets([policy], padding=1.0)
    try:
        began = monotonic()
        asked(datasets, ANA, "clinic", COUNT, epsilon=0.1)
        assert monotonic() - began >= 1.0
        watch = Watch()
        assert asked(datasets, ANA, "clinic", COUNT, epsilon=0.1, watch=watch).cached
        assert not watch.ran  # so nothing is rounded
    finally:
        datasets.close()
