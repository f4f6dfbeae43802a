"""Teachers: no unit is with two, labels are charged before anybody votes, hindsight is secret."""

import pickle
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.learning import points, policy_of
from tacit.base import Denied, InputError, TacitError
from tacit.learn import GNMax, Labels, LNMax, Teachers
from tacit.learn.teachers import part_of
from tacit.loss import ZCDP, Loss
from tacit.loss.pate import DataDependent
from tacit.session import Session


class Sign:
    """Says yes where a + b > 0, whatever it learned; remembers whose rows it saw."""

    def fit(self, inputs: Any, labels: Any) -> "Sign":
        self.seen = inputs
        return self

    def predict(self, inputs: Any) -> Any:
        return np.where(inputs[:, 0] + inputs[:, 1] > 0, "yes", "no")


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path), "cora") as opened:
        yield opened


def table() -> dict[str, Any]:
    """Three rows of each person, as a dict of columns; column c is the person."""
    found = points(200, rows=3)
    return {name: np.asarray(found[name]) for name in ("person", "a", "b", "kind")} | {
        "c": np.asarray(found["person"]).astype(float)
    }


def fitted(**more: Any) -> Teachers:
    settings: dict[str, Any] = {"count": 20, "by": "person", "label": "kind"}
    return Teachers.fit(Sign, table(), **(settings | more))


PUBLIC = np.array([[x / 10, y / 10, 0.0] for x in range(-4, 5) for y in (-3, 3)])


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def test_no_unit_is_with_two_teachers_and_one_unit_more_changes_one() -> None:
    teachers = fitted()
    owner = defaultdict(set)
    for place, model in enumerate(teachers._models):
        for person in model.seen[:, 2]:
            owner[person].add(place)
    assert len(owner) == 200
    assert all(len(places) == 1 for places in owner.values())
    assert all(place == {part_of(int(person), 20)} for person, place in owner.items())
    more = table()
    grown = {name: np.concatenate([column, column[:1]]) for name, column in more.items()}
    grown["person"][-1] = 9999
    other = Teachers.fit(Sign, grown, count=20, by="person", label="kind")
    changed = [a.seen.shape != b.seen.shape for a, b in zip(teachers._models, other._models, strict=True)]
    assert sum(changed) == 1


def test_rows_without_units_are_dealt_by_coins_of_their_own() -> None:
    inputs = np.arange(600.0).reshape(-1, 1) @ np.ones((1, 2))
    first = Teachers.fit(Sign, (inputs, np.repeat("no", 600)), count=10, classes=("no", "yes"))
    sizes = [len(model.seen) for model in first._models]
    assert sum(sizes) == 600
    assert min(sizes) > 25


def test_labels_are_charged_once_stop_and_are_recalled(session: Session) -> None:
    teachers = fitted()
    rule = GNMax(sigma=2)
    labels = teachers.label(PUBLIC, rule, session=session, answers=5)
    assert isinstance(labels, Labels)
    assert isinstance(labels.loss, ZCDP)
    assert labels.loss.rho == Fraction(5, 4)
    assert len(labels.places) == 5
    inputs, said = labels.known
    assert len(inputs) == len(said) == 5
    assert set(said) <= {"no", "yes"}
    before = spent(session)
    assert before > 0
    again = teachers.label(PUBLIC, rule, session=session, answers=5)
    assert again.release.cached
    assert again.places == labels.places
    assert spent(session) == before
    assert (said == np.where(inputs[:, 0] + inputs[:, 1] > 0, "yes", "no")).mean() > 0.7


def test_checks_are_paid_for_all_and_refused_queries_have_no_label(session: Session) -> None:
    rule = GNMax(sigma=3, confident=(4, 100))  # nobody has a hundred votes
    labels = fitted().label(PUBLIC, rule, session=session, answers=3)
    assert labels.loss.rho == Fraction(3, 9) + len(PUBLIC) * Fraction(1, 32)
    assert labels.places == (None,) * len(PUBLIC)
    assert len(labels.known[1]) == 0
    assert labels.hindsight(1e-6).curve.at(4) <= len(PUBLIC) * 4 / 32


def test_nobody_votes_before_the_charge(session: Session) -> None:
    asked = []

    class Watched(Sign):
        def predict(self, inputs: Any) -> Any:
            asked.append(spent(session))
            return super().predict(inputs)

    Teachers.fit(Watched, table(), count=20, by="person", label="kind").label(
        PUBLIC, GNMax(sigma=2), session=session, answers=2
    )
    assert asked
    assert min(asked) > 0
    asked.clear()
    teachers = Teachers.fit(Watched, table(), count=20, by="person", label="kind")
    with pytest.raises((Denied, TacitError)):
        teachers.label(PUBLIC, GNMax(sigma="1/10"), session=session)
    assert not asked


