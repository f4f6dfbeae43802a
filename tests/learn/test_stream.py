"""Streams: the price is that of the worst events that are let in, counts are right but for the noise, and no crash
tells the same data twice or gives two data one noise."""

import os
import signal
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.learning import POLICY, policy_of
from tacit.base import InputError, LedgerError
from tacit.desk.state import jobs_folder
from tacit.learn import Counter, Stream
from tacit.learn.stream import FINE
from tacit.learn.stream_state import StreamState
from tacit.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Any:
    path = policy_of(tmp_path)
    path.write_text(POLICY.replace('"epsilon"', '"rho"'), encoding="utf-8")
    with Session(path, "cora") as opened:
        yield opened


def plan(**changes: Any) -> Counter:
    given: dict[str, Any] = {"steps": 6, "sigma": 1, "times": 2, "separation": 2, "name": "visits"}
    return Counter(**(given | changes))


def fed(*ticks: Any) -> Any:
    def loop(stream: Stream) -> None:
        for units in ticks[stream.step :]:
            stream.tick(units)

    return loop


def test_sensitivities_and_errors_are_those_of_the_literature() -> None:
    for steps, most in ((1024, 3.27255), (4096, 3.71388)):
        one = Counter(steps=steps, sigma=1)
        assert one.error() * float(one.sensitivity) == pytest.approx(most, rel=1e-5)
    for steps, separation, found in ((1024, 256, 4.38783), (1024, 64, 13.90078), (4096, 512, 7.80616)):
        counter = Counter(steps=steps, sigma=1, times=steps // separation, separation=separation)
        assert float(counter.sensitivity) == pytest.approx(found, rel=1e-5)
    tree = Counter(steps=1024, sigma=1)
    assert tree.tree_error * float(tree.sensitivity) == pytest.approx(10.488, rel=1e-4)


@pytest.mark.parametrize(("times", "separation"), [(1, 1), (2, 2), (3, 1), (3, 3), (8, 1)])
def test_no_pattern_that_is_let_in_moves_more(times: int, separation: int) -> None:
    """All patterns of a unit's ticks for n = 8, and all signs as under replace; one less apart would move more."""
    n = 8
    counter = Counter(steps=n, sigma=1, times=times, separation=separation)
    c = counter._coefficients
    matrix = np.array([[c[i - j] if i >= j else 0 for j in range(n)] for i in range(n)]) / FINE
    moves = {}
    for turns in range(1, times + 1):
        for at in combinations(range(n), turns):
            gap = min((b - a for a, b in pairwise(at)), default=n)
            moves[at] = (gap, float(np.linalg.norm(matrix[:, at].sum(axis=1))))
    allowed = [move for gap, move in moves.values() if gap >= separation]
    assert max(allowed) <= float(counter.sensitivity) <= max(allowed) * (1 + 1e-8)
    closer = [move for gap, move in moves.values() if gap >= separation - 1]
    if separation > 1 and times > 1:
        assert max(closer) > float(counter.sensitivity)


def test_what_is_priced_runs(session: Session) -> None:
    counter = plan(sigma="1/2")
    before = session.left().rho
    counter.run(session, lambda stream: None)
    assert before is not None
    paid = float(before) - float(session.left().rho or 0)
    assert paid == pytest.approx(float(counter.sensitivity) ** 2 / 2 * 4, rel=1e-6)
    found: list[float] = []

    def loop(stream: Stream) -> None:
        assert stream._run.program.steps == (counter.step(),)
        found.extend(int(noisy) / FINE for noisy in stream._state.released())
        stream.tick([])

    counter.run(session, loop)
    # independent noise of the priced sigma on each y
    noise = counter.step().mechanism
    drawn = np.array([noise.sample(0) for _ in range(2000)]) / FINE
    assert drawn.std() == pytest.approx(0.5, rel=0.1)


def test_counts_are_right_but_for_the_noise(session: Session) -> None:
    counter = plan(steps=40, sigma="1/1000", times=40, separation=1, name="fine")
    with pytest.raises(Exception, match="may cost"):
        counter.run(session, fed([1]))
    wide = plan(steps=40, sigma=5, times=1, separation=1)
    ticks = [[f"p{40 * t + i}" for i in range(30)] for t in range(40)]
    release = wide.run(session, fed(*ticks))
    assert release is not None
    told = release.value()
    off = np.abs(np.array(told["counts"]) - 30 * np.arange(1, 41)) / np.array(told["margins"])
    assert (off < 1).mean() > 0.6
    assert off.max() < 4


def test_what_was_declared_is_enforced(session: Session) -> None:
    counted: list[int] = []

    def loop(stream: Stream) -> None:
        for units in ([1, 1, 2], [1], [1.0, "2"], [], [1, 2], [1]):
            stream.tick(units)
        counted.extend(stream._true)

    plan().run(session, loop)
    # once a tick; not one tick later; a second time two ticks later; never a third time
    assert counted == [2, 0, 2, 0, 0, 0]


def test_an_account_in_epsilon_pays_for_it_as_one_mechanism(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path), "cora") as session:
        counter = plan(sigma=4)
        assert counter.run(session, fed([1])) is None
        paid = 20 - float(session.left().epsilon or 0)
        assert paid == pytest.approx(counter.loss().epsilon(1e-4).upper, rel=1e-3)  # a tenth of the dataset's delta
        assert plan(sigma=4, name="other").quote(session, delta="1e-6").enough


