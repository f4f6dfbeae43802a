"""A holdout in a session: charged when it is opened, before a held row is looked at; held rows fail in silence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.learning import POLICY, policy_of
from tacit.base import Denied, InputError
from tacit.learn import Holdout
from tacit.learn.thresholdout import FINE
from tacit.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path), "cora") as opened:
        yield opened


TRAIN = (np.arange(100.0) % 10, np.arange(100) % 2)
HELD = (np.arange(400.0) % 10, np.arange(400) % 2)


def opened(session: Session, **changes: Any) -> Holdout:
    given: dict[str, Any] = {"threshold": 0.1, "sigma": 0.002, "budget": 3, "size": 400, "units": np.arange(400)}
    rows = {"train": TRAIN, "held": HELD}
    return Holdout(session=session, **(rows | given | changes))


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def test_it_is_charged_once_when_it_is_opened(session: Session) -> None:
    hold = opened(session)
    assert spent(session) == pytest.approx(2 * 3 / (0.002 * 400) * 1e12, rel=1e-6)
    before = spent(session)
    for _ in range(20):
        assert hold.ask(lambda x, y: y) == 0.5
    assert spent(session) == before
    assert hold.left == 3
    assert hold.loss.epsilon(0).upper == pytest.approx(7.5)
    opened(session)
    assert spent(session) == 2 * before  # another threshold is another charge


def test_a_query_that_fits_the_training_rows_alone_is_found_out(session: Session) -> None:
    train, held = (np.arange(100.0), np.ones(100)), (np.arange(400.0) + 1000, np.ones(400))
    hold = Holdout(train, held, threshold=0.1, sigma=0.002, budget=3, size=400, units=np.arange(400), session=session)
    answer = hold.ask(lambda x, y: x < 500)
    assert answer < 0.2
    assert hold.left == 2


@pytest.mark.parametrize("bad", ["fails", "text", "many"])
def test_a_held_row_on_which_a_query_fails_counts_as_nothing_and_moves_no_other(session: Session, bad: str) -> None:
    """It moves the sum by its own share: had it taken all rows with it, its presence would show at once."""

    def query(x: Any, y: Any) -> Any:
        if not (x == 1007).any():
            return y
        if bad == "fails":
            raise ValueError(f"held rows: {x}")
        return ["none"] * len(x) if bad == "text" else np.ones((len(x), 2))

    totals = []
    for rows in (np.arange(8.0) + 1000, np.arange(7.0) + 1000):
        hold = opened(session, train=(np.arange(8.0), np.ones(8)), held=(rows, np.ones(len(rows))), units=rows)
        totals.append(hold._held_total(query)())
    assert totals == [7 * FINE, 7 * FINE]
    assert hold.left == 3


def test_queries_that_are_none_are_refused(session: Session) -> None:
    hold = opened(session)
    for query in (
        lambda x, y: y.mean(),
        lambda x, y: y[:3],
        lambda x, y: x > x.mean(),
        lambda x, y: np.cumsum(y) / 100,
    ):
        with pytest.raises(InputError, match="query"):
            hold.ask(query)
    assert hold.left == 3


def test_nothing_is_charged_for_what_is_wrong(session: Session, tmp_path: Path) -> None:
    for changes, words in (
        ({"size": None}, "secret under add_remove"),
        ({"units": None}, "several rows"),
        ({"units": [1, 2]}, "units must say"),
        ({"table": "pints"}, "no table"),
        ({"threshold": 0}, "threshold"),
        ({"budget": 0.5}, "budget"),
    ):
        with pytest.raises(InputError, match=words):
            opened(session, **changes)
    with pytest.raises(InputError, match="held must be"):
        Holdout(TRAIN, (np.ones(3), np.ones(4)), threshold=0.1, sigma=0.01, budget=3, size=3, session=session)
    assert spent(session) == 0
    with pytest.raises(Denied):
        opened(session, sigma="1e-6")
    assert spent(session) == 0


def test_under_replace_the_size_is_public(tmp_path: Path) -> None:
    path = policy_of(tmp_path)
    path.write_text(POLICY.replace('unit = "person"', 'unit = "person"\nrelation = "replace"'), encoding="utf-8")
    with Session(path, "cora") as session:
        hold = opened(session, size=None)
        assert hold.settings.size == 400
        assert "400 units" in repr(hold)
