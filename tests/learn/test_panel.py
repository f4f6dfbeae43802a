"""A panel: one charge, each unit pays for itself, on disk before the noise, and nobody is told who is out."""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.learning import POLICY, policy_of
from tacit.base import ExhaustedError, InputError, Relation
from tacit.desk.state import jobs_folder
from tacit.learn import Panel, PanelSums
from tacit.learn.panel import PanelState, unit_name
from tacit.session import Session


def visits() -> pa.Table:
    """Person i has one row: c is 1 for most, 4 for every tenth."""
    person = np.arange(300)
    c = np.where(person % 10 == 0, 4.0, 1.0)
    kind = np.where(person % 2 == 0, "yes", "no")
    return pa.table({"person": person, "a": person * 0.0, "b": person * 0.0, "c": c, "kind": kind})


@pytest.fixture
def session(tmp_path: Path) -> Any:
    path = policy_of(tmp_path, visits())
    path.write_text(POLICY.replace('"epsilon"', '"rho"'), encoding="utf-8")
    with Session(path, "cora") as opened:
        yield opened


def plan(**changes: Any) -> Panel:
    given: dict[str, Any] = {"table": "points", "rho": "1/2", "sigma": 4, "sums": 3, "name": "week"}
    return Panel(**(given | changes))


def spent(session: Session) -> Fraction:
    return Fraction(20) - (session.left().rho or Fraction(0))


def test_it_is_paid_once_and_sums_are_right_but_for_noise_and_cuts(session: Session) -> None:
    quote = plan().quote(session)
    assert quote.enough
    found: list[Any] = []

    def loop(sums: PanelSums) -> None:
        found.append(sums.count())
        found.append(sums.sum("c", where={"kind": "yes"}))

    assert plan().run(session, loop) is None
    paid = spent(session)
    assert float(paid) == pytest.approx(0.5, rel=1e-9)
    # cap is 16: after the count 15 is left, so that 4 is cut to 3: 30 people of 4 among the 150 of "yes"
    assert abs(found[0].value - 300) < 5 * 4
    assert abs(found[1].value - (120 + 30 * 3)) < 5 * 4
    assert found[1].asked == "SUM(c) WHERE kind = 'yes'"
    assert found[0].coverage.of == "noise"
    assert "noise only" in str(found[0])
    secret: list[float] = []

    def rest(sums: PanelSums) -> None:
        assert sums.released == found
        assert sums.left == 1
        secret.extend([sums.spent(10), sums.spent(12), sums.spent(11)])
        sums.count({"kind": "no"})
        with pytest.raises(ExhaustedError, match="all 3 sums"):
            sums.count()

    release = plan().run(session, rest)
    assert secret == [pytest.approx(10 / 16), pytest.approx(2 / 16), pytest.approx(1 / 16)]
    assert spent(session) == paid
    assert release is not None
    assert [each["value"] for each in release.value()["sums"]][:2] == [each.value for each in found]
    assert "spent" not in str(release.value())
    assert not list(jobs_folder(session.policy).glob("*.panel"))


def test_spends_are_on_disk_before_noise_is_drawn(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies with the noise in its hands has spent: the units' books say so when it comes back."""

    def dies(self: PanelState, number: int, noisy: int) -> None:
        raise KeyError("dead")

    usual = PanelState.release
    monkeypatch.setattr(PanelState, "release", dies)
    with pytest.raises(KeyError):
        plan().run(session, lambda sums: sums.count())
    monkeypatch.setattr(PanelState, "release", usual)
    (state,) = jobs_folder(session.policy).glob("*.panel")
    assert state.stat().st_mode & 0o777 == 0o600
    seen: list[Any] = []

    def loop(sums: PanelSums) -> None:
        seen.extend([sums.left, len(sums.released), sums.spent(7)])

    plan().run(session, loop)
    assert seen == [2, 0, pytest.approx(1 / 16)]
    state.unlink()
    with pytest.raises(InputError, match="cannot go on"):
        plan().run(session, loop)


def test_nobody_spends_more_than_the_cap_and_nobody_elses_part_depends_on_it(tmp_path: Path) -> None:
    """Random values, signs and sizes; then the same without one unit: every sum moves by that unit's part alone."""
    rng, cap = np.random.default_rng(3), 400
    values = [{bytes([i]): int(v) for i, v in enumerate(rng.integers(-30, 31, 40))} for _ in range(30)]
    totals = []
    for left_out in (None, bytes([7])):
        with PanelState.begin(tmp_path / f"{left_out is None}.panel", "r") as state:
            totals.append(
                [
                    state.take(n, "s", {u: v for u, v in row.items() if u != left_out}, cap)
                    for n, row in enumerate(values)
                ]
            )
            spends = state.spends()
            assert max(spends.values()) <= cap
            if left_out is None:
                own = spends[bytes([7])]
    moved = [a - b for a, b in zip(*totals, strict=True)]
    assert sum(m * m for m in moved) == own <= cap
    assert own > 0.9 * cap  # the bound is used, so that a larger cap would be a breach


def test_the_noise_is_the_one_that_is_priced(session: Session) -> None:
    found: list[float] = []
    own = plan(sums=60, sigma=3, rho=2, step="1/4", name="noise")

    def loop(sums: PanelSums) -> None:
        with drawing_from(FixedRng(1)):
            found.extend(sums.sum("a").value for _ in range(60))  # a is 0: nobody spends anything

    own.run(session, loop)
    assert np.std(found) == pytest.approx(3, rel=0.4)
    assert own.cap == 2 * 2 * 9 * 16
    assert float(own.loss().cost().rho or 0) == 2
    assert float(own.loss(relation=Relation.REPLACE).cost().rho or 0) == 8


def test_names_of_units() -> None:
    assert unit_name(7) == unit_name(7.0) != unit_name("7")
    assert unit_name(2.0**53) is unit_name(None) is unit_name(float("inf")) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rho": 0}, "rho"),
        ({"sigma": -1}, "sigma"),
        ({"sums": 0}, "sums"),
        ({"rho": "1e-9"}, "nobody could take part"),
        ({"step": "1e-12"}, "too fine"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan(**change)


def test_bad_sums_are_refused_and_spend_nothing(session: Session) -> None:
    def loop(sums: PanelSums) -> None:
        for ask, words in (
            (partial(sums.sum, "kind"), "only numbers"),
            (partial(sums.sum, "d"), "column"),
            (partial(sums.count, {"persona": 3}), "column"),
            (partial(sums.count, {"person": 3}), "names the unit"),
        ):
            with pytest.raises(InputError, match=words):
                ask()
        assert sums.left == 3

    plan().run(session, loop)
    with pytest.raises(InputError, match="pints"):
        plan(table="pints").quote(session)
