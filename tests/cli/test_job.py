"""`tacit job`: long jobs are listed while they run and after they stopped, and can be stopped from outside."""

import json
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from typer.testing import CliRunner

from support.hospital import hospital
from tacit.base import InputError
from tacit.cli import app

LONG = """
import time
from tacit import DiscreteLaplace, Sensitivity
from tacit.engine import Stopped
from tacit.program import Program, Step
from tacit.session import Session

step = Step(name="train", mechanism=DiscreteLaplace(scale=20), sensitivity=Sensitivity(l1=20))

def run(run):
    start = int((run.saved() or b"0").decode())
    for number in range(start, start + 4000):
        run.save(str(number + 1).encode(), done=0.25)
        time.sleep(0.02)
    return b"trained"

with Session("tacit.toml", "ana") as session:
    try:
        session.spend(Program(steps=(step,), tables=("visits",), unit="patient"), run)
    except Stopped:
        print("stopped")
"""


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["job", *words])
    if result.exception:
        raise result.exception
    return result.output


def listed() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("list", "--json"))["jobs"]
    return found


def test_a_job_is_listed_stopped_and_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hospital(tmp_path, currency="epsilon").rename(tmp_path / "tacit.toml")
    assert run("list") == "No job has saved anything and not ended.\n"
    Path("job.py").write_text(LONG)
    with subprocess.Popen([sys.executable, "job.py"], stdout=subprocess.PIPE, text=True) as process:
        try:
            end = monotonic() + 60
            while not listed() and monotonic() < end:
                sleep(0.1)
            (job,) = listed()
            assert (job["name"], job["analyst"], job["done"], job["running"]) == ("train", "ana", 0.25, True)
            entry = str(job["entry"])
            shown = run("list")
            assert "██████░░░░░░░░░░░░░░░░░░ 25%" in shown
            assert "running" in shown
            with pytest.raises(InputError, match="is running: stop it first"):
                run("discard", entry, "--yes")
            assert "Run its code again to go on" in run("stop", entry)
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert output == "stopped\n"
    assert not listed()[0]["running"]
    with pytest.raises(InputError, match="does not run now"):
        run("stop", entry)
    with pytest.raises(InputError, match="nobody to ask"):
        run("discard", entry)
    assert run("discard", entry, "--yes") == f"What job {entry} saved is deleted.\n"
    assert listed() == []
    with pytest.raises(InputError, match="under entry 99"):
        run("stop", "99")
