"""A federation is one charge: rounds that break off stay paid, a crash replays nothing, a device answers once."""

import json
import os
import signal
from fractions import Fraction
from multiprocessing import connection as wire
from multiprocessing import get_context
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cohorts import Messages, client_keys, policy_in, small_cohort
from tacit.base import Aborted, Denied, InputError, OverBudget
from tacit.learn.federated import Client, Cohort, FederatedRound, Federation
from tacit.learn.federated.masked_sum import MaskedSum
from tacit.learn.weights import arrays_from_bytes
from tacit.loss import from_json
from tacit.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_in(tmp_path), "cora") as opened:
        yield opened


def plan(**changes: Any) -> Federation:
    settings: dict[str, Any] = {"cohort": small_cohort(), "rounds": 3, "sigma": 2, "table": "phones"}
    return Federation(**settings | changes)


def lying_plan() -> Federation:
    registered = tuple(key.public for key in client_keys(5))
    return plan(cohort=small_cohort(server="lying"), registered=registered)


def spent_by(session: Session) -> Any:
    return session.policy.privacy.budget - (session.left_for_curator().rho or 0)


def devices(of: Federation, **more: Any) -> dict[int, Client]:
    keys = client_keys(of.cohort.clients) if of.cohort.server == "lying" else [None] * of.cohort.clients
    return {place: Client(of, place, key=key, **more) for place, key in enumerate(keys, start=1)}


def network(clients: dict[int, Client], number: int, gone: dict[str, list[int]] | None = None) -> Any:
    def exchange(stage: str, messages: Messages) -> Messages:
        return {
            place: clients[place].answer(number, stage, message, np.ones(clients[place].plan.cohort.dimension))
            for place, message in messages.items()
            if place not in (gone or {}).get(stage, [])
        }

    return exchange


@pytest.mark.parametrize("noise", ["distributed", "local", "central"])
def test_a_round_is_summed_once(noise: Any) -> None:
    """Also where whoever carries messages hands out the same answers again."""
    federation = plan(cohort=small_cohort(noise=noise))
    clients, answers = devices(federation), dict[str, Messages]()

    def repeated(stage: str, messages: Messages) -> Messages:
        if stage not in answers:
            answers[stage] = network(clients, 1)(stage, messages)
        return answers[stage]

    one = FederatedRound(federation, 1)
    one.sum(repeated)
    with pytest.raises(InputError, match="one sum"):
        one.sum(repeated)


@pytest.mark.parametrize("noise", ["distributed", "local", "central"])
def test_one_charge_for_all_rounds(session: Session, noise: Any) -> None:
    federation = plan(cohort=small_cohort(noise=noise))
    quoted = federation.quote(session)
    clients, total = devices(federation), np.zeros(6)

    def loop(run: Any) -> None:
        nonlocal total
        for round in run:  # noqa: A001
            total = total + round.mean(network(clients, round.number))
            run.keep(weights=total)

    release = federation.run(session, loop)
    stored, metadata = arrays_from_bytes(release.content)
    assert np.frombuffer(stored["weights"][2]) == pytest.approx(total)
    told = json.loads(metadata["tacit"])
    assert told["rounds"] == 3
    assert told["plan"]["cohort"]["noise"] == noise
    spent = spent_by(session)
    assert float(spent) == pytest.approx(float(quoted.cost.rho or 0))
    assert session.certificate(release).content
    again = federation.run(session, loop)
    assert again.cached
    assert again.content == release.content
    assert spent_by(session) == spent
    assert from_json(json.loads(json.dumps(federation.loss.json()))) == federation.loss


def test_the_price_is_that_of_all_rounds() -> None:
    assert plan().loss == 3 * plan().cohort.loss(2, unit="client")
    stated = plan(sigma=None, epsilon=4, delta=1e-6, rounds=20)
    assert stated.loss.epsilon(1e-6).upper <= 4
    assert 20 * stated.cohort.loss(stated.share * Fraction(95, 100)) != stated.loss
    assert (20 * stated.cohort.loss(stated.share * Fraction(95, 100))).epsilon(1e-6).upper > 4


