"""Noise is added for the receipt of the same program, and for nothing else; large answers take no loop over groups."""

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import hospital
from tacit.base import Exact, InputError
from tacit.base.exact import opened
from tacit.engine.result import Result, ResultTable
from tacit.ledger import Receipt
from tacit.plan.price import Priced
from tacit.session import Session
from tacit.sql.assemble import assemble
from tacit.sql.estimate import Noisy
from tacit.sql.groups import Groups
from tacit.sql.noise import Released, StoredAnswer, choose_bound, release

BY_WARD = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, VARIANCE(cost) AS v, SUM(cost) / COUNT(*) AS r "
    "FROM visits GROUP BY ward"
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(hospital(tmp_path), "ana") as opened:
        yield opened


def paid(session: Session, sql: str, key: str = "k", **offer: Any) -> tuple[Priced, Receipt]:
    priced = session.job(sql, **(offer or {"rho": Fraction(1, 2)})).priced
    grant = session.policy.decide(session.analyst, priced.program)
    return priced, session.ledger.charge(grant.account, grant.cost, priced.program, key)


def test_nothing_is_released_without_a_receipt_for_it(session: Session) -> None:
    priced, receipt = paid(session, BY_WARD)
    _, other = paid(session, "SELECT COUNT(*) FROM visits", key="other")
    part = priced.planned.parts[0]
    exact = session.engine.run(part)
    with pytest.raises(InputError, match="without a receipt"):
        release(priced, 0, part, exact, None)  # type: ignore[arg-type]  # what is tried here
    with pytest.raises(InputError, match="another program"):
        release(priced, 0, part, exact, other)
    with pytest.raises(InputError, match="another program"):
        choose_bound(priced, priced.steps[0][1], part, Exact(np.zeros(3, np.int64)), other)
    assert len(release(priced, 0, part, exact, receipt).groups) == 4


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_intervals_of_released_answers_hold_as_often_as_they_say(tmp_path: Path, currency: str) -> None:
    """From one exact answer, released again and again: 94 to 97 in a hundred, over groups and columns each."""
    with Session(hospital(tmp_path, currency=currency), "ana") as session:
        offer: dict[str, Any] = {"rho": Fraction(1)} if currency == "rho" else {"epsilon": Fraction(4)}
        priced, receipt = paid(session, BY_WARD, **offer)
        part = priced.planned.parts[0]
        exact, source = session.engine.run(part), FixedRng(2)
        truth = _truth(priced, exact)
        held = dict.fromkeys("nsavr", 0)
        rounds = 500
        for _ in range(rounds):
            with drawing_from(source):
                answer = assemble(priced, [release(priced, 0, part, exact, receipt)])
            for name in held:
                low, high = answer.intervals[name]
                held[name] += sum(_inside(low[i], truth[name][i], high[i]) for i in range(3))
        for name, count in held.items():
            assert 0.937 <= count / (3 * rounds) <= 0.973, name


def _inside(low: float | None, value: float, high: float | None) -> bool:
    return low is not None and high is not None and low <= value <= high


def _truth(priced: Priced, exact: Exact[Result]) -> dict[str, list[float]]:
    """What the clipped, exact numbers say of the three wards that have visits."""
    found = opened(exact).groups
    groups = Groups.every([("a", "b", "c", "d")])
    place = groups.find(found.keys, len(found.keys[0]))
    measures = {}
    for name, column in found.columns.items():
        values = np.zeros(4)
        values[place] = column
        measures[name] = Noisy(values, "gaussian", 1e-9)
    answer = assemble(priced, [Released(groups=groups, measures=measures, quantiles={}, ends={})])
    return {name: answer.table[name].to_pylist()[:3] for name in "nsavr"}


def test_a_clip_that_is_chosen_is_near_what_units_have(tmp_path: Path) -> None:
    with Session(hospital(tmp_path, clip='"private"'), "ana") as session:
        with drawing_from(FixedRng(4)):
            answer = session.ask("SELECT COUNT(*) AS n FROM visits", rho=1)
        (clip,) = answer.facts["clips"]
        assert clip["origin"] == "chosen privately"
        assert 3 <= clip["rows"] <= 12  # of 1,300 patients with 2.3 visits on average and 9 at most
        assert abs(answer.value() - 3000) < 200
        assert any("chosen privately" in note for note in answer.notes)


