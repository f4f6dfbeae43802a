"""Releases: whose they are, how they are shared, and the proof that they were paid for."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from support.service import COUNT, Running, running


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def test_nobody_sees_the_release_of_another(clinic: Running) -> None:
    name = clinic.ask("ana").json()["id"]
    for who in ("ben", "zoe", "cora", "otto"):
        for part in ("", "/certificate", "/proof"):
            answer = clinic.call(who, "GET", f"/v1/releases/{name}{part}")
            missing = clinic.call(who, "GET", f"/v1/releases/{'0' * 32}{part}")
            assert answer.status_code == missing.status_code == 404
            assert answer.content == missing.content
        for query in ("", "?shared=true", f"?cursor={name}"):
            listed = clinic.call(who, "GET", f"/v1/releases{query}")
            assert listed.json().get("items", []) == []
        if who in ("ben", "cora"):
            assert clinic.call(who, "PUT", f"/v1/releases/{name}/sharing", json={"shared": True}).status_code == 404


def test_the_same_question_of_two_people_is_two_releases(clinic: Running) -> None:
    one, other = clinic.ask("ana").json(), clinic.ask("ben").json()
    assert one["id"] != other["id"]
    assert other["cached"] is False  # whether ana asked it does not show


def test_a_shared_release_is_for_those_who_may_ask_its_tables(clinic: Running) -> None:
    open_to_ben = clinic.ask("ana").json()["id"]
    closed_to_ben = clinic.ask("ana", "SELECT COUNT(*) AS n FROM staff").json()["id"]
    for name in (open_to_ben, closed_to_ben):
        assert clinic.call("ana", "PUT", f"/v1/releases/{name}/sharing", json={"shared": True}).json()["shared"]
    assert clinic.call("ben", "GET", f"/v1/releases/{open_to_ben}").json()["owner"] == "ana"
    assert clinic.call("ben", "GET", f"/v1/releases/{closed_to_ben}").status_code == 404
    assert clinic.call("zoe", "GET", f"/v1/releases/{open_to_ben}").status_code == 404
    listed = clinic.call("ben", "GET", "/v1/releases?shared=true").json()["items"]
    assert [item["id"] for item in listed] == [open_to_ben]
    assert clinic.call("ben", "GET", f"/v1/releases/{open_to_ben}/proof").status_code == 403
    assert clinic.call("ben", "PUT", f"/v1/releases/{open_to_ben}/sharing", json={"shared": False}).status_code == 403
    clinic.call("ana", "PUT", f"/v1/releases/{open_to_ben}/sharing", json={"shared": False})
    assert clinic.call("ben", "GET", f"/v1/releases/{open_to_ben}").status_code == 404


def test_pages_of_releases(clinic: Running) -> None:
    asked = [clinic.ask("ana", f"SELECT COUNT(*) AS n FROM visits WHERE age > {age}", epsilon=0.01).json()["id"]
             for age in range(5)]  # fmt: skip
    clinic.ask("ben")
    found, cursor = [], ""
    for _ in range(3):
        page = clinic.call("ana", "GET", f"/v1/releases?limit=2{cursor}").json()
        found += [item["id"] for item in page["items"]]
        cursor = f"&cursor={page['next']}"
    assert found == asked[::-1]
    assert page["next"] is None
    assert clinic.call("ana", "GET", "/v1/releases?limit=0").status_code == 422


def test_a_release_again_and_its_certificate(clinic: Running) -> None:
    asked = clinic.ask("ana").json()
    again = clinic.call("ana", "GET", f"/v1/releases/{asked['id']}").json()
    assert again["rows"] == asked["rows"]
    assert again["sql"] == COUNT
    told = clinic.call("ana", "GET", f"/v1/releases/{asked['id']}/certificate").json()
    assert told == {**asked["facts"], "confidence": 0.95, "notes": asked["notes"]}


def test_the_proof_adds_up_and_an_auditor_finds_it_in_the_chain(clinic: Running) -> None:
    clinic.ask("ben")
    name = clinic.ask("ana").json()["id"]
    clinic.ask("ben", epsilon=0.2)
    proof = clinic.call("ana", "GET", f"/v1/releases/{name}/proof").json()
    made = sha256(
        bytes.fromhex(proof["before"])
        + proof["seq"].to_bytes(8, "big")
        + proof["time"].to_bytes(8, "big")
        + sha256(proof["body"].encode()).digest()
    )
    assert made.hexdigest() == proof["digest"]
    assert json.loads(proof["body"])["analyst"] == "ana"
    assert "ben" not in json.dumps(proof)
    seen: dict[int, str] = {}
    after = 0
    while after is not None:
        page = clinic.call("otto", "GET", f"/v1/datasets/clinic/ledger?limit=2&after={after}").json()
        seen |= {entry["seq"]: entry["digest"] for entry in page["items"]}
        after = page["next"]
    assert seen[proof["seq"]] == proof["digest"]
    assert seen[page["head"]["seq"]] == page["head"]["digest"]
