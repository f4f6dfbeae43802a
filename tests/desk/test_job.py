"""Jobs of the curator's own: charged first, kept before they are shown, resumed after a kill, certified."""

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.hospital import hospital
from tacit.base import Denied, InputError, OverBudget, Sensitivity
from tacit.desk import ContentRelease, OwnJob, Release, Run, TableRelease
from tacit.desk.certificate.check import check
from tacit.desk.release import release_from_bytes
from tacit.desk.state import JobState, SavedJob, jobs_folder, saved_jobs
from tacit.engine import Stopped, Watch
from tacit.mechanism import DiscreteLaplace
from tacit.program import Program, Step, Task
from tacit.session import Session

CLIP = 20
WARDS = ("a", "b", "c", "d")


def histogram(epsilon: str = "1", name: str = "visits by ward") -> Program:
    """One patient moves the counts by at most CLIP in all, since only so many of its rows are counted."""
    noise = DiscreteLaplace(scale=CLIP / Fraction(epsilon))
    task = Task(kind="histogram", measures=WARDS)
    step = Step(name=name, mechanism=noise, sensitivity=Sensitivity(l1=Fraction(CLIP)), task=task)
    return Program(steps=(step,), tables=("visits",), unit="patient")


def counted(session: Session, seen: list[Run] | None = None) -> Any:
    scan = session.scan("visits", ["ward"])

    def run(run: Run) -> pa.Table:
        if seen is not None:
            seen.append(run)
        with run.open(run.engine.rows(scan, run.watch)) as rows:
            wards = np.array(rows.columns["ward"].to_pylist())
            kept = np.concatenate(
                [np.arange(a, min(b, a + CLIP)) for a, b in zip(rows.offsets, rows.offsets[1:], strict=False)]
            )
            counts = np.array([int((wards[kept] == ward).sum()) for ward in WARDS])
        (step,) = run.program.steps
        assert isinstance(step, Step)
        return pa.table({"ward": list(WARDS), "visits": step.mechanism.sample(counts)})

    return run


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(hospital(tmp_path, currency="epsilon"), "ana") as opened:
        yield opened


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def test_a_histogram_of_ones_own_is_charged_kept_and_recalled(session: Session) -> None:
    seen: list[Run] = []
    program, run = histogram(), counted(session, seen)
    quote = session.quote(OwnJob(program, run))
    assert quote.enough
    assert quote.cost.epsilon == 1
    assert spent(session) == 0
    first = session.spend(program, run)
    assert isinstance(first, TableRelease)
    assert sum(first.table.column("visits").to_pylist()) == pytest.approx(3000, abs=1500)
    assert spent(session) == 10**12
    again = session.spend(program, run)
    assert again.cached
    assert again == first
    assert (len(seen), spent(session)) == (1, 10**12)
    assert session.idempotency_key(OwnJob(program, run)).answered


def test_it_has_a_certificate(session: Session, tmp_path: Path) -> None:
    release = session.spend(histogram(), counted(session))
    certificate = session.certificate(release)
    assert isinstance(release, TableRelease)
    release.to_csv(tmp_path / "a.csv")
    found = check(certificate, ledger=tmp_path / "hospital.ledger", answer=tmp_path / "a.csv")
    assert {each.name: each.ok for each in found} | {"signature": None} == {
        "form": True, "signature": None, "program": True, "cost": True, "statements": True, "odds": True, "chain": True,
        "answer": True, "ledger": True,
    }  # fmt: skip
    told: Any = certificate.content
    assert told["steps"][0]["task"]["kind"] == "histogram"
    assert "visits by ward" in certificate.html()


def test_nothing_is_read_without_a_receipt_for_this_very_program(session: Session) -> None:
    other = histogram("1/2", "something else")

    def greedy(run: Run) -> bytes:
        session.engine.rows(session.scan("visits"))  # closed: nobody can look inside
        Run(**{**vars(run), "program": other}).open(run.engine.rows(session.scan("visits"), run.watch))
        return b""

    with pytest.raises(InputError, match="another program"):
        session.spend(histogram(), greedy)
    with pytest.raises(InputError, match="runs by code"):
        session.spend(histogram())  # type: ignore[call-overload]  # what is tried here


