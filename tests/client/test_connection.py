"""A real service on a loopback port, asked over the network and beside it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import tacit.base.errors as errors
from support.relay import Act, Relay, canned, relay
from support.service import COUNT, Running, running
from tacit.base import Denied, InputError, OutcomeUnknown, OverBudget, TacitError
from tacit.client import Connection, connect
from tacit.client.door import ARROW, PROBLEM, Lost, Unreachable
from tacit.desk.certificate.check import check
from tacit.session import Quote, Session, TableRelease

AVERAGES = "SELECT ward, AVG(cost) AS cost, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC"
BUSY = b'{"type": "urn:tacit:problem:rate", "title": "", "status": 429, "detail": "wait"}'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.client.connection.PAUSE", 0.0)


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for everything that spends nothing."""
    with running(tmp_path_factory.mktemp("idle")) as found:
        yield found


def desk(clinic: Running, who: str = "ana") -> Connection:
    return connect(clinic.url, clinic.tokens[who])


def local(clinic: Running, who: str = "ana") -> Session:
    return Session(clinic.service.config.datasets[0], who)


def through(clinic: Running, *acts: Act) -> Any:
    return relay(urlsplit(clinic.url).port, *acts)


def beyond(found: Relay, clinic: Running) -> Connection:
    return connect(found.url, clinic.tokens["ana"])


# --- the same as a session


def test_answers_are_the_local_sessions(clinic: Running) -> None:
    with desk(clinic) as there, local(clinic) as here:
        first = there.ask(AVERAGES, epsilon=0.5)
        again = here.ask(AVERAGES, epsilon=0.5)
        assert isinstance(first, TableRelease)
        assert (first.cached, again.cached) == (False, True)
        assert first.table.equals(again.table, check_metadata=True)
        assert first.json() == again.json()
        assert repr(first) == repr(again)
        assert first.facts["cost"]["epsilon"] == "0.5"
        wide = there.ask(AVERAGES, epsilon="0.5", confidence=0.99)
        assert wide.cached
        assert wide.confidence == 0.99
        assert wide.json() == here.ask(AVERAGES, epsilon=Fraction(1, 2), confidence=0.99).json()
        assert there.left() == here.left()
        assert there.left().epsilon == Fraction(3, 2)


def test_quotes_are_the_local_sessions(idle: Running) -> None:
    with local(idle) as here:
        there = desk(idle)
        for offer in ({"epsilon": 0.3}, {"error": 100}, {"epsilon": 2}):
            quote = there.quote(COUNT, **offer)
            assert isinstance(quote, Quote)
            assert quote.json() == here.quote(COUNT, **offer).json()
            assert repr(quote) == repr(here.quote(COUNT, **offer))
        assert there.left() == here.left()


@pytest.mark.parametrize(
    ("sql", "offer"),
    [
        (COUNT, {}),
        (COUNT, {"epsilon": 5}),
        (COUNT, {"rho": 1}),
        (COUNT, {"epsilon": -1}),
        (COUNT, {"epsilon": 1, "error": 1}),
        ("SELECT drug FROM visits", {"epsilon": 0.1}),
        ("SELECT SUM(patient_id) FROM visits", {"epsilon": 0.1}),
        ("SELECT COUNT(*) FROM nowhere", {"epsilon": 0.1}),
        ("SELEC", {"epsilon": 0.1}),
        (7, {"epsilon": 0.1}),
    ],
)
def test_errors_are_the_local_sessions(idle: Running, sql: Any, offer: dict[str, Any]) -> None:
    with local(idle) as here, pytest.raises(TacitError) as expected:
        here.ask(sql, **offer)
    with pytest.raises(TacitError) as found:
        desk(idle).ask(sql, **offer)
    assert type(found.value) is type(expected.value)
    assert type(found.value).__module__ == errors.__name__
    assert str(found.value) == str(expected.value)


def test_the_budget_as_the_service_tells_it(clinic: Running) -> None:
    there = desk(clinic)
    there.ask(COUNT, epsilon=0.25)
    holders = {holder["holder"]: holder for holder in there.budget()["holders"]}
    assert holders["analyst:ana"]["spent"]["epsilon"] == "0.25"
    assert "analyst:ben" not in holders
    assert not there.quote(COUNT, epsilon=1.9).enough
    with pytest.raises(OverBudget):
        there.ask(COUNT, epsilon=1.9)
    assert there.left().epsilon == Fraction(7, 4)


# --- who, and what


def test_whose_it_is_and_nothing_of_the_token(idle: Running) -> None:
    token = idle.tokens["ana"]
    there = connect(idle.url + "/", f" {token}\n")
    assert (there.dataset, there.analyst) == ("clinic", "ana")
    assert repr(there) == f"Connection('{idle.url}', 'clinic', analyst='ana')"
    assert token not in repr(there) + repr(vars(there))


