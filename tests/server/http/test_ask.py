"""Quotes, answers, keys and jobs, over a real socket."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pytest

from support.seats import all_taken
from support.service import COUNT, Running, running
from support.service import clinic as clinic_of
from tacit.policy import Policy
from tacit.session import Session, TableRelease
from tacit.sql.job import Plans


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all questions that are refused: nothing is ever spent there."""
    with running(tmp_path_factory.mktemp("idle")) as found:
        yield found


def spent(clinic: Running, who: str = "ana") -> Decimal:
    found = clinic.call(who, "GET", "/v1/datasets/clinic/budget").json()
    mine = [holder for holder in found["holders"] if holder["holder"] == f"analyst:{who}"]
    return Decimal(mine[0]["spent"]["epsilon"])


def finished(clinic: Running, who: str, where: str) -> dict[str, Any]:
    for _ in range(500):
        found: dict[str, Any] = clinic.call(who, "GET", where).json()
        if found["state"] not in ("queued", "running"):
            return found
        sleep(0.02)
    raise AssertionError("the job does not end")


def test_a_quote_is_free_and_says_what_asking_then_costs(clinic: Running) -> None:
    quoted = clinic.call("ana", "POST", "/v1/datasets/clinic/quote", json={"sql": COUNT, "epsilon": "0.5"}).json()
    assert quoted["cost"]["epsilon"] == "0.5"
    assert quoted["left"]["epsilon"] == "1.5"
    assert [(c["name"], c["type"]) for c in quoted["columns"]] == [("ward", "text"), ("visits", "integer")]
    assert spent(clinic) == 0
    asked = clinic.ask("ana", epsilon=0.5)
    assert asked.json()["facts"]["cost"]["epsilon"] == "0.5"
    assert asked.json()["cached"] is False
    assert spent(clinic) == Decimal("0.5")


def in_mu_squared(folder: Path) -> Path:
    policy = clinic_of(folder)
    text = policy.read_text()
    policy.write_text(text.replace('currency = "epsilon"', 'currency = "mu_squared"'))
    return policy


def test_a_dataset_in_mu_squared(tmp_path: Path) -> None:
    with running(tmp_path, in_mu_squared) as service:
        offer = {"sql": COUNT, "mu_squared": "0.5"}
        quoted = service.call("ana", "POST", "/v1/datasets/clinic/quote", json=offer).json()
        assert Decimal("0.4999") < Decimal(quoted["cost"]["mu_squared"]) <= Decimal("0.5")
        asked = service.ask("ana", mu_squared=0.5).json()
        assert asked["facts"]["currency"] == "mu_squared"
        budget = service.call("ana", "GET", "/v1/datasets/clinic/budget").json()
        assert budget["currency"] == "mu_squared"
        (mine,) = [holder for holder in budget["holders"] if holder["holder"] == "analyst:ana"]
        assert Decimal(mine["spent"]["mu_squared"]) == Decimal(quoted["cost"]["mu_squared"])
        meaning = service.call("ana", "GET", "/v1/datasets/clinic/meaning", params={"mu_squared": "0.5"}).json()
        assert meaning["epsilon"] > 0
        refused = service.ask("ana", rho=0.5)
        assert refused.status_code == 422
        assert "paid for in mu_squared" in refused.json()["detail"]


def test_the_same_question_again_is_free_and_the_same(clinic: Running) -> None:
    first, again = clinic.ask("ana").json(), clinic.ask("ana").json()
    assert again["cached"]
    assert again["rows"] == first["rows"]
    assert again["id"] == first["id"]
    assert spent(clinic) == Decimal("0.1")