def test_the_policy_and_the_budget_bind_it_too(session: Session) -> None:
    ran: list[Run] = []
    with pytest.raises(Denied):
        session.spend(Program(steps=histogram().steps, tables=("visits",), unit="row"), ran.append)
    with pytest.raises((Denied, OverBudget)):
        session.spend(histogram("100"), ran.append)
    assert not ran
    assert spent(session) == 0


def test_an_error_of_ones_own_code_is_told_and_may_be_mended(session: Session) -> None:
    def broken(run: Run) -> bytes:
        raise ZeroDivisionError("my own mistake")

    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        session.spend(histogram(), broken)
    assert spent(session) == 10**12
    assert isinstance(session.spend(histogram(), counted(session)), TableRelease)
    assert spent(session) == 10**12  # under the same charge


@pytest.mark.parametrize(
    ("made", "kind", "media"),
    [
        (b"weights", "model", "application/octet-stream"),
        ("east", "value", "text/plain"),
        ({"price": 3, "to": ["a", None]}, "value", "application/json"),
    ],
)
def test_what_a_job_may_release(session: Session, made: Any, kind: str, media: str) -> None:
    release = session.spend(histogram(), lambda run: made)
    assert isinstance(release, ContentRelease)
    assert (release.kind, release.media, release.value()) == (kind, media, made)
    assert release_from_bytes(release.to_bytes()) == release
    certificate: Any = session.certificate(release).content
    assert certificate["answer"]["sha256"] == release.description()["sha256"]
    assert kind in session.certificate(release).html()


def test_what_it_may_not_release(session: Session) -> None:
    with pytest.raises(InputError, match="what JSON holds"):
        session.spend(histogram(), lambda run: {1, 2})
    with pytest.raises(InputError, match="kind must be"):
        session.spend(histogram(), lambda run: b"", kind="gift")


def test_a_job_that_is_stopped_goes_on_under_its_charge(session: Session) -> None:
    watch, told = Watch(progress=None), list[bytes | None]()

    def long(run: Run) -> bytes:
        told.append(run.saved())
        run.save(b"half", done=0.5)
        if run.watch is watch:
            watch.stop()
        run.progress(0.6)
        return b"done"

    with pytest.raises(Stopped):
        session.spend(histogram(), long, watch=watch)
    (saved,) = saved_jobs(jobs_folder(session.policy))
    assert (saved.done, saved.analyst, saved.name, saved.running) == (0.5, "ana", "visits by ward", False)
    assert session.spend(histogram(), long).json()["bytes"] == 4
    assert told == [None, b"half"]
    assert spent(session) == 10**12
    assert not list(jobs_folder(session.policy).iterdir())


def test_a_job_that_runs_is_seen_stopped_and_goes_on(session: Session) -> None:
    seen: list[SavedJob] = []

    def long(run: Run) -> bytes:
        begun = run.saved() is not None
        run.save(b"half", done=0.5)
        (job,) = saved_jobs(jobs_folder(session.policy), "hospital")
        seen.append(job)
        if not begun:
            with pytest.raises(InputError, match="runs in another process"):
                JobState(jobs_folder(session.policy), run.receipt).load()
            with pytest.raises(InputError, match="stop it first"):
                job.discard()
            job.stop()
        run.progress(0.6)
        return b"done"

    with pytest.raises(Stopped):
        session.spend(histogram(), long)
    assert seen[0].running
    assert seen[0].json() == {
        "people": "hospital", "analyst": "ana", "entry": seen[0].entry, "key": seen[0].key, "name": "visits by ward",
        "done": 0.5, "saved": seen[0].saved, "running": True,
    }  # fmt: skip
    session.spend(histogram(), long)  # an older wish to stop does not stop it again
    assert len(seen) == 2
    assert spent(session) == 10**12
    assert saved_jobs(jobs_folder(session.policy), "hospital") == []