def test_a_dataset_by_name(idle: Running) -> None:
    assert connect(idle.url, idle.tokens["ana"], dataset="clinic").dataset == "clinic"
    with pytest.raises(Denied, match="those you may are clinic"):
        connect(idle.url, idle.tokens["ana"], dataset="../people")
    with pytest.raises(InputError, match="but none"):
        connect(idle.url, idle.tokens["zoe"])
    several = b'{"items": [{"name": "a b/c"}, {"name": "d"}], "name": "ana"}'
    says = canned("200 OK", "application/json", several)
    with relay(None, *[lambda _: says] * 5, every=True) as two:
        with pytest.raises(InputError, match="a b/c, d"):
            connect(two.url, "t")
        named = connect(two.url, "t", dataset="a b/c")
        with pytest.raises(Lost):
            named.budget()
    assert two.seen[4].startswith(b"GET /v1/datasets/a%20b%2Fc/budget ")


def test_a_token_that_is_wrong_or_revoked(clinic: Running) -> None:
    wrong = "tacit_0123456789ab_" + "A" * 43
    with pytest.raises(Denied, match="still valid") as refused:
        connect(clinic.url, wrong)
    assert wrong not in str(refused.value)
    there = desk(clinic)
    clinic.service.people.revoke(clinic.tokens["ana"].split("_")[1])
    for call in (lambda: there.ask(COUNT, epsilon=0.1), lambda: there.quote(COUNT, epsilon=0.1), there.left):
        with pytest.raises(Denied, match="still valid") as refused:
            call()
        assert clinic.tokens["ana"] not in str(refused.value)


def test_an_auditor_does_not_ask(idle: Running) -> None:
    there = desk(idle, "otto")
    for call in (lambda: there.ask(COUNT, epsilon=0.1), there.left):
        with pytest.raises(Denied):
            call()
    assert there.budget()["left"] is None


# --- what is lost on the way


