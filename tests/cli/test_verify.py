"""`tacit verify`: a line for each check, and an exit code that scripts can go by."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.certified import Issued, issued, put
from tacit.base import InputError
from tacit.cli.app import app


@pytest.fixture
def made(tmp_path: Path) -> Issued:
    found = issued(tmp_path)
    found.certificate.save(tmp_path / "c.json")
    found.release.to_csv(tmp_path / "answer.csv")
    return found


def run(*words: Any) -> Result:
    return CliRunner().invoke(app, ["verify", *map(str, words)], env={"COLUMNS": "200"})


def test_true(made: Issued) -> None:
    all_ = ["--public-key", made.folder / "issuer.pub", "--ledger", made.ledger, "--answer", made.folder / "answer.csv"]
    found = run(made.folder / "c.json", *all_)
    assert found.exit_code == 0, found.output
    assert found.output.count("✓") == 9
    assert "think it at least" in found.output
    assert "who issued it was not shown" not in found.output
    told = json.loads(run(made.folder / "c.json", *all_, "--json").output)
    assert told["ok"] is True
    assert [line["ok"] for line in told["checks"]] == [True] * 9


def test_without_a_key_it_says_what_it_does_not_know(made: Issued) -> None:
    found = run(made.folder / "c.json")
    assert found.exit_code == 0
    assert "who issued it was not shown" in found.output
    assert "–" in found.output


def test_altered(made: Issued) -> None:
    data = put(made.certificate.json(), ("certificate", "answer", "rows"), lambda rows: rows + 1)
    (made.folder / "c.json").write_text(json.dumps(data))
    found = run(made.folder / "c.json", "--public-key", made.folder / "issuer.pub")
    assert found.exit_code == 1
    assert "✗" in found.output
    assert "Do not rely on it" in found.output
    assert "think it at least" not in found.output
    told = json.loads(run(made.folder / "c.json", "--json").output)
    assert told["ok"] is False


def test_nothing_in_it_drives_the_terminal(made: Issued) -> None:
    data = put(made.certificate.json(), ("certificate", "meaning", "sentence"), lambda _: "all\x1b[2J [red]good")
    (made.folder / "c.json").write_text(json.dumps({**data, "signature": None, "public_key": None}))
    found = run(made.folder / "c.json")
    assert found.exit_code == 0
    assert "\x1b" not in found.output
    assert "[red]good" in found.output


def test_what_cannot_be_read_is_an_error(made: Issued, tmp_path: Path) -> None:
    for words in ([tmp_path / "gone.json"], [made.folder / "c.json", "--public-key", tmp_path / "gone.pub"]):
        found = run(*words)
        assert isinstance(found.exception, InputError)
        assert "cannot be read" in str(found.exception)