def test_an_answer_as_json_csv_and_arrow(clinic: Running) -> None:
    told = clinic.ask("ana").json()
    arrow = clinic.ask("ana", headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert arrow.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert arrow.headers["tacit-release"] == told["id"]
    release = TableRelease.from_bytes(arrow.content)
    assert release.json() == {
        key: value for key, value in told.items() if key not in ("id", "key", "idempotency_key", "cached")
    }
    assert arrow.headers["idempotency-key"] == told["key"] == told["idempotency_key"]
    with pa.ipc.open_stream(arrow.content) as reader:
        assert reader.read_all().column("visits").to_pylist() == [row[1] for row in told["rows"]]
    csv = clinic.ask("ana", headers={"Accept": "text/csv;q=0.9, text/html"})
    assert csv.headers["content-type"].startswith("text/csv")
    assert csv.text.splitlines()[0] == '"ward","visits","visits_low","visits_high","visits_covers"'
    assert spent(clinic) == Decimal("0.1")


def test_a_form_that_there_is_not_is_refused_before_anything_is_paid(clinic: Running) -> None:
    answer = clinic.ask("ana", headers={"Accept": "image/png"})
    assert (answer.status_code, answer.json()["type"]) == (406, "urn:tacit:problem:accept")
    assert spent(clinic) == 0


def test_the_service_names_a_charge_that_the_caller_did_not(clinic: Running) -> None:
    body = {"sql": COUNT, "epsilon": 0.1}
    quoted = clinic.call("ana", "POST", "/v1/datasets/clinic/quote", json=body).json()
    assert (quoted["answered"], quoted["versioned"]) == (False, True)
    answer = clinic.ask("ana")
    assert answer.json()["key"] == answer.headers["idempotency-key"] == quoted["key"]
    spelled = clinic.ask("ana", COUNT.lower(), headers={"Idempotency-Key": quoted["key"]})  # which means the same
    assert (spelled.status_code, spelled.json()["cached"]) == (200, True)
    another = clinic.ask("ana", COUNT, headers={"Idempotency-Key": quoted["key"]}, epsilon=0.2)
    assert another.status_code in (409, 422)
    assert another.json()["key"] == quoted["key"]
    assert "nothing was charged" in another.json()["detail"]
    assert spent(clinic) == Decimal("0.1")
    assert "key" not in clinic.ask("ana", "SELECT").json()  # nothing could be charged


def test_a_key_never_pays_twice_even_when_the_data_changed(clinic: Running) -> None:
    headers = {"Idempotency-Key": "first-try"}
    first = clinic.ask("ana", headers=headers).json()
    data = clinic.service.config.datasets[0].parent / "visits.parquet"
    data.touch()  # another version of the data: without the key this is a new question
    again = clinic.ask("ana", headers=headers).json()
    assert again["rows"] == first["rows"]
    assert spent(clinic) == Decimal("0.1")
    assert clinic.ask("ana").json()["cached"] is False
    assert spent(clinic) == Decimal("0.2")


def test_a_key_that_was_first_used_elsewhere_is_refused_too(clinic: Running) -> None:
    with Session(clinic.service.config.datasets[0], "ana") as session:
        mine = session.ask(COUNT, epsilon=0.1, idempotency_key="one")
    headers = {"Idempotency-Key": "one"}
    other = clinic.ask("ana", "SELECT COUNT(*) FROM visits", headers=headers)
    assert (other.status_code, other.json()["type"]) == (409, "urn:tacit:problem:key-used")
    assert "use a new key" in other.json()["detail"]
    assert spent(clinic) == Decimal("0.1")
    assert clinic.ask("ben", headers=headers, epsilon=0.1).status_code == 200
    assert mine.facts["ledger"]["key"] == "one"


def test_a_key_of_another_question_is_refused_and_charges_nothing(clinic: Running) -> None:
    headers = {"Idempotency-Key": "one"}
    clinic.ask("ana", headers=headers)
    other = clinic.ask("ana", "SELECT COUNT(*) FROM visits", headers=headers)
    assert (other.status_code, other.json()["type"]) == (422, "urn:tacit:problem:key-reused")
    more = clinic.ask("ana", headers=headers, epsilon=0.2)
    assert more.status_code == 422
    assert spent(clinic) == Decimal("0.1")
    assert clinic.ask("ben", headers=headers, epsilon=0.2).status_code == 200  # keys are each one's own


def test_one_key_sent_many_times_at_once_pays_once(clinic: Running) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(clinic.ask, "ana", headers={"Idempotency-Key": "race"}) for _ in range(16)]
    answers = [future.result() for future in asked]
    assert {answer.status_code for answer in answers} == {200}
    assert len({str(answer.json()["rows"]) for answer in answers}) == 1
    assert spent(clinic) == Decimal("0.1")