@pytest.mark.parametrize(
    "loss",
    [lambda _: None, lambda answer: answer[: len(answer) // 2], lambda _: canned("502 Bad Gateway", "text/html", b"?")],
    ids=["nothing", "half", "gateway"],
)
def test_an_answer_that_is_lost_is_fetched_again_and_paid_once(clinic: Running, loss: Act) -> None:
    data = clinic.service.config.datasets[0].parent / "visits.parquet"

    def changed(answer: bytes) -> bytes | None:
        data.touch()  # another version of the data: only the key tells that it is the same question
        return loss(answer)

    with through(clinic, changed) as found:
        there = beyond(found, clinic)
        answer = there.ask(COUNT, epsilon=0.5)
    first, second = found.headers("Idempotency-Key")
    assert first == second
    assert len(first) == 32
    assert answer.cached
    assert there_left(clinic) == Fraction(3, 2)


def there_left(clinic: Running) -> Fraction | None:
    return desk(clinic).left().epsilon


def test_lost_twice_is_not_known_and_asking_again_pays_nothing_more(clinic: Running) -> None:
    data = clinic.service.config.datasets[0].parent / "visits.parquet"
    busy = canned("429 Too Many Requests", PROBLEM, BUSY)
    with through(clinic, lambda _: None, lambda _: None, lambda _: busy) as found:
        there = beyond(found, clinic)
        with pytest.raises(OutcomeUnknown, match="never pays twice") as unknown:
            there.ask(COUNT, epsilon=0.5)
        key = found.headers("Idempotency-Key")[0]
        assert f"key='{key}'" in str(unknown.value)
        assert clinic.tokens["ana"] not in str(unknown.value)
        with pytest.raises(TacitError, match="wait"):  # a refusal says nothing of the charge before it
            there.ask(COUNT, epsilon=0.5)
        data.touch()
        answer = there.ask(COUNT, epsilon=0.5)
        assert set(found.headers("Idempotency-Key")) == {key}
        data.touch()
        assert (
            answer.json() == desk(clinic).ask(COUNT, epsilon=0.5, idempotency_key=key).json()
        )  # from another process, say
        assert there_left(clinic) == Fraction(3, 2)
        assert not there.ask(COUNT, epsilon=0.5).cached  # the data is new, and the old charge had its answer
        assert found.headers("Idempotency-Key")[-1] != key


def test_a_refusal_after_a_loss_says_so(clinic: Running) -> None:
    busy = canned("429 Too Many Requests", PROBLEM, BUSY)
    with through(clinic, lambda _: None, lambda _: busy) as found, pytest.raises(TacitError) as refused:
        beyond(found, clinic).ask(COUNT, epsilon=0.5)
    assert str(refused.value).startswith("wait; an earlier try was lost on the way: ask again with idempotency_key=")


def refusing(name: str) -> Act:
    body = f'{{"type": "urn:tacit:problem:{name}", "detail": "no"}}'.encode()
    return lambda _: canned("503 Service Unavailable", PROBLEM, body)


def test_after_what_may_have_been_charged_the_key_is_kept(clinic: Running) -> None:
    with through(clinic) as found:
        there = beyond(found, clinic)
        for name in ("ledger", "unavailable", "internal", "cancelled", "of-tomorrow"):
            found.acts.append(refusing(name))
            with pytest.raises(TacitError, match="no; ask again with idempotency_key="):
                there.ask(COUNT, epsilon=0.1)
            there.ask(COUNT, epsilon=0.1)
            first, second = found.headers("Idempotency-Key")[-2:]
            assert first == second
    assert len(set(found.headers("Idempotency-Key"))) == 5


def test_an_answer_that_cannot_be_read_is_not_known(clinic: Running) -> None:
    with through(clinic, lambda _: canned("200 OK", ARROW, b"not arrow")) as found:
        there = beyond(found, clinic)
        with pytest.raises(OutcomeUnknown, match="cannot be read"):
            there.ask(COUNT, epsilon=0.5)
        there.ask(COUNT, epsilon=0.5)
    assert there_left(clinic) == Fraction(3, 2)
    assert len(set(found.headers("Idempotency-Key"))) == 1


def test_each_question_has_a_key_of_its_own(clinic: Running) -> None:
    with through(clinic) as found:
        there = beyond(found, clinic)
        there.ask(COUNT, epsilon=0.1)
        there.ask(COUNT, epsilon=0.2)
        assert there.ask(COUNT, epsilon=0.1).cached
        there.ask(COUNT, epsilon=0.2, idempotency_key="mine")
    keys = found.headers("Idempotency-Key")
    assert len(set(keys)) == 4
    assert keys[-1] == "mine"
    for key in ("", "a b", "a\r\nb", "é", "x" * 201):
        with pytest.raises(InputError, match="key must be"):
            there.ask(COUNT, epsilon=0.1, idempotency_key=key)


def test_the_same_question_many_times_at_once_is_paid_once(clinic: Running) -> None:
    there = desk(clinic)
    with ThreadPoolExecutor(8) as pool:
        answers = [future.result() for future in [pool.submit(there.ask, COUNT, epsilon=0.2) for _ in range(16)]]
    assert len({str(answer.json()) for answer in answers}) == 1
    assert there.left().epsilon == Fraction(9, 5)


def test_a_quote_is_asked_twice_at_most(idle: Running) -> None:
    port = urlsplit(idle.url).port
    with relay(port, every=True) as found:
        there = beyond(found, idle)
        found.acts.append(lambda _: None)
        assert there.quote(COUNT, epsilon=0.1).enough
        found.acts += [lambda _: None, lambda _: None]
        with pytest.raises(Lost):
            there.quote(COUNT, epsilon=0.1)
        assert len(found.seen) == 2 + 2 + 2


# --- another server


def test_nobody_there_charges_nothing(idle: Running) -> None:
    with relay(urlsplit(idle.url).port) as found:
        there = beyond(found, idle)
    with pytest.raises(Unreachable, match="nothing was sent"):
        there.ask(COUNT, epsilon=0.1)
    with pytest.raises(Unreachable):
        there.left()


@pytest.mark.parametrize(
    "answer",
    [
        canned("200 OK", "text/html", b"<html>welcome"),
        canned("200 OK", "application/json", b'{"hello": 1}'),
        canned("404 Not Found", "application/json", b"{}"),
        canned("301 Moved", "text/plain", b"", "Location: https://example.org"),
        b"220 mail.example.org ESMTP\r\n",
    ],
)
def test_a_server_of_something_else(answer: bytes) -> None:
    other = relay(None, lambda _: answer, lambda _: answer, every=True)
    with other as found, pytest.raises(Lost, match="tacit service"):
        connect(found.url, "tacit_x")


def test_a_server_that_sends_the_token_back() -> None:
    token = "tacit_0123456789ab_" + "B" * 43
    body = f'{{"type": "urn:tacit:problem:who", "detail": "I know {token}"}}'.encode()
    echo = relay(None, lambda _: canned("401 Unauthorized", PROBLEM, body), every=True)
    with echo as found, pytest.raises(Denied) as refused:
        connect(found.url, token)
    assert str(refused.value) == "I know …"


# --- certificates


def test_a_certificate_comes_from_the_service_and_is_the_ledgers(clinic: Running) -> None:
    there = desk(clinic)
    answer = there.ask(AVERAGES, epsilon=0.5)
    found = there.certificate(answer)
    told: Any = found.content
    assert told["release"]["id"] == answer.name
    assert told["release"]["sql"] == AVERAGES
    assert clinic.service.signer is not None
    with local(clinic) as here:
        again = here.ask(AVERAGES, epsilon=0.5)
        checks = check(found, public_key=clinic.service.signer.public_key, ledger=here.policy.ledger())
        assert all(one.ok for one in checks), checks
        with pytest.raises(InputError, match="no name that a service gave it"):
            there.certificate(again)
    other = desk(clinic, "ben")
    with pytest.raises(TacitError, match="no release with this id"):
        other.certificate(answer)
