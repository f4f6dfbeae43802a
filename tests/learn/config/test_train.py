"""Settings of a training: what each model is told, what is charged, and the file that comes of it."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.learning import points, policy_of
from tacit.base import Denied, EngineError, InputError, SettingsError
from tacit.desk.kind import JobKind
from tacit.engine import Stopped, Watch
from tacit.learn import LoadedModel, ModelFile
from tacit.learn.config.network_job import NetworkJob
from tacit.learn.config.train import FITS, NETWORKS, TrainSettings
from tacit.session import Session
from tacit.session.kinds import job_kind

TRAIN: JobKind = job_kind("train")
BASE = {"table": "points", "epsilon": 4, "delta": "1e-4"}
LABELLED = BASE | {"features": ["a", "b", "c"], "label": "kind"}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("points")
    policy = policy_of(folder)
    text = policy.read_text(encoding="utf-8").replace("20", "1000").replace("delta = 1e-3", "delta = 0.1")
    policy.write_text(text, encoding="utf-8")
    with Session(policy, "cora") as opened:
        yield opened


def settings_of(**more: Any) -> dict[str, Any]:
    return LABELLED | more


def made(session: Session, settings: Mapping[str, Any], **more: Any) -> LoadedModel:
    release = session.spend(TRAIN.job(settings, session, **more))
    return LoadedModel(ModelFile.from_bytes(release.file().content))


# --- fits


@pytest.mark.parametrize("model", ["logistic", "naive_bayes", "boosting"])
def test_a_classifier_comes_back_from_its_file(session: Session, model: str) -> None:
    found = made(session, settings_of(model=model))
    assert found.epsilon == 4
    assert (found.predict(points()) == points()["kind"].to_numpy()).mean() > 0.9
    with pytest.raises(InputError, match='wants a column "b"'):
        found.predict({"a": [0.0]})


@pytest.mark.parametrize("model", ["linear", "ridge", "kmeans", "pca"])
def test_other_fits_come_back_too(session: Session, model: str) -> None:
    label = {"label": "c"} if model in ("linear", "ridge") else {}
    found = made(session, BASE | label | {"model": model, "features": ["a", "b"]})
    said = found.predict(points())
    assert len(said) == points().num_rows
    if label:
        assert 0 <= said.min() <= said.max() <= 4


def test_what_is_charged_is_what_was_told(session: Session) -> None:
    """Settings and declarations are in the program, and nothing else tells two trainings apart."""
    job = TRAIN.job(settings_of(model="logistic"), session)
    plan = job.program.query["training"]
    assert plan["about"]["inputs"][0] == {"name": "a", "type": "number", "bounds": [-1, 1]}
    assert plan["about"]["label"]["values"] == ["no", "yes"]
    assert TRAIN.job(settings_of(model="logistic"), session).program.hash == job.program.hash
    for change in ({"name": "other"}, {"iterations": 3}, {"features": ["a", "b"]}, {"epsilon": 3}):
        assert TRAIN.job(settings_of(model="logistic") | change, session).program.hash != job.program.hash
    assert float(job.program.loss.epsilon(Fraction("1e-4"))) <= 4


def test_an_analyst_gets_what_the_policy_lets_them(session: Session) -> None:
    with Session(session.policy, "eve", ledger=session.ledger, engine=session.engine) as other, pytest.raises(Denied):
        other.quote(TRAIN.job(settings_of(model="logistic"), other))


# --- networks


def network(**more: Any) -> dict[str, Any]:
    return settings_of(**({"model": "mlp", "population": 600, "batch": 100, "steps": 40} | more))


def test_a_network_learns_and_comes_back(session: Session) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    watch = Watch()
    release = session.spend(TRAIN.job(network(), session), watch=watch)
    assert watch.share == 1
    assert watch.words.startswith("step 40 of 40, ε = 4 so far")
    found = LoadedModel(ModelFile.from_bytes(release.file().content))
    assert (found.predict(points()) == points()["kind"].to_numpy()).mean() > 0.9
    assert "loss" not in watch.words
    more = network(features=["a", "kind"], label="c", steps=40, optimiser="adam", show_loss=4)
    told = Watch()
    numbers = LoadedModel(ModelFile.from_bytes(session.spend(TRAIN.job(more, session), watch=told).file().content))
    assert 0 < float(told.words.split(", loss ")[1].split(" ±")[0]) < 4
    said = numbers.predict({"a": [0.1, None], "kind": ["yes", "never seen"]})
    assert 0 <= said.min() <= said.max() <= 4


def test_text_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    table = points()
    texts = np.where(np.array(table["kind"]) == "yes", "yes indeed, GREAT", "no, never")
    squares = {f"p{i}": np.array(table["a"]) for i in range(16)}
    policy = policy_of(
        tmp_path, pa.table({**{name: table[name] for name in table.column_names}, "said": texts} | squares)
    )
    more = "".join(f'p{i} = {{ type = "float", bounds = [-1, 1] }}\n' for i in range(16))
    text = policy.read_text(encoding="utf-8").replace("[analysts", f'said = {{ type = "text" }}\n{more}\n[analysts')
    policy.write_text(text.replace("20", "1000"), encoding="utf-8")
    small = {"vocabulary": 64, "length": 4, "width": 8, "steps": 80, "learning_rate": "0.5"}
    with Session(policy, "cora") as session:
        words = made(session, network(model="text", features=["said"], epsilon=30, **small))
        assert list(words.predict({"said": ["Yes indeed, great", "NO, never", None]}))[:2] == ["yes", "no"]
        cnn = network(model="cnn", features=["p*"], image=[1, 4, 4], channels=[4], hidden=[8], steps=5)
        assert len(made(session, cnn).predict(pq.read_table(tmp_path / "points.parquet"))) == 600
        for change, what in (({"image": [1, 5, 5]}, "must be the same"), ({"channels": [4, 4, 4]}, "take fewer")):
            with pytest.raises(SettingsError, match=what) as caught:
                TRAIN.job(cnn | change, session)
            assert caught.value.problems[0].path == tuple(change)


def test_stopped_too_often_it_ends_and_its_charge_stays(session: Session) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    settings = network(name="stopped", steps=400, epsilon=1)
    left = float(session.left().epsilon or 0)

    def stopping() -> Watch:
        watch = Watch(progress=lambda share: watch.stop())
        return watch

    for _ in range(3):
        with pytest.raises(Stopped):
            session.spend(TRAIN.job(settings, session), watch=stopping())
    with pytest.raises(EngineError):
        session.spend(TRAIN.job(settings, session))
    assert left - float(session.left().epsilon or 0) == pytest.approx(1, abs=0.01)


def test_an_error_of_its_run_tells_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **more: Any) -> Any:
        raise ValueError("patient 4711")

    monkeypatch.setattr("tacit.learn.config.fit_job.read_rows", broken)
    with pytest.raises(EngineError) as caught:
        session.spend(TRAIN.job(settings_of(model="logistic", name="broken"), session))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert NetworkJob.scrubbed
    assert NetworkJob.stops == 3


def test_noise_that_drowns_everything_is_told_in_the_quote(session: Session) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    quote = session.quote(TRAIN.job(network(hidden=[4096], batch=10, steps=2, epsilon=1), session))
    (hint,) = quote.hints
    assert hint.kind == "noise"
    assert hint.data["ratio"] > 5
    assert quote.notes[0] == hint.words
    assert not session.quote(TRAIN.job(network(), session)).hints


# --- what is told


@pytest.mark.parametrize("model", [*FITS, *NETWORKS])
def test_keys_of_one_model_are_refused_for_another(model: str) -> None:
    known = {"hidden": [3], "vocabulary": 9, "clusters": 3, "alpha": 2, "components": 1, "image": [1, 2, 2]}
    for name, value in known.items():
        of = {"hidden": ("mlp", "cnn"), "vocabulary": ("text",), "clusters": ("kmeans",), "alpha": ("ridge",)}
        values = of.get(name, {"components": ("pca",), "image": ("cnn",)}.get(name, ()))
        given: dict[str, Any] = {"model": model, "table": "t", "features": ["a"], "epsilon": 1, "delta": "0.1"}
        try:
            TrainSettings.read(given | {name: value})
            wrong = set()
        except SettingsError as error:
            wrong = {problem.path for problem in error.problems}
        assert ((name,) in wrong) == (model not in values), (model, name)


def test_sizes_are_bounded_so_that_nobody_keeps_a_machine_busy() -> None:
    for name, value in {"steps": 10**7, "batch": 10**9, "hidden": [10**6], "vocabulary": 10**9, "layers": 99}.items():
        model = {"hidden": "mlp", "vocabulary": "text", "layers": "text"}.get(name, "mlp")
        given = settings_of(model=model, **{name: value})
        with pytest.raises(SettingsError) as caught:
            TrainSettings.read(given)
        assert (name,) in {problem.path for problem in caught.value.problems}


def test_settings_are_the_same_as_plain_data(session: Session) -> None:
    read = TrainSettings.read(network(clip="0.5", hidden=[8, 4]))
    assert TrainSettings.read(read.json()) == read
    assert read.json()["clip"] == "0.5"
    assert "optimiser" not in read.json()
    assert read.title == "mlp of points"