def test_it_rests_and_goes_on_and_is_paid_once(session: Session) -> None:
    first: list[Any] = []

    def some(stream: Stream) -> None:
        first.extend(stream.tick([7]) for _ in range(2))

    assert plan().run(session, some) is None
    left = session.left()

    def rest(stream: Stream) -> None:
        assert stream.ticks == first
        assert stream.step == 2
        with pytest.raises(InputError, match="next tick is 2"):
            stream.tick([8], at=1)
        for step in range(2, 6):
            stream.tick([step], at=step)
        with pytest.raises(InputError, match="all 6 ticks"):
            stream.tick([])

    release = plan().run(session, rest)
    assert release is not None
    assert release.value()["counts"][:2] == [tick.count for tick in first]
    assert session.left() == left
    again = plan().run(session, rest)
    assert again is not None
    assert again.cached
    assert not list(jobs_folder(session.policy).glob("*.stream"))


KILLED = """
import os, signal, sys
from tacit.learn import Counter
from tacit.learn.stream_state import StreamState
from tacit.session import Session

where = sys.argv[2]
usual = getattr(StreamState, where)

def dies(self, *given, **more):
    if len(self.released()) == 2:
        if sys.argv[3] == "after":
            usual(self, *given, **more)
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(self, *given, **more)

setattr(StreamState, where, dies)

def loop(stream):
    for step in range(6):
        print(stream.tick([step, step + 100]), flush=True)

with Session(sys.argv[1], "cora") as session:
    Counter(steps=6, sigma=1, times=2, separation=2, name="visits").run(session, loop)
"""


@pytest.mark.parametrize(
    ("where", "when"),
    [
        ("commit", "after"),
        pytest.param("commit", "before", marks=pytest.mark.slow),
        pytest.param("release", "after", marks=pytest.mark.slow),
    ],
)
def test_a_kill_between_ticks_repeats_no_noise_and_loses_no_tick(
    session: Session, tmp_path: Path, where: str, when: str
) -> None:
    """Killed before the events of a tick are fixed, between that and its noise, and after its noise is kept."""
    program = [sys.executable, "-c", KILLED, str(tmp_path / "tacit.toml"), where, when]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert died.returncode == -signal.SIGKILL, died.stderr
    shown = died.stdout.splitlines()
    assert len(shown) == 2
    left = session.left()
    kept: dict[str, Any] = {}

    def loop(stream: Stream) -> None:
        kept["ticks"], kept["true"] = list(stream.ticks), list(stream._true)
        kept["noisy"] = stream._state.released()

    assert plan().run(session, loop) is None
    assert session.left() == left
    assert [str(tick) for tick in kept["ticks"][:2]] == shown  # what was shown stays
    # a tick whose events were fixed is finished with these events, before any other can be fed
    assert len(kept["ticks"]) == len(kept["true"]) == (2 if (where, when) == ("commit", "before") else 3)
    assert kept["true"] == [2] * len(kept["true"])

    def same(stream: Stream) -> None:
        assert stream._state.released() == kept["noisy"]  # no number is drawn again

    plan().run(session, same)


def test_a_stream_whose_state_is_gone_does_not_begin_again(session: Session) -> None:
    plan().run(session, fed([1]))
    (state,) = jobs_folder(session.policy).glob("*.stream")
    assert state.stat().st_mode & 0o777 == 0o600
    held = state.read_bytes()
    for content in (None, b"", b"no database at all" * 100):
        state.unlink() if content is None else state.write_bytes(content)
        with pytest.raises(InputError, match="cannot go on"):
            plan().run(session, fed([1], [2]))
    state.write_bytes(held)
    plan().run(session, fed([1], [2]))


def test_a_tick_is_released_once(tmp_path: Path) -> None:
    with StreamState.begin(tmp_path / "a.stream", "r") as state:
        assert state.commit(0, ["a", "b", "a"], times=1, separation=1) == 2
        state.release(0, 5)
        with pytest.raises(LedgerError, match="released before"):
            state.release(0, 6)
    with pytest.raises(LedgerError, match="there already"):
        StreamState.begin(tmp_path / "a.stream", "r")
    with pytest.raises(InputError, match="cannot go on"):
        StreamState.resume(tmp_path / "a.stream", "other")


@pytest.mark.parametrize(
    "change", [{"steps": 0}, {"sigma": 0}, {"sigma": 1e-9}, {"times": 0}, {"separation": -1}, {"steps": 2.5}]
)
def test_bad_plans_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        plan(**change)


def test_bad_ticks_are_refused_and_nothing_is_lost(session: Session) -> None:
    def loop(stream: Stream) -> None:
        for units in ("abc", [None], [True], [0.5], [float("nan")]):
            with pytest.raises(InputError, match="unit"):
                stream.tick(units)
        assert stream.step == 0
        stream.tick([1])

    plan().run(session, loop)
