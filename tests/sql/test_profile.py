"""The profile of a table: what it costs, who pays, what it changes in a question, and when it stops to cover."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import Denied, OverBudget, PolicyError
from tacit.base.exact import opened
from tacit.policy.decide import CURATOR
from tacit.session import Session
from tacit.sql.profile import profile_of

POLICY = """
[dataset]
name = "shop"
[privacy]
unit = "buyer"
currency = "{currency}"
budget = {budget}
delta = 1e-6
relation = "{relation}"
[tables.sales]
source = "sales.parquet"
unit_column = "buyer"
profile = {price}
[tables.sales.columns.price]
type = "integer"
bounds = [0, 100]
nullable = false
[tables.sales.columns.change]
type = "integer"
bounds = [-100, 100]
nullable = false
[tables.sales.columns.shop]
type = "text"
group_keys = ["a", "b"]
nullable = false
[analysts.ana]
"""
PEOPLE = 4000


def sales(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    buyer = np.repeat(np.arange(PEOPLE), rng.integers(1, 10, PEOPLE))
    price = rng.integers(0, 101, len(buyer))
    return pa.table({"buyer": buyer, "price": price, "change": price - 50, "shop": np.where(price % 2, "a", "b")})


def declared(folder: Path, **said: Any) -> Path:
    pq.write_table(sales(), folder / "sales.parquet")
    path = folder / "tacit.toml"
    path.write_text(POLICY.format(**{"currency": "rho", "relation": "add_remove", "price": 0.1, "budget": 10, **said}))
    return path


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(declared(tmp_path), "ana") as found:
        yield found


@pytest.mark.parametrize("currency", ["epsilon", "rho", "mu_squared"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_it_costs_what_was_declared_and_not_a_bit_less_noise(tmp_path: Path, currency: str, relation: str) -> None:
    with Session(declared(tmp_path, currency=currency, relation=relation, price=0.1), "ana") as session:
        job = session.profile_job("sales")
        spent = getattr(job.program.cost, currency)
    assert Fraction(99, 1000) < spent <= Fraction(1, 10)
    moved = 1 if relation == "add_remove" else 2
    for step in job.program.steps:
        if currency == "epsilon":
            assert step.mechanism.scale == 3 * moved * 10  # type: ignore[union-attr]  # a discrete Laplace
            assert step.sensitivity.l1 == moved  # type: ignore[union-attr]
        else:
            assert currency == "mu_squared" or step.mechanism.sigma**2 >= Fraction(3 * moved * 10, 2)  # type: ignore[union-attr]
            assert step.sensitivity.l2**2 >= moved  # type: ignore[union-attr, operator]


def test_a_unit_is_in_one_bin_of_each_histogram(session: Session, tmp_path: Path) -> None:
    """On the statement that ships: without one unit one count is less by one, and none changes otherwise."""
    job, found = session.profile_job("sales"), []
    for table in (sales(), sales().filter(pa.compute.field("buyer") != 17)):
        pq.write_table(table, tmp_path / "sales.parquet")
        with Session(tmp_path / "tacit.toml", "ana") as one:
            counts = [opened(one.engine.norms(each.bounded, {0: each.edges}, None))[0] for each in job._sizes]
        found.append(np.array([np.asarray(count) for count in counts], dtype=object))
    assert len(found[0]) == 3
    for whole, less in zip(*found, strict=True):
        moved = np.asarray(whole) - np.asarray(less)
        assert sorted(moved.tolist())[-1] == 1
        assert np.abs(moved).sum() == 1
        assert np.asarray(whole).sum() == PEOPLE


def test_the_dataset_pays_once_and_nobody_asks_under_its_name(session: Session) -> None:
    before = session.left().rho or 0
    first = session.profile("sales")
    again = session.profile("sales")
    assert (first.cached, again.cached) == (False, True)
    assert session.left().rho == before - Fraction(first.facts["cost"]["rho"])
    assert first.facts["analyst"] == CURATOR
    assert profile_of(first).rows.counts == profile_of(again).rows.counts
    curator = Session(session.policy, CURATOR, ledger=session.ledger, engine=session.engine)
    with pytest.raises(Denied, match="is the dataset itself"):
        curator.ask("SELECT COUNT(*) FROM sales", rho=0.1)
    with pytest.raises(PolicyError, match="there is no table"):
        session.profile("visits")


def test_a_profile_beyond_the_budget_is_refused(tmp_path: Path) -> None:
    with Session(declared(tmp_path, budget=0.11), "ana") as session:
        session.ask("SELECT COUNT(*) FROM sales", rho=0.02)
        with pytest.raises(OverBudget):
            session.profile("sales")


COUNT, SUM = "SELECT COUNT(*) AS n FROM sales", "SELECT SUM(price) AS s FROM sales"


def test_clips_follow_from_it_and_intervals_cover_the_truth(session: Session) -> None:
    assert any(task.kind == "choose" for task, _ in session.job(COUNT, rho=0.1).priced.steps)
    (hint,) = [hint for hint in session.quote(COUNT, rho=0.1).hints if hint.kind == "profile"]
    assert hint.data["declared"]
    assert session.ask(COUNT, rho=0.05).covers("n").of == "least"
    with drawing_from(FixedRng(5)):
        session.profile("sales")
        assert [task.kind for task, _ in session.job(COUNT, rho=0.1).priced.steps] == ["noise"]
        assert not session.quote(COUNT, rho=0.1).hints
        count, total = session.ask(COUNT, rho=0.1), session.ask(SUM, rho=0.1)
    for answer, name, truth in (count, "n", sales().num_rows), (total, "s", pa.compute.sum(sales()["price"]).as_py()):
        low, high = answer.interval(name)
        assert low is not None
        assert high is not None
        covers = answer.covers(name)
        assert low <= truth <= high
        assert (covers.of, covers.grouped) == ("truth", False)
        assert covers.missing is not None
        assert covers.noise is not None
        assert (high - low) / 2 < 2 * covers.noise
        assert "noise" not in answer.cells()[0][0]
        assert any("the interval covers the truth" in note or "takes next to nothing" in note for note in answer.notes)


def test_sums_of_either_sign_and_some_rows_have_wider_ranges(session: Session) -> None:
    session.profile("sales")
    mixed = session.ask("SELECT SUM(change) AS s FROM sales", rho=0.1).covers("s")
    assert mixed.of == "truth"
    assert mixed.missing is not None
    assert mixed.missing[0] == -mixed.missing[1]
    some = session.ask("SELECT COUNT(*) AS n FROM sales WHERE price > 50", rho=0.1).covers("n")
    assert some.missing is not None
    assert some.missing[0] == 0


def test_groups_are_told_together(session: Session) -> None:
    session.profile("sales")
    answer = session.ask("SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop", rho=0.1)
    covers = answer.covers("n")
    assert (covers.of, covers.grouped) == ("least", True)
    assert covers.missing is not None
    assert covers.missing[0] == 0
    assert any("from all groups together" in note for note in answer.notes)
    assert not any("tacit profile" in note for note in answer.notes)
    assert all(cell[1].endswith("noise") for cell in answer.cells())


def test_what_it_does_not_know_keeps_its_own_choice(session: Session) -> None:
    session.profile("sales")
    by_buyer = "SELECT AVG(n) AS a FROM (SELECT buyer, CLAMP(COUNT(*), 0, 20) AS n FROM sales GROUP BY buyer)"
    assert session.ask("SELECT AVG(price) AS a FROM sales", rho=0.1).covers("a").of == "noise"
    assert session.ask(by_buyer, rho=0.1).covers("a").missing is None


def test_of_older_data_it_chooses_clips_and_covers_nothing(tmp_path: Path) -> None:
    path = declared(tmp_path)
    with Session(path, "ana") as session:
        session.profile("sales")
    pq.write_table(sales(seed=2), tmp_path / "sales.parquet")
    with Session(path, "ana") as session:
        job = session.job(COUNT, rho=0.1)
        answer = session.spend(job)
        assert [task.kind for task, _ in job.priced.steps] == ["noise"]
        assert answer.covers("n").of == "least"
        assert answer.covers("n").missing is None
        session.profile("sales")
        assert session.ask("SELECT COUNT(*) AS n FROM sales WHERE price > 1", rho=0.1).covers("n").of == "truth"


def test_what_was_covered_is_kept_with_the_answer(session: Session) -> None:
    session.profile("sales")
    first = session.ask(COUNT, rho=0.1)
    again = session.ask(COUNT, rho=0.1, confidence=0.5)
    assert again.cached
    assert again.covers("n").of == "truth"
    assert type(first).from_bytes(first.to_bytes()) == first
    told = first.certificate(ledger=session.ledger).content["utility"]["intervals"][0]
    assert told["covers"]["of"] == "truth"
