"""Releases: whose they are, how they are shared, and the proof that they were paid for."""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from support.service import COUNT, Running, running
from tacit.base import InputError
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.check import check
from tacit.desk.certificate.page import CONTENT_POLICY
from tacit.ledger.checkpoint import new_key, public_key
from tacit.server.ops.config import Config
from tacit.server.ops.service import Service


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


def test_a_release_is_not_shared_by_what_another_ledger_says(clinic: Running) -> None:
    closed_to_ben = clinic.ask("ana", "SELECT COUNT(*) AS n FROM staff").json()["id"]
    policy = clinic.service.config.datasets[0]
    policy.write_text(policy.read_text().replace('ledger = "', 'ledger = "other-'))
    assert clinic.ask("ana").is_success  # the same entry there is of a table that ben may ask
    answer = clinic.call("ana", "PUT", f"/v1/releases/{closed_to_ben}/sharing", json={"shared": True})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:tacit:problem:other-ledger")
    assert clinic.call("ben", "GET", f"/v1/releases/{closed_to_ben}").status_code == 404


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
    address = f"/v1/releases/{asked['id']}/certificate"
    told = Certificate.of(clinic.call("ana", "GET", address).json())
    stated: Any = told.content
    assert stated["release"] | {"time": ""} == {
        "id": asked["id"], "analyst": "ana", "sql": COUNT, "key": asked["facts"]["ledger"]["key"], "time": "",
    }  # fmt: skip
    (key,) = clinic.call(None, "GET", "/v1/keys").json()["items"]  # anybody may hold a certificate against it
    assert key["algorithm"] == "Ed25519"
    ledger = clinic.service.config.datasets[0].parent / "clinic.ledger"
    assert all(one.ok for one in check(told, public_key=key["public_key"], ledger=ledger))
    assert clinic.call("ana", "GET", address).json() == told.json()


def test_the_csv_of_a_release_is_the_one_that_was_certified(clinic: Running, tmp_path: Path) -> None:
    name = clinic.ask("ana").json()["id"]
    sent = clinic.call("ana", "GET", f"/v1/releases/{name}", headers={"accept": "text/csv"})
    (tmp_path / "answer.csv").write_bytes(sent.content)
    told = Certificate.of(clinic.call("ana", "GET", f"/v1/releases/{name}/certificate").json())
    assert check(told, answer=tmp_path / "answer.csv")[-1].ok
    again = {"sql": COUNT, "epsilon": 0.1, "confidence": 0.5}
    other = clinic.call("ana", "POST", "/v1/datasets/clinic/ask", json=again).json()["id"]
    told = Certificate.of(clinic.call("ana", "GET", f"/v1/releases/{other}/certificate").json())
    assert check(told, answer=tmp_path / "answer.csv")[-1].ok is False  # other intervals


def test_a_browser_gets_the_certificate_as_a_page(clinic: Running) -> None:
    name = clinic.ask("ana", 'SELECT COUNT(*) AS "<img src=x>" FROM visits').json()["id"]
    browser = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    page = clinic.call("ana", "GET", f"/v1/releases/{name}/certificate", headers=browser)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "Accept"
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
    assert CONTENT_POLICY in page.headers["content-security-policy"]
    assert "&lt;img src=x&gt;" in page.text
    assert "<img" not in page.text
    odd = clinic.call("ana", "GET", f"/v1/releases/{name}/certificate", headers={"accept": "image/png"})
    assert odd.status_code == 406


def test_a_shared_release_has_a_certificate_for_its_readers(clinic: Running) -> None:
    name = clinic.ask("ana").json()["id"]
    clinic.call("ana", "PUT", f"/v1/releases/{name}/sharing", json={"shared": True})
    mine = clinic.call("ana", "GET", f"/v1/releases/{name}/certificate").json()
    assert clinic.call("ben", "GET", f"/v1/releases/{name}/certificate").json() == mine


def test_the_key_of_the_service_is_made_once_and_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "state" / "signing.key"
    with running(tmp_path) as first:
        assert S_IMODE(path.stat().st_mode) == 0o600
        assert first.service.signer is not None
        public = first.service.signer.public_key
        name = first.ask("ana").json()["id"]
        text = path.read_text()
        for part in ("/v1/keys", f"/v1/releases/{name}/certificate"):
            assert text.splitlines()[1] not in first.call("ana", "GET", part).text
    again = Service(Config(state=tmp_path / "state"))
    try:
        assert again.signer is not None
        assert again.signer.public_key == public
    finally:
        again.close()


