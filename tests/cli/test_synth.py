"""`tacit synth`: settings are written, quoted, bought once, and rows and a report come of the file."""

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from support.synthetic import policy_of
from tacit.base import InputError, SettingsError
from tacit.cli import app
from tacit.session import Session
from tacit.synth.config import SynthSettings, synthesis_of

SETTINGS = """\
table = "people"
columns = ["age", "sex", "job"]
rho = "0.5"
bins = ["age = 10"]
impossible = ["age = 0:9, job = cook|clerk|nurse"]
"""


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "120", "TACIT_ANALYST": "ana"}).invoke(app, ["synth", *words])
    if result.exception:
        raise result.exception
    return result.output


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    policy_of(tmp_path)
    (tmp_path / "synth.toml").write_text(SETTINGS)
    return tmp_path


def test_from_settings_to_rows_and_a_report(place: Path) -> None:
    assert json.loads(run("quote", "synth.toml", "--json"))["cost"]["rho"] == "0.5"
    assert "method aim" in run("quote", "synth.toml")
    assert "paid" in run("make", "synth.toml", "--out", "people.npz")
    assert (place / "people.npz.certificate.json").exists()
    assert "made before: free" in run("make", "synth.toml", "--out", "people.npz")
    run("rows", "people.npz", "--count", "300", "--out", "rows.parquet")
    frame = pq.read_table(place / "rows.parquet").to_pandas()
    assert len(frame) == 300
    assert set(frame[frame.age < 10].job.dropna()) <= {"none"}
    run("rows", "people.npz", "--count", "50", "--where", "sex=F", "--where", "age=10:39", "--out", "women.csv")
    women = pc.read_csv(place / "women.csv").to_pandas()
    assert set(women.sex) == {"F"}
    assert women.age.between(10, 39).all()
    beside = json.loads((place / "women.csv.synthetic.json").read_text())
    assert beside["certificate"] == json.loads((place / "people.npz.certificate.json").read_text())
    told = json.loads(run("report", "people.npz", "--out", "report.html", "--json"))
    assert len(told["pairs"]) == 3
    page = (place / "report.html").read_text()
    assert "covers in about 83 % of cases" in page
    assert page.count("<svg") == 4


def test_pairs_have_weights(place: Path) -> None:
    (place / "synth.toml").write_text(SETTINGS + 'pairs = ["age, job = 2.5", "sex, job"]\n')
    with Session(place / "tacit.toml", "ana") as session:
        settings = SynthSettings.read(tomllib.loads((place / "synth.toml").read_text()))
        (part,) = synthesis_of(settings, session).job.parts
    assert part.workload.weights == {(0, 2): Fraction(5, 2), (1, 2): Fraction(1)}


def test_a_template_explains_every_key(place: Path) -> None:
    run("new", "first.toml")
    text = (place / "first.toml").read_text()
    assert all(key in text for key in ("columns", "rho", "private_edges", "impossible"))
    with pytest.raises(InputError, match="exists already"):
        run("new", "first.toml")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('rho = "0.5"', ""), "say how much to spend, once"),
        (('"age = 10"', '"age"'), 'written as in "age = 20"'),
        (('"age = 10"', '"age = ten"'), "write numbers after the ="),
        (("bins", "bin"), "bin"),
        (("age = 0:9, ", "age, "), "names no value"),
        (("impossible", 'pairs = ["age, job = much"]\nimpossible'), "weight of a pair"),
    ],
)
def test_mistakes_in_settings_are_told(place: Path, change: tuple[str, str], told: str) -> None:
    (place / "synth.toml").write_text(SETTINGS.replace(*change))
    with pytest.raises((SettingsError, InputError), match=told):
        run("quote", "synth.toml")


def test_mistakes_on_the_command_line_are_told(place: Path) -> None:
    with pytest.raises(InputError, match="there is no directory"):
        run("make", "synth.toml", "--out", "nowhere/people.npz")
    with pytest.raises(InputError, match="cannot be read"):
        run("rows", "none.npz", "--out", "rows.csv")
    (place / "bad.npz").write_bytes(b"tacit release\n{}\n")
    with pytest.raises(InputError, match="not a release"):
        run("rows", "bad.npz", "--out", "rows.csv")
    with pytest.raises(InputError, match=r"must end in \.parquet or \.csv"):
        run("rows", "bad.npz", "--out", "rows.txt")