def test_hindsight_is_no_loss_and_its_publication_is_paid(session: Session) -> None:
    labels = fitted().label(PUBLIC, GNMax(sigma=4), session=session, answers=8)
    secret = labels.hindsight(1e-5)
    assert isinstance(secret, DataDependent)
    assert not isinstance(secret, Loss)
    assert float(secret) == secret.epsilon(1e-5).upper <= labels.loss.epsilon(1e-5).upper * 1.01
    with pytest.raises(TypeError):
        secret + labels.loss
    assert "secret" in repr(secret)
    before = spent(session)
    published = labels.publish_hindsight(epsilon=0.5)
    assert spent(session) - before == 500_000_000_000
    assert published.order >= 2
    assert published.epsilon(1e-5) >= 0
    assert labels.publish_hindsight(epsilon=0.5).divergence == published.divergence  # the same, from the store


def test_teachers_that_fail_or_talk_nonsense_have_no_vote() -> None:
    class Odd(Sign):
        def fit(self, inputs: Any, labels: Any) -> "Odd":
            if part_of(int(inputs[0, 2]), 20) < 5:
                raise ValueError("one class only")
            super().fit(inputs, labels)
            return self

        def predict(self, inputs: Any) -> Any:
            place = part_of(int(self.seen[0, 2]), 20)
            if place < 10:
                return np.repeat("perhaps", len(inputs))
            said = super().predict(inputs)
            return said if place < 15 else said[:1] if place < 18 else said[:, None]

    votes = Teachers.fit(Odd, table(), count=20, by="person", label="kind").votes(PUBLIC, ("no", "yes"))
    assert (votes.sum(axis=1) == 5).all()


def test_torch_teachers() -> None:
    torch = pytest.importorskip("torch", reason="teachers may be torch modules")
    found = table()
    found["kind"] = (found["kind"] == "yes").astype(int)
    for train in (None, lambda model, inputs, labels: None):
        teachers = Teachers.fit(
            lambda: torch.nn.Linear(3, 2), found, count=4, by="person", label="kind", train=train, classes=(0, 1)
        )
        votes = teachers.votes(PUBLIC, (0, 1))
        assert (votes.sum(axis=1) == 4).all()


def test_lnmax_and_arrow(session: Session) -> None:
    found = Teachers.fit(Sign, pa.table(table()), count=20, by="person", label="kind", table="points")
    labels = found.label(PUBLIC[:4], LNMax(scale=4), session=session)
    assert labels.loss.rho == 4 * Fraction(1, 8)
    assert len(labels.places) == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": "persona"}, "no column 'persona'"),
        ({"label": "sort"}, "no column 'sort'"),
        ({"count": 1}, "count"),
        ({"classes": ("no",)}, "two or more"),
        ({"by": "kind", "label": "a"}, "one class|no teacher|person|text"),
    ],
)
def test_bad_fits_are_refused(change: dict[str, Any], words: str) -> None:
    def broken() -> Any:
        raise InputError("no teacher")

    with pytest.raises(InputError, match=words):
        Teachers.fit(broken if "kind" in change.values() else Sign, table(), **({"label": "kind"} | change))


def test_units_must_be_named() -> None:
    assert part_of(7, 100) == part_of(7.0, 100) == part_of(np.int32(7), 100)
    for unit in (None, True, 0.5, float("nan"), float("inf")):
        with pytest.raises(InputError, match="unit"):
            part_of(unit, 10)


def test_bad_labels_are_refused_and_nothing_is_charged(session: Session) -> None:
    teachers, rule = fitted(), GNMax(sigma=4)
    own = (np.ones((30, 3)), np.repeat("no", 30))
    bad: list[tuple[str, Any]] = [
        ("GNMax", lambda: teachers.label(PUBLIC, 3, session=session)),  # type: ignore[arg-type]
        ("answers", lambda: teachers.label(PUBLIC, rule, session=session, answers=99)),
        ("public_x", lambda: teachers.label(PUBLIC[0], rule, session=session)),
        ("public_x", lambda: teachers.label([], rule, session=session)),
        ("no table", lambda: teachers.label(PUBLIC, rule, session=session, table="pints")),
        ("several rows", lambda: Teachers.fit(Sign, own, classes="ny").label(PUBLIC, rule, session=session)),
        ("two teachers", lambda: fitted(by="c").label(PUBLIC, rule, session=session)),
        ("same columns", lambda: teachers.label(PUBLIC[:, :2], rule, session=session)),
        ("which labels", lambda: Teachers.fit(Sign, own, by=range(30)).label(PUBLIC, rule, session=session)),
    ]
    for words, attempt in bad:
        with pytest.raises(InputError, match=words):
            attempt()
    assert spent(session) == 0
    one = Sign()
    with pytest.raises(InputError, match="same model twice"):
        Teachers.fit(lambda: one, table(), count=3, by="person", label="kind")
    with pytest.raises(InputError, match="not written"):
        pickle.dumps(teachers)
