"""Every route for every role, both ways; and nobody who does not say who they are."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from support.declared import draft, shop
from support.service import COUNT, Running, running
from support.surveys import SLEEP, written
from tacit.desk.state import JobState, jobs_folder
from tacit.engine import Watch
from tacit.ledger import Receipt
from tacit.policy import Amount
from tacit.server.auth.identify import RIGHTS
from tacit.server.auth.people import Identity
from tacit.server.http.app import application

EVERYBODY = {"cora", "ana", "otto"}  # one of each role
ASKERS, WATCHERS, GOVERNORS = {"cora", "ana"}, {"cora", "otto"}, {"cora"}
QUESTION = {"sql": COUNT, "epsilon": 0.01}
LINE = {"model": "linear", "table": "visits", "features": ["age"], "label": "cost", "epsilon": "0.05", "delta": "1e-7"}
FIT = {"kind": "train", "settings": LINE}
SURVEY = {
    "title": "Lunch",
    "name": "lunch",
    "epsilon": "1",
    "questions": [{"name": "ate", "ask": "Did you eat?", "kind": "yes-no"}],
}

MARKET = {"rules": {"rule": "price", "table": "visits", "epsilon": "0.1"}, "agents": ["ana", "cora"]}
# Past the door there may be nothing: no profile is declared, nobody ran the market, an answer has no other form.
NOTHING = {"/profile": "no-profile", "/advice": "no-advice", "/{form}": "no-form"}

# method, path, body, who may. What is behind {release}, {job} and {market} is the caller's own.
MATRIX: list[tuple[str, str, object, set[str]]] = [
    ("GET", "/v1/me", None, EVERYBODY),
    ("GET", "/ask", None, ASKERS),
    ("GET", "/budget", None, EVERYBODY),
    ("GET", "/v1/datasets", None, EVERYBODY),
    ("GET", "/v1/datasets/{dataset}", None, EVERYBODY),
    ("GET", "/v1/datasets/{dataset}/budget", None, EVERYBODY),
    ("GET", "/v1/datasets/{dataset}/history", None, EVERYBODY),
    ("GET", "/v1/datasets/{dataset}/meaning?epsilon=1", None, EVERYBODY),
    ("GET", "/v1/datasets/{dataset}/ledger", None, WATCHERS),
    ("POST", "/v1/datasets/{dataset}/quote", QUESTION, ASKERS),
    ("POST", "/v1/datasets/{dataset}/ask", QUESTION, ASKERS),
    ("POST", "/v1/datasets/{dataset}/explain", {"sql": QUESTION["sql"]}, ASKERS),
    ("GET", "/v1/job-kinds", None, EVERYBODY),
    ("POST", "/v1/datasets/{dataset}/jobs/quote", FIT, ASKERS),
    ("POST", "/v1/datasets/{dataset}/jobs", FIT, ASKERS),
    ("GET", "/v1/jobs", None, EVERYBODY),
    ("GET", "/v1/jobs/{job}", None, ASKERS),
    ("DELETE", "/v1/jobs/{job}", None, ASKERS),
    ("GET", "/v1/releases", None, EVERYBODY),
    ("GET", "/v1/releases/{release}", None, ASKERS),
    ("GET", "/v1/releases/{release}/certificate", None, ASKERS),
    ("GET", "/v1/releases/{release}/file", None, ASKERS),
    ("GET", "/v1/releases/{release}/chart", None, ASKERS),
    ("GET", "/v1/releases/{release}/proof", None, ASKERS),
    ("PUT", "/v1/releases/{release}/sharing", {"shared": False}, ASKERS),
    ("GET", "/v1/releases/{release}/forms", None, ASKERS),
    ("GET", "/v1/releases/{release}/forms/{form}", None, ASKERS),
    ("GET", "/v1/markets", None, EVERYBODY),
    ("GET", "/v1/market-rules", None, EVERYBODY),
    ("GET", "/v1/market-tools", None, EVERYBODY),
    ("POST", "/v1/datasets/{dataset}/markets", {**MARKET, "name": "new {who}"}, ASKERS),
    ("GET", "/v1/markets/{dataset}/{market}", None, ASKERS),
    ("PUT", "/v1/markets/{dataset}/{market}/report", {"report": 1}, ASKERS),
    ("GET", "/v1/markets/{dataset}/{market}/advice", None, ASKERS),
    ("DELETE", "/v1/markets/{dataset}/{market}", None, ASKERS),
    ("GET", "/v1/people", None, GOVERNORS),
    ("POST", "/v1/people", {"name": "new {who}", "role": "analyst"}, GOVERNORS),
    ("DELETE", "/v1/people/{name}", None, GOVERNORS),
    ("POST", "/v1/people/{name}/tokens", {}, GOVERNORS),
    ("GET", "/v1/people/{name}/tokens", None, GOVERNORS),
    ("DELETE", "/v1/people/{name}/tokens/{prefix}", None, GOVERNORS),
    ("POST", "/v1/people/{name}/link", None, GOVERNORS),
    ("GET", "/v1/sources", None, GOVERNORS),
    ("POST", "/v1/sources/schema", {"file": "shop.csv"}, GOVERNORS),
    ("POST", "/v1/policies/check", draft(), GOVERNORS),
    ("POST", "/v1/policies", draft(), GOVERNORS),
    ("GET", "/v1/datasets/{dataset}/policy", None, WATCHERS),
    ("PUT", "/v1/datasets/{dataset}/analysts/{name}", {"limit": 1}, GOVERNORS),
    ("DELETE", "/v1/datasets/{dataset}/analysts/{name}", None, GOVERNORS),
    ("PUT", "/v1/datasets/{dataset}/limits", {"budget": 3}, GOVERNORS),
    ("POST", "/v1/datasets/{dataset}/apply", None, GOVERNORS),
    ("POST", "/v1/datasets/{dataset}/verification", None, WATCHERS),
    ("GET", "/v1/datasets/{dataset}/verification", None, WATCHERS),
    ("GET", "/v1/datasets/{dataset}/changes", None, WATCHERS),
    ("GET", "/v1/datasets/{dataset}/running", None, GOVERNORS),
    ("DELETE", "/v1/datasets/{dataset}/running/{question}", None, GOVERNORS),
    ("GET", "/v1/datasets/{dataset}/saved-jobs", None, GOVERNORS),
    ("GET", "/v1/datasets/{dataset}/profiles", None, WATCHERS),
    ("POST", "/v1/datasets/{dataset}/profile", {"table": "visits"}, GOVERNORS),
    ("DELETE", "/v1/datasets/{dataset}/saved-jobs/{entry}", None, GOVERNORS),
    ("POST", "/v1/datasets/{dataset}/requests", {"reason": "to know"}, ASKERS),
    ("GET", "/v1/requests", None, EVERYBODY),
    ("DELETE", "/v1/requests/{request}", None, ASKERS),
    ("POST", "/v1/requests/{request}/decision", {"approve": False}, GOVERNORS),
    ("GET", "/v1/lab/tradeoff", None, EVERYBODY),
    ("GET", "/v1/lab/mechanisms", None, EVERYBODY),
    ("GET", "/v1/lab/densities?mechanism=RandomizedResponse", None, EVERYBODY),
    ("GET", "/surveys", None, EVERYBODY),
    ("GET", "/surveys/new", None, GOVERNORS),
    ("GET", "/v1/surveys", None, EVERYBODY),
    ("POST", "/v1/surveys", SURVEY, GOVERNORS),
    ("POST", "/v1/surveys/draft", {"survey": SURVEY, "answers": "5000"}, GOVERNORS),
    ("POST", "/v1/surveys/{survey}/invitations", {"count": 1}, GOVERNORS),
    ("GET", "/v1/surveys/{survey}/results", None, EVERYBODY),
    ("GET", "/v1/surveys/{survey}/certificate", None, EVERYBODY),
    ("POST", "/signout", None, EVERYBODY),
    ("GET", "/metrics", None, WATCHERS),
]
OPEN = {("GET", "/healthz"), ("GET", "/signin"), ("POST", "/signin"), ("GET", "/v1/openapi.json"), ("GET", "/v1/keys")}
OPEN |= {
    ("GET", "/v1/surveys/{survey}"),
    ("POST", "/v1/surveys/{survey}/reports"),
    ("POST", "/v1/surveys/{survey}/token"),
}  # respondents are nobody in particular


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("clinic")
    survey = written(folder, f'invitations = "code"\n{SLEEP}')
    with running(folder, data=shop(folder / "data"), surveys=(survey,)) as found:
        yield found


@pytest.fixture(scope="module")
def own(clinic: Running) -> dict[str, dict[str, str]]:
    """For everybody who may ask, a release and a job of their own; for others, those of ana."""
    found = {}
    for who in ("ana", "cora"):
        release = clinic.ask(who, epsilon=0.02).json()["id"]
        job = clinic.ask(who, headers={"Prefer": "respond-async"}, epsilon=0.02).json()["id"]
        found[who] = {"release": release, "job": job, "form": "report"}
    return found


@pytest.mark.parametrize("who", ["cora", "ana", "otto", None])
@pytest.mark.parametrize(("method", "path", "body", "may"), MATRIX, ids=[f"{line[0]} {line[1]}" for line in MATRIX])
def test_each_route_for_each_role(
    clinic: Running,
    own: dict[str, dict[str, str]],
    method: str,
    path: str,
    body: dict[str, Any] | None,
    may: set[str],
    who: str | None,
) -> None:
    names = own.get(who or "", own["ana"])
    other = f"somebody for {who} {method} {path.replace('/', ' ')}"
    if "{name}" in path:
        clinic.service.people.add(other, "analyst")
        names = {**names, "prefix": clinic.service.people.issue(other).prefix}
    if "{request}" in path:  # one's own to take back, another's to decide about
        owner = who if who in ASKERS and method == "DELETE" else "ben"
        asking = Identity(owner or "ben", "analyst")
        names = {**names, "request": clinic.service.requests.ask(asking, "clinic", amount=None, reason="x").id}
    runs = ExitStack()
    if "{question}" in path:
        runs.enter_context(clinic.service.running.question("ben", "clinic", "SELECT 1", Watch()))
        names = {**names, "question": clinic.service.running.listed("clinic")[-1].id}
    if "{entry}" in path:  # of a job that runs: its lock is held
        policy = clinic.service.datasets.find(Identity("cora", "curator"), "clinic").policy
        receipt = Receipt(
            ledger="x", people=policy.dataset.identity, analyst="ana", seq=7, digest=bytes(32), key="k", program="p",
            time=0, amount=Amount(1), replayed=False,
        )  # fmt: skip
        state = JobState(jobs_folder(policy), receipt, "train")
        state.save(b"", 0.5)
        runs.callback(state.forget)
        names = {**names, "entry": "7"}
    if "{market}" in path:  # opened by whoever asks, and so seen by nobody who is not invited
        owner, market = who if who in ASKERS else "ana", f"{who} {method} {path.replace('/', ' ')}"
        clinic.call(owner, "POST", "/v1/datasets/clinic/markets", json={**MARKET, "name": market})
        names = {**names, "market": market}
    if "/analysts/" in path:
        clinic.call("cora", "PUT", path.format(dataset="clinic", name=other), json={"limit": 1})
    filled = path.format(dataset="clinic", survey="sleep", name=other, **names) if "{" in path else path
    sent = None if body is None else {k: v.format(who=who) if isinstance(v, str) else v for k, v in body.items()}
    with runs:
        answer = clinic.call(who, method, filled, json=sent) if sent is not None else clinic.call(who, method, filled)
    if who is None:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    elif who in may and (nothing := [problem for end, problem in NOTHING.items() if path.endswith(end)]):
        assert answer.json()["type"] == f"urn:tacit:problem:{nothing[0]}"
    elif who in may:
        assert answer.is_success, answer.text
    else:
        assert answer.status_code in (403, 404)
    if not answer.is_success:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


def test_the_matrix_has_every_route(clinic: Running) -> None:
    listed = {(method, path.partition("?")[0]) for method, path, _, _ in MATRIX} | OPEN
    routes = set()
    for path, methods in application(clinic.service).openapi()["paths"].items():
        routes |= {(method.upper(), path) for method in methods}
    assert routes <= listed
    assert {line for line in listed if line[1].startswith("/v1") and "openapi" not in line[1]} <= routes


def test_what_is_open_tells_nothing(clinic: Running) -> None:
    assert clinic.call(None, "GET", "/healthz").json() == {"status": "ok"}
    assert "staff" not in clinic.call(None, "GET", "/v1/openapi.json").text  # a table that no example has
    assert clinic.call(None, "GET", "/signin").status_code == 200


def test_an_auditor_never_asks() -> None:
    assert "auditor" not in RIGHTS["ask"]


def test_a_dataset_of_others_is_not_there(clinic: Running) -> None:
    assert clinic.call("zoe", "GET", "/v1/datasets").json() == {"items": []}
    there = clinic.call("zoe", "GET", "/v1/datasets/clinic").json()
    never = clinic.call("zoe", "GET", "/v1/datasets/nowhere").json()
    assert there["status"] == never["status"] == 404
    assert {k: v.replace("clinic", "nowhere") if k == "detail" else v for k, v in there.items()} == never
    for path in ("quote", "ask"):
        assert clinic.call("zoe", "POST", f"/v1/datasets/clinic/{path}", json=QUESTION).status_code == 404
