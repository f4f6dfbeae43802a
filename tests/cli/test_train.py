"""`tacit train`: a first file, a free quote, a run that is paid once and can be stopped, and plain errors."""

import json
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from support.learning import points, policy_of
from support.markdown import blocks
from support.tree import ROOT
from tacit.base import InputError, OverBudget, SettingsError
from tacit.cli import app
from tacit.cli.demo.clinic import build
from tacit.learn import load_model
from tacit.session import Session
from tacit.session.kinds import job_kind

FIT = """\
model = "logistic"
table = "points"
features = ["a", "b"]
label = "kind"
epsilon = 1
delta = 1e-4
"""
NETWORK = FIT.replace("logistic", "mlp") + "population = 600\nbatch = 100\n"


def run(*words: str, group: str = "train") -> str:
    result = CliRunner(env={"COLUMNS": "120", "TACIT_ANALYST": "cora"}).invoke(app, [group, *words])
    if result.exception:
        raise result.exception
    return result.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    policy_of(tmp_path)
    return tmp_path


def spent() -> float:
    with Session("tacit.toml", "cora") as session:
        return 20 - float(session.left().epsilon or 0)


def test_a_first_file_has_every_key_and_works_on_the_clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path)
    run("new")
    text = Path("train.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["kind"] == "train"
    assert tomllib.loads(text.replace("\n# ", "\n#").replace("\n#vocabulary", "\nvocabulary"))["vocabulary"] == 2048
    assert "33 noisy sums" in run("quote", "train.toml", "--analyst", "ana")
    with pytest.raises(InputError, match="exists already"):
        run("new")


@pytest.mark.slow
def test_the_page_tells_what_is_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path)
    (page,) = blocks(ROOT / "docs" / "how-to" / "train-from-a-file.md", "toml")
    Path("wards.toml").write_text(page.text, encoding="utf-8")
    shown = run("quote", "wards.toml", "--analyst", "ana")
    assert "a network of 113 numbers" in shown
    assert "standard deviation 0.0444 clips" in shown


def test_a_fit_is_paid_once_written_and_verified(here: Path) -> None:
    Path("fit.toml").write_text(FIT, encoding="utf-8")
    before = spent()
    assert "would be left" in run("quote", "fit.toml")
    assert spent() == before
    first = json.loads(run("run", "fit.toml", "--certificate", "fit.json", "--json"))
    assert (first["cached"], first["file"]) == (False, "fit.safetensors")
    again = json.loads(run("run", "fit.toml", "--json"))
    assert (again["cached"], again["left"]) == (True, first["left"])
    assert spent() - before == pytest.approx(1, abs=0.01)
    assert "It was trained on" in run("fit.safetensors", group="verify")
    model = load_model("fit.safetensors")
    assert model.epsilon == 1
    assert (model.predict(points()) == points()["kind"].to_numpy()).mean() > 0.9
    Path("fit.safetensors").write_bytes(b"mine")
    with pytest.raises(InputError, match="ask again with --out, free"):
        run("run", "fit.toml")
    assert Path("fit.safetensors").read_bytes() == b"mine"


WRONG = [
    ('lable = "kind"', "did you mean"),
    ("epsilon = 0", "greater than 0"),
    ('kind = "synth"', "`tacit synth`"),
    ("hidden = [3]", 'hidden is for model = "mlp" or "cnn", and model is "logistic"'),
    ('table = "point"', 'did you mean "points"'),
    ('features = ["z*"]', 'begins with "z"'),
    ('features = ["a", "kind"]', "hold the label"),
    ('label = "b"\nfeatures = ["a"]', "has no short list of labels"),
    ("delta = 0", "greater than 0"),
    ("epsilon = ", "is not valid TOML"),
    ('file = "x.parquet"', "file is for model"),
]


@pytest.mark.parametrize(("line", "words"), WRONG)
def test_what_is_wrong_is_told_before_anything_is_charged(here: Path, line: str, words: str) -> None:
    keys = {each.split("=")[0].strip() for each in line.splitlines()}
    kept = [each for each in FIT.splitlines() if each.split(" ")[0] not in keys]
    Path("fit.toml").write_text("\n".join([*kept, line]), encoding="utf-8")
    before = spent()
    with pytest.raises(InputError, match=re.escape(words)):
        run("run", "fit.toml")
    assert spent() == before