def test_a_round_that_breaks_off_stays_paid_and_others_go_on(session: Session) -> None:
    federation = plan()
    clients, done = devices(federation), list[int]()

    def loop(run: Any) -> None:
        for round in run:  # noqa: A001
            lost = {"upload": [1, 2]} if round.number == 2 else {}
            try:
                run.keep(weights=round.mean(network(clients, round.number, lost)))
                done.append(round.number)
            except Aborted:
                assert lost

    federation.run(session, loop)
    assert done == [1, 3]
    assert float(spent_by(session)) == pytest.approx(float(federation.program.cost.rho or 0))


def test_a_crash_goes_on_behind_the_round_that_was_begun(session: Session) -> None:
    federation = plan(rounds=4)
    clients, seen = devices(federation), list[int]()

    def loop(run: Any) -> None:
        for round in run:  # noqa: A001
            seen.append(round.number)
            mean = round.mean(network(clients, round.number))
            if len(seen) == 2:
                raise RuntimeError("out of power")  # after the second answer was seen, before it was kept
            run.keep(weights=mean)

    with pytest.raises(RuntimeError):
        federation.run(session, loop)
    spent = spent_by(session)
    federation.run(session, loop)
    assert seen == [1, 2, 3, 4]
    assert spent_by(session) == spent


def test_a_device_takes_part_in_each_round_once(tmp_path: Path) -> None:
    federation = plan()
    state = tmp_path / "device"
    client = Client(federation, 1, state=state)
    client.answer(2, "keys", {})
    for number in (1, 2, 0, -1, 4, True, "3"):
        with pytest.raises(Aborted, match="is not to come"):
            client.answer(number, "keys", {})  # type: ignore[arg-type]  # on purpose
    with pytest.raises(Aborted, match="is not to come"):  # after a restart too
        Client(federation, 1, state=state).answer(2, "keys", {})
    assert oct(state.stat().st_mode & 0o777) == "0o600"
    with pytest.raises(InputError, match="not of this plan"):
        Client(plan(name="another"), 1, state=state)
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(InputError, match="cut short"):
        Client(federation, 1, state=state)


@pytest.mark.parametrize("stage", ["keys", "shares", "upload", "survivors", "unmask"])
def test_a_device_in_two_processes_answers_each_stage_once(tmp_path: Path, stage: str) -> None:
    """As where each message starts a process of its own, and a lying server sends two at a time."""
    federation = lying_plan()
    others, state = devices(federation), tmp_path / "device"
    kept = dict[str, bytes]()

    def process() -> Client:
        found = Client(federation, 1, key=client_keys(5)[0], state=state)
        if kept:
            found.remember(1, kept["secrets"])
        return found

    def exchange(now: str, messages: Messages) -> Messages:
        first, second = process(), process()
        words = np.ones(6)
        answers = {p: others[p].answer(1, now, m, words) for p, m in messages.items() if p != 1}
        answers[1] = first.answer(1, now, messages[1], words)
        if now == stage:
            with pytest.raises(Aborted, match=r"out of turn|is not to come"):
                second.answer(1, now, messages[1], words)
        kept["secrets"] = first.secrets()
        return answers

    assert MaskedSum(federation.terms(1)).run(exchange).shape == (8,)


def test_stages_of_another_setting_and_rounds_out_of_turn() -> None:
    client = Client(plan(), 1)
    with pytest.raises(Aborted, match="no stage of this plan"):
        client.answer(1, "vector", {}, np.ones(6))
    with pytest.raises(Aborted, match="out of turn"):
        Client(plan(), 1).answer(1, "upload", {}, np.ones(6))
    local = Client(plan(cohort=small_cohort(noise="local")), 1)
    with pytest.raises(Aborted, match="no stage of this plan"):
        local.answer(1, "keys", {})
    with pytest.raises(InputError, match="pass vector"):
        Client(plan(cohort=small_cohort(noise="local")), 1).answer(1, "vector", {})