def test_what_a_stopped_job_saved_can_be_discarded(session: Session) -> None:
    watch, told = Watch(), list[bytes | None]()

    def long(run: Run) -> bytes:
        told.append(run.saved())
        run.save(b"half", done=0.5)
        watch.stop()
        run.progress(0.6)
        return b"done"

    with pytest.raises(Stopped):
        session.spend(histogram(), long, watch=watch)
    folder = jobs_folder(session.policy)
    assert saved_jobs(folder, "other people") == []
    (job,) = saved_jobs(folder)
    job.discard()
    assert saved_jobs(folder) == []
    for _ in range(2):  # it never runs again under this charge
        with pytest.raises(InputError, match="was discarded"):
            session.spend(histogram(), long)
    assert told == [None]
    assert spent(session) == 10**12


KILLED = """
import os, signal, sys
from tacit import DiscreteLaplace, Sensitivity
from tacit.program import Program, Step
from tacit.session import Session

noise = DiscreteLaplace(scale=20)
step = Step(name="train", mechanism=noise, sensitivity=Sensitivity(l1=20))
program = Program(steps=(step,), tables=("visits",), unit="patient")

def run(run):
    start = int((run.saved() or b"0").decode())
    for step in range(start, 10):
        run.save(str(step + 1).encode(), done=(step + 1) / 10)
        with open("steps", "a") as file:
            file.write(f"{step}\\n")
        if step + 1 == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
    return b"trained"

with Session("tacit.toml", "ana") as session:
    print(session.spend(program, run).value().decode())
"""


def test_a_job_that_is_killed_is_resumed_and_pays_once(tmp_path: Path) -> None:
    hospital(tmp_path, currency="epsilon").rename(tmp_path / "tacit.toml")
    (tmp_path / "job.py").write_text(KILLED)
    for kill in (3, 7, 99):
        done = subprocess.run(
            [sys.executable, "job.py", str(kill)], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert done.returncode == (0 if kill == 99 else -signal.SIGKILL), done.stderr
    assert done.stdout == "trained\n"
    assert (tmp_path / "steps").read_text().split() == [str(step) for step in range(10)]
    with Session(tmp_path / "tacit.toml", "ana") as session:
        assert spent(session) == 10**12


def test_what_was_saved_is_its_owners_and_of_its_receipt_alone(session: Session) -> None:
    seen: list[JobState] = []

    def saves(run: Run) -> bytes:
        run.save(b"state")
        seen.append(run.state)
        assert run.saved() == b"state"
        assert run.state.path.stat().st_mode & 0o777 == 0o600
        assert run.state.path.parent.stat().st_mode & 0o777 == 0o700
        whole = run.state.path.read_bytes()
        for broken in (whole + b"!", whole[:-1], b"", whole.replace(run.receipt.digest.hex().encode(), b"00" * 32)):
            run.state.path.write_bytes(broken)
            with pytest.raises(InputError, match="its file is damaged"):
                run.saved()
        return b""

    session.spend(histogram(), saves)
    assert not seen[0].path.exists()


@pytest.mark.parametrize("saves", [False, True])
def test_a_job_whose_state_is_damaged_does_not_begin_anew(session: Session, saves: bool) -> None:
    begun: list[bytes | None] = []

    class Long(OwnJob):
        scrubbed = saves  # an analyst's job, whose errors are stored as its outcome

    def long(run: Run) -> bytes:
        begun.append(run.saved())
        run.save(b"half")
        run.watch.stop()
        raise Stopped

    job = Long(histogram(), long)
    job.saves = saves
    with pytest.raises(Stopped):
        session.spend(job)
    (path,) = jobs_folder(session.policy).glob("*.state")
    path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):
        with pytest.raises(InputError, match="drawn a second time"):
            session.spend(job)
    assert begun == [None]
    assert spent(session) == 10**12


def test_a_release_that_is_no_table_is_read_strictly() -> None:
    good = ContentRelease(kind="model", content=b"x").to_bytes()
    for bad in (good.replace(b'"version":1', b'"version":9'), b"tacit release\n{}\n", b"nonsense"):
        with pytest.raises(InputError):
            release_from_bytes(bad)
    assert isinstance(release_from_bytes(good), Release)