def test_where_several_machines_serve_a_key_has_to_be_set(tmp_path: Path, database: str) -> None:
    shared = Service(Config(state=tmp_path / "state", database=database))
    shared.close()
    assert shared.signer is None
    with pytest.raises(InputError, match="cannot be read"):
        Service(Config(state=tmp_path / "state", signing_key=tmp_path / "typo.key"))
    new_key(tmp_path / "ours.key")
    mine = Service(Config(state=tmp_path / "state", database=database, signing_key=tmp_path / "ours.key"))
    mine.close()
    assert mine.signer is not None
    assert mine.signer.public_key == public_key(tmp_path / "ours.key.pub")


def test_without_a_key_it_is_not_signed_and_says_so(clinic: Running) -> None:
    name = clinic.ask("ana").json()["id"]
    object.__setattr__(clinic.service, "signer", None)
    told = clinic.call("ana", "GET", f"/v1/releases/{name}/certificate").json()
    assert (told["signature"], told["public_key"]) == (None, None)
    assert clinic.call(None, "GET", "/v1/keys").json() == {"items": []}
    page = clinic.call("ana", "GET", f"/v1/releases/{name}/certificate", headers={"accept": "text/html"})
    assert "Not signed" in page.text


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


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


@pytest.fixture(scope="module")
def place(lasting: Running) -> str:
    return f"/v1/releases/{lasting.ask('ana').json()['id']}/chart"


def test_numbers_intervals_and_colours_are_in_it(lasting: Running, place: str) -> None:
    release = lasting.call("ana", "GET", place.removesuffix("/chart")).json()
    wish = {"width": "700", "accent": "0f766e", "ink": "17211f"}
    found = lasting.call("ana", "GET", place, params=wish).json()
    text = str(found)
    for row, low, high in zip(release["rows"], *release["intervals"]["visits"], strict=True):
        assert all(str(value) in text for value in (*row, low, high))
    assert "'#0f766e'" in text
    assert "'#17211f'" in text
    assert "#0072b2" not in text
    narrow = lasting.call("ana", "GET", place, params={"width": "300"}).json()
    assert narrow["vconcat"][0]["width"] < found["vconcat"][0]["width"] < 700


def test_it_is_free_and_its_owners(lasting: Running, place: str) -> None:
    before = lasting.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]
    assert lasting.call("ana", "GET", place).status_code == 200
    assert lasting.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"] == before
    for other in ("ben", "cora", "otto", "zoe"):
        assert lasting.call(other, "GET", place).status_code == 404
    assert lasting.call(None, "GET", place).status_code == 401
    assert lasting.call("ana", "GET", "/v1/releases/none/chart").status_code == 404
    lasting.call("ana", "PUT", place.replace("chart", "sharing"), json={"shared": True}).raise_for_status()
    assert lasting.call("ben", "GET", place).status_code == 200
    assert lasting.call("zoe", "GET", place).status_code == 404


@pytest.mark.parametrize(
    "wish", [{"width": "1"}, {"width": "1e9"}, {"accent": "red"}, {"ink": "#333333"}, {"ink": '333333"'}], ids=str
)
def test_only_sizes_and_colours_can_be_wished_for(lasting: Running, place: str, wish: dict[str, str]) -> None:
    assert lasting.call("ana", "GET", place, params=wish).status_code == 422


def test_an_answer_without_noise_or_rows_has_no_chart(lasting: Running) -> None:
    empty = lasting.ask("ana", "SELECT drug, COUNT(*) AS n FROM visits WHERE age > 109 GROUP BY drug")
    assert empty.json()["rows"] == []
    refused = lasting.call("ana", "GET", f"/v1/releases/{empty.json()['id']}/chart")
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:tacit:problem:no-chart")


@pytest.mark.parametrize("part", ["answers", "page"])
def test_a_service_without_the_means_to_draw_says_so(
    lasting: Running, place: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setitem(sys.modules, f"tacit.plot.{part}", None)
    answer = lasting.call("ana", "GET", {"answers": place, "page": "/static/vega.js"}[part])
    assert (answer.status_code, answer.json()["type"]) == (501, "urn:tacit:problem:no-plot")
    assert "pip install 'tacit[plot]'" in answer.json()["detail"]