def test_the_choice_of_a_clip_is_not_lost_among_bounds_that_nobody_reaches(tmp_path: Path) -> None:
    with Session(hospital(tmp_path, clip='"private"'), "ana") as session:
        priced, receipt = paid(session, "SELECT COUNT(*) AS n FROM visits", rho=Fraction(1))
        part = priced.planned.parts[0]
        clip = part.clips[0]
        units = session.engine.norms(part, 0, clip.edges)
        with drawing_from(FixedRng(3)):
            rows = [
                choose_bound(priced, priced.steps[0][1], part, units, receipt) / float(clip.row) for _ in range(300)
            ]
        assert np.mean(np.array(rows) <= 16) > 0.97


def test_a_million_groups_are_released_without_a_loop(session: Session) -> None:
    """One query's worth of exact numbers is made up here; what follows must not take a second for each 100,000."""
    sql = "SELECT age, EXTRACT(day FROM day) AS d, ward, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2, 3, 4"
    priced, receipt = paid(session, sql)
    part = priced.planned.parts[0]
    domains = [key.values for key in part.keys]
    groups = Groups.every([values for values in domains if values is not None])
    assert len(groups) == 111 * 31 * 4 * 2
    table = ResultTable(
        keys=tuple(tuple(groups.column(i)) for i in range(4)),
        columns={priced.planned.recipes[0].inputs[0]: np.arange(len(groups)) * 10**6},
    )
    exact = Exact(Result(groups=table, presence=None, ranks={}))
    with drawing_from(FixedRng(1)):
        answer = assemble(priced, [release(priced, 0, part, exact, receipt)])
    counts = np.array(answer.table["n"].to_pylist())
    assert (np.diff(counts) > 0).all()  # each row found its own group
    assert answer.table.num_rows == len(groups)


def test_rows_of_keys_that_were_not_declared_are_left_out(session: Session) -> None:
    priced, receipt = paid(session, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    name = priced.planned.recipes[0].inputs[0]
    table = ResultTable(keys=(("zzz", "b"),), columns={name: np.array([10**15, 10**12])})
    exact = Exact(Result(groups=table, presence=None, ranks={}))
    with drawing_from(FixedRng(1)):
        found = release(priced, 0, priced.planned.parts[0], exact, receipt).measures[name]
    assert (np.abs(found.values - [0, 10**12, 0, 0]) < 10**7).all()


def test_numbers_beyond_64_bits_are_added_to_exactly(session: Session) -> None:
    priced, receipt = paid(session, "SELECT COUNT(*) AS n FROM visits")
    name = priced.planned.recipes[0].inputs[0]
    huge = 2**80
    table = ResultTable(keys=(), columns={name: np.array([huge], dtype=object)})
    exact = Exact(Result(groups=table, presence=None, ranks={}))
    with drawing_from(FixedRng(1)):
        found = release(priced, 0, priced.planned.parts[0], exact, receipt).measures[name]
    assert found.values[0] == pytest.approx(float(huge))


def test_what_is_stored_reads_back() -> None:
    values = ((None, True, 7, "ü\x1b", Fraction(1, 3), date(2024, 1, 2), datetime(2024, 1, 2, 3, 4)),)
    groups = Groups(values=values, codes=(np.array([6, 0, 2]),), size=3)
    part = Released(
        groups=groups,
        measures={"m1": Noisy(np.array([1.5, -2.0, 1e300]), "laplace", 0.1)},
        quantiles={"m2": np.array([[1], [2], [3]])},
        ends={"m2": np.array([[[1, 2]], [[3, 4]], [[5, 6]]])},
    )
    whole = Released(groups=Groups.every([("a", None)]), measures={}, quantiles={}, ends={})
    back = StoredAnswer.from_bytes(StoredAnswer(parts=(part, whole), facts={"x": [1, "y"]}).to_bytes())
    first, second = back.parts
    assert back.facts == {"x": [1, "y"]}
    assert first.groups.column(0) == [values[0][6], None, 7]
    assert first.groups.values == values
    assert (first.measures["m1"].values == part.measures["m1"].values).all()
    assert (first.measures["m1"].kind, first.measures["m1"].size) == ("laplace", 0.1)
    assert (first.ends["m2"] == part.ends["m2"]).all()
    assert (first.quantiles["m2"] == part.quantiles["m2"]).all()
    assert second.groups.column(0) == ["a", None]
    data = StoredAnswer(parts=(), facts={}).to_bytes()
    with pytest.raises(InputError, match="version 9"):
        StoredAnswer.from_bytes(data.replace(b'"version":1', b'"version":9'))