def test_many_analysts_never_spend_more_than_there_is(clinic: Running) -> None:
    def one(number: int) -> int:
        return clinic.ask(("ana", "ben")[number % 2], f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}",
                          epsilon=0.4).status_code  # fmt: skip

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(one, range(16)))
    assert set(codes) == {200, 403}
    found = clinic.call("cora", "GET", "/v1/datasets/clinic/budget").json()
    total = next(holder for holder in found["holders"] if holder["holder"] == "dataset")
    assert Decimal(total["spent"]["epsilon"]) == Decimal("0.4") * codes.count(200) <= 3


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        ({"sql": "SELECT * FROM visits", "epsilon": 1}, 422, "refused"),
        ({"sql": "DROP TABLE visits", "epsilon": 1}, 422, "refused"),
        ({"sql": COUNT}, 422, "unpriced"),
        ({"sql": COUNT, "epsilon": 1, "rho": 1}, 422, "input"),
        ({"sql": COUNT, "epsilon": 2.5}, 403, "denied"),
        ({"sql": "SELECT MEDIAN(patient_id) FROM visits", "epsilon": 1}, 422, "undeclared"),
        ({"sql": COUNT, "epsilon": 0}, 422, "request"),
        ({"sql": COUNT, "epsilon": "1e-999999999"}, 422, "request"),
        ({"sql": COUNT, "epsilon": "1e999999999"}, 422, "request"),
        ({"sql": COUNT, "epsilon": "NaN"}, 422, "request"),
        ({"sql": COUNT, "epsilon": 1, "confidence": 1}, 422, "request"),
        ({"sql": COUNT, "epsilon": 1, "noise": False}, 422, "request"),
        ({"sql": "", "epsilon": 1}, 422, "request"),
        ([], 422, "request"),
    ],
)
def test_every_refusal_is_a_problem_and_costs_nothing(idle: Running, body: Any, status: int, name: str) -> None:
    answer = idle.call("ana", "POST", "/v1/datasets/clinic/ask", json=body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:tacit:problem:{name}"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert spent(idle) == 0


def test_the_end_of_the_budget(clinic: Running) -> None:
    assert clinic.ask("ana", epsilon=1.5).status_code == 200
    over = clinic.ask("ana", "SELECT COUNT(*) FROM visits", epsilon=0.6)
    assert (over.status_code, over.json()["type"]) == (403, "urn:tacit:problem:over-budget")
    assert "has 0.5 epsilon" in over.json()["detail"]


def test_tables_that_are_not_ones_own_do_not_exist(clinic: Running) -> None:
    assert clinic.ask("ana", "SELECT COUNT(*) FROM staff", epsilon=0.1).status_code == 200
    hidden = clinic.ask("ben", "SELECT COUNT(*) FROM staff", epsilon=0.1)
    never = clinic.ask("ben", "SELECT COUNT(*) FROM stuff", epsilon=0.1)
    assert hidden.status_code == never.status_code == 422
    assert hidden.json()["detail"].replace("staff", "stuff") == never.json()["detail"]


def test_a_job_ends_with_a_release(clinic: Running) -> None:
    taken = clinic.ask("ana", headers={"Prefer": "respond-async"})
    assert taken.status_code == 202
    done = finished(clinic, "ana", taken.headers["location"])
    assert done["state"] == "done"
    assert clinic.call("ana", "GET", done["release"]).json()["columns"] == ["ward", "visits"]
    assert clinic.ask("ana").json()["cached"]
    assert [job["id"] for job in clinic.call("ana", "GET", "/v1/jobs").json()["items"]] == [done["id"]]
    assert clinic.call("ben", "GET", taken.headers["location"]).status_code == 404
    assert clinic.call("ben", "DELETE", taken.headers["location"]).status_code == 404
    assert clinic.call("ben", "GET", "/v1/jobs").json() == {"items": []}


def test_what_is_refused_is_refused_before_it_is_a_job(clinic: Running) -> None:
    answer = clinic.ask("ana", "SELECT * FROM visits", headers={"Prefer": "respond-async"}, epsilon=1)
    assert answer.status_code == 422
    assert clinic.call("ana", "GET", "/v1/jobs").json() == {"items": []}


def test_to_cancel_gives_nothing_back_and_asking_again_pays_no_more(clinic: Running) -> None:
    opened = clinic.service.datasets._opened["clinic"]
    with all_taken(opened.engine):  # somebody else's question has the engine
        taken = clinic.ask("ana", headers={"Prefer": "respond-async"})
        for _ in range(500):
            if spent(clinic):
                break
            sleep(0.01)
        gone = clinic.call("ana", "DELETE", taken.headers["location"]).json()
    assert gone["state"] == "cancelled"
    assert finished(clinic, "ana", taken.headers["location"])["state"] == "cancelled"
    assert spent(clinic) == Decimal("0.1")
    again = clinic.ask("ana")
    assert again.status_code == 200, again.text
    assert spent(clinic) == Decimal("0.1")


ASK, QUOTE = "/v1/datasets/clinic/ask", "/v1/datasets/clinic/quote"
BODY = {"sql": COUNT, "epsilon": 0.1}


def test_an_answer_again_has_the_same_headers_and_says_that_it_was_known(clinic: Running) -> None:
    first = clinic.call("ana", "POST", ASK, json=BODY)
    again = clinic.call("ana", "POST", ASK, json=BODY)
    assert (first.json()["cached"], again.json()["cached"]) == (False, True)
    assert {**first.json(), "cached": True} == again.json()
    assert again.headers["tacit-release"] == first.headers["tacit-release"]
    assert again.headers["tacit-cached"] == "true"
    assert again.headers["content-type"] == "application/json"
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]


