"""`tacit running`: what a service is answering, and an end to one of them."""

import json
from pathlib import Path
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.engine import Watch
from tacit.server.ask import running as module
from tacit.server.ask.running import Running
from tacit.server.db import State


def test_a_question_is_listed_and_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OFTEN", 0.05)
    run = CliRunner()

    def tacit(*words: str, code: int = 0) -> str:
        found = run.invoke(app, ["running", *words, "--state", str(tmp_path)])
        assert found.exit_code == code, found.output
        return found.output

    assert tacit("list") == "Nothing runs.\n"
    state = State(tmp_path / "server.db")
    service, watch = Running(state), Watch()
    with service.question("ana", "clinic", "SELECT COUNT(*) FROM visits", watch):
        end = monotonic() + 60
        while not (items := json.loads(tacit("list", "--json"))["running"]):
            assert monotonic() < end
            sleep(0.05)
        assert (items[0]["owner"], items[0]["dataset"]) == ("ana", "clinic")
        assert "ana: SELECT COUNT(*) FROM visits" in tacit("list")
        assert tacit("list", "--dataset", "other") == "Nothing runs.\n"
        assert "ends in a moment" in tacit("stop", items[0]["id"])
        while not watch.stopped:
            assert monotonic() < end
            sleep(0.05)
        found = run.invoke(app, ["running", "stop", "none", "--state", str(tmp_path)])
        assert found.exit_code != 0
    service.close()
    state.close()