def test_what_is_known_before_is_refused_before(session: Session) -> None:
    with pytest.raises(InputError, match="give either epsilon"):
        plan(epsilon=1)
    with pytest.raises(InputError, match="needs a delta"):
        plan(sigma=None, epsilon=1)
    with pytest.raises(InputError, match="say bits="):
        plan(cohort=small_cohort(bits=4))
    with pytest.raises(InputError, match="registered"):
        plan(cohort=small_cohort(server="lying"))
    with pytest.raises(InputError, match=r"say Federation\(unit=…\)"):
        plan(unit="household").run(session, lambda run: None)
    with pytest.raises((OverBudget, Denied), match="may cost at most 2"):
        plan(sigma="1/100", cohort=small_cohort(bits=24)).run(session, lambda run: None)
    assert not spent_by(session)


# --- real processes on loopback

CLIENTS, LOST = 20, 6
SIZE = 50


def federation_of_twenty() -> Federation:
    cohort = Cohort(clients=CLIENTS, survivors=CLIENTS - LOST, clip=10, dimension=SIZE, bits=24, server="lying")
    return Federation(
        cohort=cohort,
        rounds=2,
        sigma="1/10",
        table="phones",
        registered=tuple(key.public for key in client_keys(CLIENTS)),
    )


def device(address: Any, secret: bytes, place: int, dies_at: tuple[int, str] | None) -> None:
    """A process of its own: it is killed at a stage of a round, or answers all."""
    client = Client(federation_of_twenty(), place, key=client_keys(CLIENTS)[place - 1])
    with wire.Client(address, authkey=secret) as line:
        line.send(place)
        while (asked := line.recv()) is not None:
            number, stage, message = asked
            if (number, stage) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            line.send(client.answer(number, stage, message, np.full(SIZE, place / 10.0)))


def over(lines: dict[int, Connection], number: int) -> Any:
    def exchange(stage: str, messages: Messages) -> Messages:
        for place, message in messages.items():
            if place in lines:
                try:
                    lines[place].send((number, stage, message))
                except OSError:
                    lines.pop(place)
        answers = {}
        for place in sorted(messages.keys() & lines.keys()):
            try:
                answers[place] = lines[place].recv() if lines[place].poll(60) else {}
            except (EOFError, OSError):
                lines.pop(place)
        return answers

    return exchange


@pytest.mark.parametrize("lost", [LOST, LOST + 1])
def test_twenty_processes_some_of_which_are_killed(lost: int, tmp_path: Path) -> None:
    federation, chance = federation_of_twenty(), np.random.default_rng(lost)
    stages = ["keys", "shares", "upload", "survivors", "unmask"]
    deaths = {int(p): (2, stages[chance.integers(5)]) for p in chance.permutation(CLIENTS)[:lost] + 1}
    secret, lines = os.urandom(16), dict[int, Connection]()
    with Listener(("127.0.0.1", 0), backlog=CLIENTS, authkey=secret) as listener:
        context = get_context("fork")
        started = [
            context.Process(target=device, args=(listener.address, secret, place, deaths.get(place)), daemon=True)
            for place in range(1, CLIENTS + 1)
        ]
        for process in started:
            process.start()
        for _ in started:
            line = listener.accept()
            lines[line.recv()] = line
        policy = policy_in(tmp_path, limit=1000)
        means: dict[int, Any] = {}

        def loop(run: Any) -> None:
            for round in run:  # noqa: A001
                means[round.number] = (round.mean(over(lines, round.number)), round.survivors)
                run.keep(weights=means[round.number][0])

        with Session(policy, "cora") as session:
            if lost > LOST:
                with pytest.raises(Aborted, match="nothing is released"):
                    federation.run(session, loop)
                assert list(means) == [1]
            else:
                federation.run(session, loop)
            assert spent_by(session) == federation.program.cost.rho  # once, for both rounds
        for line in lines.values():
            line.send(None)
        for process in started:
            process.join(20)
    for mean, survivors in means.values():
        wanted = np.mean([place / 10 for place in survivors])
        assert len(survivors) >= CLIENTS - LOST
        assert np.abs(mean - wanted).max() < 6 * 0.1 / np.sqrt(len(survivors)) + 0.05
    if lost == LOST:
        assert not {p for p, (_, stage) in deaths.items() if stage in stages[:3]} & set(means[2][1])
    assert sum(process.exitcode == -signal.SIGKILL for process in started) == lost