def test_data_that_changed_on_the_way_belong_to_no_later_question(
    clinic: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, times = Session.spend, iter(range(1, 100))
    data = Path(clinic.service.datasets._opened["clinic"].path).parent / "visits.parquet"

    def moved(self: Session, *given: Any, **more: Any) -> Any:
        found = first(self, *given, **more)
        os.utime(data, ns=(1, next(times)))
        return found

    monkeypatch.setattr(Session, "spend", moved)
    for _ in range(2):
        assert clinic.call("ana", "POST", ASK, json=BODY).json()["cached"] is False


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_a_request_is_planned_and_decided_once(clinic: Running, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for kind, name in ((Plans, "plan"), (Policy, "decide")):
        first: Any = getattr(kind, name)

        def noted(*given: Any, _first: Any = first, _name: str = name, **more: Any) -> Any:
            done.append(_name)
            return _first(*given, **more)

        monkeypatch.setattr(kind, name, noted)
    assert clinic.call("ana", "POST", path, json=BODY).status_code == 200
    assert done == ["plan", "decide"]


def test_requests_for_known_answers_are_counted(tmp_path: Path) -> None:
    with running(tmp_path, rate=5) as clinic:
        found = [clinic.call("ana", "POST", ASK, json=BODY).status_code for _ in range(7)]
    assert found == [200] * 5 + [429] * 2


def test_a_quote_again_knows_what_was_spent_since(clinic: Running) -> None:
    before = clinic.call("ana", "POST", QUOTE, json=BODY).json()
    assert clinic.call("ana", "POST", QUOTE, json=BODY).json() == before
    clinic.call("ana", "POST", ASK, json=BODY)
    after = clinic.call("ana", "POST", QUOTE, json=BODY).json()
    assert float(before["left"]["epsilon"]) - float(after["left"]["epsilon"]) == pytest.approx(0.1)
    assert (before["answered"], after["answered"]) == (False, True)
    assert {**after, "left": before["left"], "answered": False} == before


def test_a_quote_again_says_when_it_is_too_much(clinic: Running) -> None:
    large = {"sql": COUNT, "epsilon": 1.9}
    assert clinic.call("ana", "POST", QUOTE, json=large).json()["enough"]
    clinic.call("ana", "POST", ASK, json=BODY)
    clinic.call("ana", "POST", ASK, json={**BODY, "epsilon": 0.05})
    assert not clinic.call("ana", "POST", QUOTE, json=large).json()["enough"]


def test_each_form_and_each_person_has_its_own(clinic: Running) -> None:
    for _ in range(2):
        plain = clinic.call("ana", "POST", ASK, json=BODY)
        table = clinic.call("ana", "POST", ASK, json=BODY, headers={"Accept": "text/csv"})
        other = clinic.call("ben", "POST", ASK, json=BODY)
        assert plain.headers["content-type"] == "application/json"
        assert table.headers["content-type"].startswith("text/csv")
        assert plain.json()["rows"] != other.json()["rows"]
        assert str(plain.json()["rows"][0][1]) in table.text


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_a_token_that_was_revoked_gets_nothing_more(clinic: Running, path: str) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", path, json=BODY).status_code == 200
    clinic.service.people.revoke(clinic.tokens["ana"])
    assert clinic.call("ana", "POST", path, json=BODY).status_code == 401


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_somebody_who_was_barred_gets_nothing_more(clinic: Running, path: str) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", path, json=BODY).status_code == 200
    clinic.service.people.bar("ana")
    assert clinic.call("ana", "POST", path, json=BODY).status_code == 401


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_a_policy_that_changed_is_asked_again(clinic: Running, path: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert clinic.call("ben", "POST", path, json=BODY).status_code == 200
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ben]", "[analysts.bertha]"))
    assert clinic.call("ben", "POST", path, json=BODY).status_code == 404


def test_a_limit_that_was_lowered_shows_in_the_next_quote(clinic: Running, tmp_path: Path) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", QUOTE, json=BODY).json()["left"]["epsilon"] == "1.9"
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ana]\nlimit = 2", "[analysts.ana]\nlimit = 0.5"))
    assert clinic.call("ana", "POST", QUOTE, json=BODY).json()["left"]["epsilon"] == "0.4"


def test_data_that_changed_are_a_new_question(clinic: Running, tmp_path: Path) -> None:
    for _ in range(2):
        clinic.call("ana", "POST", ASK, json=BODY)
    paid = spent(clinic)
    os.utime(tmp_path / "visits.parquet", ns=(1, 1))
    assert clinic.call("ana", "POST", ASK, json=BODY).json()["cached"] is False
    assert spent(clinic) == 2 * paid


def test_a_role_that_may_not_ask_is_told_so(clinic: Running) -> None:
    assert clinic.call("ana", "POST", ASK, json=BODY).status_code == 200
    assert clinic.call("otto", "POST", ASK, json=BODY).status_code == 403
    assert clinic.call(None, "POST", ASK, json=BODY).status_code == 401


def test_a_forged_request_of_a_browser_is_refused(clinic: Running) -> None:
    link = clinic.service.people.link("ana")
    with clinic.client() as browser:
        browser.post("/signin", data={"link": link})
        guard = browser.get("/v1/me").json()["csrf"]
        for _ in range(2):
            assert browser.post(ASK, json=BODY, headers={"X-CSRF-Token": guard}).status_code == 200
        assert browser.post(ASK, json=BODY).status_code == 403
        evil = {"X-CSRF-Token": guard, "Origin": "https://evil.example"}
        assert browser.post(ASK, json=BODY, headers=evil).status_code == 403


def test_an_explanation_is_free_and_needs_no_offer(clinic: Running) -> None:
    found = clinic.call("ana", "POST", "/v1/datasets/clinic/explain", json={"sql": COUNT}).json()
    kinds = [finding["kind"] for finding in found["findings"]]
    assert kinds[:2] == ["unit", "table"]
    assert found["titles"].keys() == {*kinds}
    assert [column["name"] for column in found["columns"]] == ["ward", "visits"]
    wrong = clinic.call("ana", "POST", "/v1/datasets/clinic/explain", json={"sql": "SELECT cost FROM visits"})
    assert wrong.status_code == 422
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "2"
