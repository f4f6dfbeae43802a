"""Fits that a session pays for: charged first, read by unit, kept, certified."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.hospital import hospital, visits
from tacit.base import Denied, InputError, OverBudget
from tacit.desk.certificate.check import check
from tacit.learn.estimator import Bounds, CategoricalNB, GaussianNB, LinearRegression, LogisticRegression, by_group
from tacit.session import Session


@pytest.fixture(params=["rho", "epsilon"])
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(hospital(tmp_path, currency=request.param), "ana") as opened:
        yield opened


def spent(session: Session) -> Any:
    return session.left()


def test_a_table_is_charged_before_it_is_read_and_kept(session: Session) -> None:
    model = LogisticRegression(0.5, 1e-7, bounds=Bounds(age=(0, 110), cost=(0, 1000)), session=session)
    before, quote = spent(session), model.quote("visits", "urgent")
    assert quote.enough
    assert repr(quote).startswith("• costs")  # no table without columns
    model.fit("visits", "urgent")
    assert spent(session) == quote.left != before
    assert model.classes_.tolist() == [False, True]
    assert model.loss_.unit == "patient"
    assert model.loss_.epsilon(1e-7).upper <= 0.5
    assert model.receipt_ is not None
    assert model.receipt_["entry"] > 0
    again = LogisticRegression(0.5, 1e-7, bounds=Bounds(age=(0, 110), cost=(0, 1000)), session=session)
    again.fit("visits", "urgent")
    assert (again.coef_ == model.coef_).all()  # the same question about the same data, from the store
    assert spent(session) == quote.left


def test_its_certificate_can_be_checked(session: Session) -> None:
    model = GaussianNB(0.5, 1e-7, classes=("a", "b", "c", "d"), session=session).fit("visits", "ward")
    assert model.feature_names_in_.tolist() == ["cost", "age", "urgent"]  # every column with bounds
    checks = check(model.certificate(ledger=session.ledger))
    assert checks
    assert not [each for each in checks if each.ok is False]


def test_the_target_of_a_regression_has_the_bounds_of_the_policy(session: Session) -> None:
    model = LinearRegression(0.5, 1e-7, bounds=Bounds(age=(0, 110)), session=session).fit("visits", "cost")
    assert model.target_range_ is not None
    assert (model.target_range_.low[0], model.target_range_.high[0]) == (0, 1000)
    assert np.all((model.predict([[20.0], [90.0]]) >= 0) & (model.predict([[20.0], [90.0]]) <= 1000))


def test_what_is_wrong_is_said_before_anything_is_charged(session: Session) -> None:
    before = spent(session)
    for model, args, words in [
        (LogisticRegression(1, session=session), ("visits", "drug"), "classes"),
        (LogisticRegression(1, classes=(0, 1), session=session), ("visits",), "requires y"),
        (CategoricalNB(1, categories=2, classes=(0, 1), session=session), ("visits", "urgent"), "does not read tables"),
        (LogisticRegression(1, session=session), ("visits", "nothing"), "no column 'nothing'"),
        (LogisticRegression(1, session=session), ("visitors", "urgent"), "visits"),
        (LogisticRegression(1, bounds=Bounds(heart=(0, 1)), session=session), ("visits", "urgent"), "'heart'"),
        (LogisticRegression(1, bounds=(0, 1), classes=(0, 1), session=session), (np.eye(2), [0, 1]), "table="),
        (
            LogisticRegression(1, bounds=(0, 1), classes=(0, 1), session=session, table="visits"),
            (np.eye(2), [0, 1]),
            "units=",
        ),
    ]:
        with pytest.raises(InputError, match=words):
            model.fit(*args)
    with pytest.raises((Denied, OverBudget)):
        LogisticRegression(1000, bounds=Bounds(age=(0, 110)), session=session).fit("visits", "urgent")
    assert spent(session) == before


def test_arrays_are_charged_each_time(session: Session) -> None:
    table = visits()
    x = np.column_stack([table["age"].to_numpy().astype(float), table["cost"].to_numpy()])
    units, y = table["patient_id"].to_numpy(), table["urgent"].to_numpy(zero_copy_only=False)
    settings: dict[str, Any] = {
        "bounds": ([0, 0], [110, 1000]),
        "classes": (False, True),
        "session": session,
        "table": "visits",
    }
    before = spent(session)
    first = LogisticRegression(0.1, 1e-7, **settings).fit(x, y, units=units)
    between = spent(session)
    second = LogisticRegression(0.1, 1e-7, **settings).fit(x, y, units=units)
    assert spent(session) != between != before
    assert (first.coef_ != second.coef_).any()


def test_a_group_report_is_paid_for_too(session: Session) -> None:
    model = LogisticRegression(0.5, 1e-7, bounds=Bounds(age=(0, 110), cost=(0, 1000)), session=session)
    model.fit("visits", "urgent")
    before = spent(session)
    report = by_group(model, "visits", "urgent", groups="ward", epsilon=0.5, delta=1e-7, session=session)
    assert spent(session) != before
    assert [line.group for line in report.lines] == ["a", "b", "c", "d"]
    assert report.release is not None
    assert report.loss.unit == "patient"
    assert report.lines[0].count > report.lines[3].count


def test_another_declaration_is_another_question(session: Session) -> None:
    """Nothing that a fit follows from is left out of its program: else it would be given another's answer."""
    first = LogisticRegression(0.1, 1e-7, bounds=Bounds(age=(0, 110)), session=session).fit("visits", "urgent")
    before = spent(session)
    for model in (
        LogisticRegression(0.1, 1e-7, bounds=Bounds(age=(0, 50)), session=session),
        LogisticRegression(0.1, 1e-7, bounds=Bounds(age=(0, 110)), classes=(True, False), session=session),
    ):
        assert model.fit("visits", "urgent").program_ != first.program_
        assert spent(session) != before
        before = spent(session)
    other = LogisticRegression(0.1, 1e-7, bounds=Bounds(age=(0, 50)), session=session).fit("visits", "urgent")
    assert spent(session) == before
    reports = [
        by_group(each, "visits", "urgent", groups="ward", epsilon=0.1, delta=1e-7, session=session)
        for each in (first, other, first)
    ]
    assert reports[0].lines != reports[1].lines
    assert reports[0].lines == reports[2].lines  # the same report about the same rows
