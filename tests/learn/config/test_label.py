"""Labels by a file of settings: teachers learn under the charge from disjoint units, and public inputs get a table."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from support.learning import POLICY, points, policy_of
from tacit.base import Denied, SettingsError
from tacit.cli import app
from tacit.desk import TableRelease
from tacit.learn.config.label import LABEL
from tacit.session import Session

BASE: dict[str, Any] = {
    "table": "points", "features": ["a", "b"], "label": "kind", "public": "public.csv", "teachers": 20, "sigma": 2,
}  # fmt: skip


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    policy = policy_of(tmp_path, points(rows=2))
    policy.write_text(POLICY.replace('"epsilon"', '"rho"'), encoding="utf-8")
    pc.write_csv(points(40).select(["b", "a"]), tmp_path / "public.csv")
    monkeypatch.chdir(tmp_path)
    with Session(policy, "cora") as opened:
        yield opened


def labels_of(session: Session, **more: Any) -> list[Any]:
    release = session.spend(LABEL.job(BASE | more, session, local=True))
    assert isinstance(release, TableRelease)
    assert release.table["input"].to_pylist() == list(range(1, release.table.num_rows + 1))
    return list(release.table["kind"].to_pylist())


@pytest.mark.parametrize("more", [{}, {"teacher": "logistic"}, {"teacher": "forest", "teachers": 8}, {"scale": 2}])
def test_public_inputs_get_the_labels_of_private_rows(session: Session, more: dict[str, Any]) -> None:
    if "teacher" in more:
        pytest.importorskip("sklearn")
    found = labels_of(session, **({"sigma": None} if "scale" in more else {}) | more)
    assert len(found) == 40
    assert np.mean([said == true for said, true in zip(found, points(40)["kind"].to_pylist(), strict=True)]) > 0.8


def test_it_is_charged_for_every_answer_and_check_and_recalled(session: Session) -> None:
    terms = {"answers": 5, "check_sigma": 3, "check_votes": 12}
    job = LABEL.job(BASE | terms, session, local=True)
    assert job.scrubbed  # whoever asks may not see the rows
    assert job.stops == 3
    before = session.left().rho or 0
    first = labels_of(session, **terms)
    assert sum(each is not None for each in first) <= 5
    assert float(before - (session.left().rho or 0)) == pytest.approx(5 / 4 + 40 / 18)
    after = session.left()
    assert labels_of(session, **terms) == first
    assert session.left() == after
    labels_of(session, **terms, name="again")
    assert session.left() != after


def test_all_rows_of_a_unit_are_with_one_teacher(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def fit(make: Any, data: Any, *, by: Any, **of: Any) -> None:
        seen.append((data, by))

    monkeypatch.setattr("tacit.learn.config.label.Teachers.fit", fit)
    job: Any = LABEL.job(BASE, session, local=True)
    columns = {"a": [0.1, 0.2, 0.3], "b": [0.0, 0.0, None], "kind": ["yes", "no", "what"]}
    chunked = {name: pa.chunked_array([each]) for name, each in columns.items()}
    job._fitted(SimpleNamespace(columns=chunked, offsets=np.array([0, 2, 3]), units=2))
    ((inputs, labels), owner), *_ = seen
    assert owner[0] == owner[1]
    assert labels.tolist() == ["yes", "no"]  # a label that is no class counts as nothing
    assert inputs.shape == (2, 2)


def test_no_rows_are_no_votes_and_no_error(session: Session, tmp_path: Path) -> None:
    """Whether there is anything to learn from is a fact about the rows: labels are noise then."""
    pq.write_table(points(0), tmp_path / "points.parquet")
    with Session(tmp_path / "tacit.toml", "cora") as fresh:
        assert set(labels_of(fresh)) == {"yes", "no"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"public": "none.csv"}, "no CSV or Parquet"),
        ({"public": "text.csv"}, "something else than numbers"),
        ({"public": "short.csv"}, "no column 'b'"),
        ({"features": ["a", "d"]}, "no column"),
        ({"features": ["a", "kind"]}, "hold the label"),
        ({"label": "c"}, "short list of labels"),
        ({"answers": 41}, "more than there are"),
        ({"sigma": None}, "say how much noise"),
        ({"scale": 3}, "say how much noise"),
        ({"check_sigma": 3}, "a check is"),
        ({"teachers": 1}, "at least 2"),
        ({"teacher": "oracle"}, "oracle"),
        ({"tble": "points"}, "tble"),
    ],
)
def test_bad_settings_are_refused_and_nothing_is_charged(
    session: Session, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    (tmp_path / "text.csv").write_text("a,b\nx,y\n")
    (tmp_path / "short.csv").write_text("a\n1\n")
    before = session.left()
    with pytest.raises(SettingsError, match=words):
        LABEL.job(BASE | change, session, local=True)
    assert session.left() == before


def test_no_service_takes_a_file_and_no_budget_is_passed(session: Session) -> None:
    with pytest.raises(SettingsError, match="no service takes one"):
        LABEL.job(BASE, session)
    with pytest.raises(Denied):
        labels_of(session, sigma="1/100")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "label.toml").write_text(LABEL.template())
    text = 'table = "points"\nfeatures = ["a", "b"]\nlabel = "kind"\npublic = "public.csv"\nteachers = 20\nsigma = 2\n'
    (tmp_path / "mine.toml").write_text(text)
    for words in (["quote", "mine.toml"], ["run", "mine.toml", "--out", "labels.csv", "--certificate", "c.json"]):
        found = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["label", *words, "--analyst", "cora"])
        assert found.exit_code == 0, found.exception
    assert (tmp_path / "labels.csv").read_text().splitlines()[0] == '"input","kind"'
    assert (tmp_path / "c.json").exists()
