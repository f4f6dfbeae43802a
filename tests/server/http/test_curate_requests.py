"""Wishes and decisions: nobody can probe for datasets with them, and an approval changes the policy and the ledger."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service import COUNT, Running, running


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def wish(clinic: Running, who: str, dataset: str = "clinic", **more: Any) -> Any:
    body = {"reason": "the yearly report", "amount": 0.5, **more}
    return clinic.call(who, "POST", f"/v1/datasets/{dataset}/requests", json=body)


def decide(clinic: Running, who: str, name: str, **decision: Any) -> Any:
    return clinic.call(who, "POST", f"/v1/requests/{name}/decision", json=decision)


def test_access_is_asked_for_and_given(clinic: Running) -> None:
    made = wish(clinic, "zoe")
    assert made.status_code == 202
    name = made.json()["id"]
    listed = clinic.call("cora", "GET", "/v1/requests?state=open").json()["items"]
    assert [(each["owner"], each["dataset"], each["amount"], each["state"]) for each in listed] == [
        ("zoe", "clinic", "0.5", "open")
    ]
    done = decide(clinic, "cora", name, approve=True, limit=0.25, tables=["visits"], note="until spring")
    assert done.is_success, done.text
    assert (done.json()["state"], done.json()["decider"]) == ("approved", "cora")
    assert clinic.ask("zoe", COUNT, epsilon=0.2).is_success
    assert clinic.ask("zoe", COUNT, epsilon=0.1).json()["type"] == "urn:tacit:problem:over-budget"
    assert clinic.call("zoe", "GET", "/v1/requests").json()["items"][0]["note"] == "until spring"
    assert decide(clinic, "cora", name, approve=False).json()["type"] == "urn:tacit:problem:decided"


def test_more_budget_keeps_everything_else(clinic: Running) -> None:
    name = wish(clinic, "ben", amount=5).json()["id"]
    assert decide(clinic, "cora", name, approve=True, limit=2.5).is_success
    found = clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["analysts"]
    ben = next(each for each in found if each["name"] == "ben")
    assert (ben["limit"], ben["tables"]) == ("2.5", ["visits"])


def test_whoever_was_anybody_keeps_what_bound_them(clinic: Running, tmp_path: Path) -> None:
    with (tmp_path / "tacit.toml").open("a", encoding="utf-8") as file:
        file.write('[analysts."*"]\nlimit = 0.1\neach = 0.05\ntables = ["visits"]\n')
    name = wish(clinic, "zoe").json()["id"]
    assert decide(clinic, "cora", name, approve=True, limit=0.2).is_success
    found = clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["analysts"]
    zoe = next(each for each in found if each["name"] == "zoe")
    assert (zoe["limit"], zoe["each"], zoe["tables"]) == ("0.2", "0.05", ["visits"])


def test_a_wish_tells_nothing(clinic: Running) -> None:
    there, never = wish(clinic, "zoe", "clinic"), wish(clinic, "zoe", "nowhere")
    assert there.status_code == never.status_code == 202

    def told(answer: Any) -> dict[str, Any]:
        return {key: value for key, value in answer.json().items() if key not in ("id", "created", "dataset")}

    assert told(there) == told(never)
    listed = clinic.call("zoe", "GET", "/v1/requests").json()["items"]
    assert {(each["dataset"], each["state"]) for each in listed} == {("clinic", "open"), ("nowhere", "open")}


def test_an_approval_that_fails_leaves_the_wish_open(clinic: Running) -> None:
    name = wish(clinic, "zoe", "nowhere").json()["id"]
    assert decide(clinic, "cora", name, approve=True, limit=1).status_code == 404
    other = wish(clinic, "zoe").json()["id"]
    assert decide(clinic, "cora", other, approve=True).status_code == 422
    assert decide(clinic, "cora", other, approve=True, limit=1, tables=["none"]).status_code == 422
    states = {each["state"] for each in clinic.call("cora", "GET", "/v1/requests").json()["items"]}
    assert states == {"open"}
    assert decide(clinic, "cora", name, approve=False, note="there is no such thing").json()["state"] == "refused"
    assert clinic.call("zoe", "GET", "/v1/datasets/clinic").status_code == 404


def test_who_may_what(clinic: Running) -> None:
    name = wish(clinic, "zoe").json()["id"]
    assert wish(clinic, "otto").status_code == 403
    for who in ("ana", "otto", "zoe"):
        assert decide(clinic, who, name, approve=True, limit=1).status_code == 403
    assert clinic.call("ana", "GET", "/v1/requests").json()["items"] == []
    assert len(clinic.call("otto", "GET", "/v1/requests").json()["items"]) == 1
    assert clinic.call("otto", "GET", "/v1/requests?mine=true").json()["items"] == []
    assert clinic.call("ana", "DELETE", f"/v1/requests/{name}").status_code == 404
    assert clinic.call("zoe", "DELETE", f"/v1/requests/{name}").json()["state"] == "withdrawn"
    assert clinic.call("zoe", "DELETE", f"/v1/requests/{name}").status_code == 409
    own = wish(clinic, "cora").json()["id"]
    for decision in ({"approve": True, "limit": 1}, {"approve": False}):
        assert decide(clinic, "cora", own, **decision).json()["type"] == "urn:tacit:problem:yourself"
    assert decide(clinic, "cora", "nothing", approve=False).status_code == 404


def test_bodies_are_strict_and_wishes_are_counted(clinic: Running) -> None:
    for body in ({}, {"reason": ""}, {"reason": "x", "amount": -1}, {"reason": "x", "who": "y"}, {"reason": "\0"}):
        assert clinic.call("zoe", "POST", "/v1/datasets/clinic/requests", json=body).status_code == 422
    assert clinic.call("zoe", "POST", "/v1/datasets/%00/requests", json={"reason": "x"}).status_code == 422
    for _ in range(20):
        assert wish(clinic, "zoe").status_code == 202
    assert wish(clinic, "zoe").status_code == 429
    page = clinic.call("zoe", "GET", "/v1/requests?limit=15").json()
    rest = clinic.call("zoe", "GET", f"/v1/requests?limit=15&cursor={page['next']}").json()
    assert len({each["id"] for each in page["items"] + rest["items"]}) == 20
    assert rest["next"] is None
    assert clinic.call("ana", "GET", f"/v1/requests?cursor={page['next']}").status_code == 422