def test_files_that_are_not_there_and_budgets_that_are_too_small(here: Path) -> None:
    with pytest.raises(InputError, match=r"tacit train new missing\.toml"):
        run("quote", "missing.toml")
    Path("fit.toml").write_text(FIT, encoding="utf-8")
    run("run", "fit.toml")
    Path("fit.toml").write_text(FIT.replace("epsilon = 1", "epsilon = 19.5"), encoding="utf-8")
    assert "the budget does not allow it" in run("quote", "fit.toml")
    with pytest.raises(OverBudget, match="nothing was charged"):
        run("run", "fit.toml")
    with pytest.raises(InputError, match="there is no folder"):
        run("run", "fit.toml", "--out", "no/where.safetensors")
    with pytest.raises(InputError, match=r"must end in \.json"):
        run("run", "fit.toml", "--certificate", "x.pdf")


def test_a_file_of_rows_needs_a_table_in_which_each_row_is_a_unit(here: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    pq.write_table(pa.table({"x": [0.0, 1.0] * 300, "y": [0, 1] * 300}), "made.parquet")
    settings = NETWORK.replace('["a", "b"]', '["x"]').replace('"kind"', '"y"') + 'file = "made.parquet"\nclasses = 2\n'
    Path("file.toml").write_text(settings + "steps = 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="does not declare each_row_is_a_unit"):
        run("quote", "file.toml")
    policy = Path("tacit.toml")
    plain = policy.read_text(encoding="utf-8").replace('unit_column = "person"', "each_row_is_a_unit = true")
    other = plain.replace("clip_rows = 5\n", "").replace("points.ledger", "other.ledger")
    policy.write_text(other, encoding="utf-8")
    assert json.loads(run("run", "file.toml", "--json"))["bytes"] > 1000
    Path("file.toml").write_text(settings.replace("made.parquet", "tacit.toml"), encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as Parquet: nothing was charged"):
        run("quote", "file.toml")


def test_without_torch_a_network_is_refused_and_a_fit_works(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("fit.toml").write_text(FIT, encoding="utf-8")
    Path("net.toml").write_text(NETWORK, encoding="utf-8")
    before = spent()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'tacit\[learn\]'"):
        run("run", "net.toml")
    assert spent() == before
    assert "noisy sums" in run("quote", "fit.toml")


def test_settings_that_only_the_curator_may_use_are_refused_elsewhere(here: Path) -> None:
    data = tomllib.loads(NETWORK) | {"file": "made.parquet"}
    with Session(here / "tacit.toml", "cora") as session, pytest.raises(SettingsError, match="no service takes one"):
        job_kind("train").job(data, session)
    with pytest.raises(InputError, match='there is no kind of job "trane": did you mean "train"'):
        job_kind("trane")


@pytest.mark.slow
def test_stopped_with_ctrl_c_it_goes_on_and_pays_once(here: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    Path("net.toml").write_text(NETWORK + "steps = 800\n", encoding="utf-8")
    command = [sys.executable, "-m", "tacit", "train", "run", "net.toml", "--analyst", "cora"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until = monotonic() + 60
            while not (jobs := json.loads(run("list", "--json", group="job"))["jobs"]) or jobs[0]["done"] < 0.1:
                assert monotonic() < until
                assert process.poll() is None
                sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "the same command goes on" in told
    paid = spent()
    assert paid == pytest.approx(1, abs=0.01)
    (job,) = json.loads(run("list", "--json", group="job"))["jobs"]
    assert not job["running"]
    assert "of the 800 steps that were paid for are in it" in run("run", "net.toml")
    assert spent() == paid
    assert json.loads(run("list", "--json", group="job"))["jobs"] == []
    assert load_model("net.safetensors").epsilon == 1
    assert Path("net.safetensors").stat().st_size > 1000
