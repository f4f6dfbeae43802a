"""What a curator does over HTTP: declare, change limits, verify the ledger, decide about wishes, stop questions."""

import sqlite3
import threading
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest

from support.declared import draft, shop
from support.seats import endless
from support.service import COUNT, Running, running
from tacit.engine import import_tables
from tacit.ledger import Ledger
from tacit.policy import load

BY_BRANCH = "SELECT branch, COUNT(*) AS n FROM shop GROUP BY branch"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, data=shop(tmp_path / "data")) as found:
        yield found


def saved(clinic: Running, **changes: Any) -> Any:
    return clinic.call("cora", "POST", "/v1/policies", json=draft(**changes))


def test_a_dataset_is_declared_and_asked(clinic: Running) -> None:
    assert clinic.call("cora", "GET", "/v1/sources").json() == {"files": ["shop.csv"], "databases": []}
    schema = clinic.call("cora", "POST", "/v1/sources/schema", json={"file": "shop.csv"}).json()
    assert [column["name"] for column in schema["tables"][0]["columns"]] == ["customer", "age", "branch", "paid", "day"]
    read = [column["type"] for column in schema["tables"][0]["columns"]]
    assert read == ["integer", "integer", "text", "float", "date"], "for the curator to confirm"
    checked = clinic.call("cora", "POST", "/v1/policies/check", json=draft()).json()
    assert checked["valid"], checked
    assert checked["problems"] == checked["blanks"] == []
    assert "customer" in checked["promise"]["sentence"]
    assert saved(clinic).json() == {"name": "shop"}
    assert clinic.call("ana", "GET", "/v1/datasets").json()["items"] == [{"name": "clinic"}, {"name": "shop"}]
    answer = clinic.call("ana", "POST", "/v1/datasets/shop/ask", json={"sql": BY_BRANCH, "epsilon": 1})
    assert answer.is_success, answer.text
    assert [row[0] for row in answer.json()["rows"]] == ["east", "north", "west"]
    assert clinic.call("ben", "GET", "/v1/datasets/shop").status_code == 404
    told = clinic.call("otto", "GET", "/v1/datasets/shop/changes").json()["items"]
    assert [(line["who"], line["what"]) for line in told] == [
        ("cora", "declared the dataset, with a budget of 4 epsilon")
    ]


def test_a_text_file_that_changed_waits_for_its_curator(clinic: Running, tmp_path: Path) -> None:
    assert saved(clinic).is_success
    asked: dict[str, Any] = {"sql": BY_BRANCH, "epsilon": 0.5}
    assert clinic.call("ana", "POST", "/v1/datasets/shop/ask", json=asked).is_success
    (file,) = tmp_path.rglob("shop.csv")
    file.write_text(file.read_text() + "1,20,east,3.5,2026-01-01\n")
    refused = clinic.call("ana", "POST", "/v1/datasets/shop/ask", json=asked | {"epsilon": 0.25})
    assert refused.status_code == 503
    assert refused.json()["type"] == "urn:tacit:problem:data"
    assert "its curator runs `tacit data import" in refused.json()["detail"]
    (policy,) = tmp_path.rglob("shop.toml")
    import_tables(load(policy))
    assert clinic.call("ana", "POST", "/v1/datasets/shop/ask", json=asked | {"epsilon": 0.25}).is_success


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with running(tmp_path / "one", data=shop(tmp_path / "data"), policies=tmp_path / "policies") as first:
        assert saved(first).status_code == 201
    (tmp_path / "policies" / "broken.toml").write_text("[dataset", encoding="utf-8")
    with running(tmp_path / "two", policies=tmp_path / "policies") as second:
        assert second.call("ana", "GET", "/v1/datasets/shop").status_code == 200
        assert second.call("cora", "GET", "/v1/datasets").json()["items"] == [{"name": "clinic"}, {"name": "shop"}]


def test_another_worker_notices(clinic: Running, tmp_path: Path) -> None:
    from tacit.server.ask.datasets import Datasets
    from tacit.server.auth.people import Identity

    other = Datasets((), folder=clinic.service.config.policy_folder)
    try:
        assert other.names(Identity("cora", "curator")) == []
        assert saved(clinic).status_code == 201
        assert other.names(Identity("cora", "curator")) == ["shop"]
        assert other.policy(Identity("ana", "analyst"), "shop").dataset.name == "shop"
    finally:
        other.close()


@pytest.mark.parametrize("who", ["ana", "otto", None])
def test_only_curators_declare(clinic: Running, who: str | None) -> None:
    for method, path, body in (
        ("GET", "/v1/sources", None),
        ("POST", "/v1/sources/schema", {"file": "shop.csv"}),
        ("POST", "/v1/policies/check", draft()),
        ("POST", "/v1/policies", draft()),
        ("PUT", "/v1/datasets/clinic/analysts/zoe", {"limit": 1}),
        ("DELETE", "/v1/datasets/clinic/analysts/ben", None),
        ("PUT", "/v1/datasets/clinic/limits", {"budget": 9}),
        ("POST", "/v1/datasets/clinic/apply", None),
    ):
        assert clinic.call(who, method, path, json=body).status_code == (401 if who is None else 403), path
    assert clinic.call("cora", "GET", "/v1/datasets").json()["items"] == [{"name": "clinic"}]


def test_an_auditor_sees_the_limits_and_not_the_file(clinic: Running) -> None:
    seen = clinic.call("otto", "GET", "/v1/datasets/clinic/policy").json()
    assert seen["toml"] is None
    assert {each["name"]: each["limit"] for each in seen["analysts"]} == {"ana": "2", "ben": "2", "cora": "1"}
    assert "[analysts.ben]" in clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["toml"]
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/policy").status_code == 403


def test_a_password_in_the_file_is_not_shown(clinic: Running, tmp_path: Path) -> None:
    path = tmp_path / "tacit.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[privacy]", 'source = "https://u:sesame@nowhere/x"\n[privacy]'), encoding="utf-8")
    answer = clinic.call("cora", "GET", "/v1/datasets/clinic/policy")
    assert answer.json()["toml"] is None
    assert "sesame" not in answer.text


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"budget": "much"},
        {"budget": ""},
        {"currency": "gold"},
        {"delta": "2"},
        {"analysts": [{"name": "ana", "limit": "-1"}]},
        {"analysts": [{"name": "ana"}, {"name": "ana"}]},
        {"name": 'x"\n[analysts."*"]\nlimit = 1\n#'},
        {"tables": [{"name": "other"}]},
        {"tables": [{"name": "shop", "whose": "unit", "unit": "nobody"}]},
        {
            "tables": [
                {"name": "shop", "whose": "each_row", "columns": [{"name": "age", "type": "integer", "low": "3"}]}
            ]
        },
    ],
)
def test_a_draft_with_mistakes_is_not_saved(clinic: Running, changes: dict[str, Any]) -> None:
    checked = clinic.call("cora", "POST", "/v1/policies/check", json=draft(**changes)).json()
    assert not checked["valid"]
    assert checked["problems"]
    answer = saved(clinic, **changes)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tacit:problem:draft")
    assert not list(clinic.service.config.policy_folder.glob("*"))


def test_a_type_that_the_data_does_not_have_leaves_nothing(clinic: Running, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"customer": [1, 2], "age": ["x", "y"]}), tmp_path / "data" / "odd.parquet")
    columns = [{"name": "age", "type": "integer", "low": "0", "high": "9"}]
    table = {"name": "odd", "whose": "unit", "unit": "customer", "columns": columns}
    answer = saved(clinic, source={"file": "odd.parquet"}, tables=[table])
    assert answer.status_code == 422
    assert "age" in answer.json()["detail"]
    assert not list(clinic.service.config.policy_folder.glob("*.toml"))
    assert clinic.call("cora", "GET", "/v1/datasets").json()["items"] == [{"name": "clinic"}]


def test_unknown_keys_are_refused(clinic: Running) -> None:
    for path, body in (
        ("/v1/policies", draft(ledger="elsewhere.ledger")),
        ("/v1/policies", draft(source={"file": "shop.csv", "path": "x"})),
        ("/v1/policies", draft(tables=[{"name": "shop", "source": "elsewhere.csv"}])),
        ("/v1/sources/schema", {"file": "shop.csv", "folder": "x"}),
        ("/v1/sources/schema", {}),
    ):
        assert clinic.call("cora", "POST", path, json=body).status_code == 422


def test_one_name_one_dataset_and_one_data_one_ledger(clinic: Running, tmp_path: Path) -> None:
    assert saved(clinic).status_code == 201
    assert saved(clinic).json()["type"] == "urn:tacit:problem:dataset-exists"
    assert saved(clinic, name="clinic").json()["type"] == "urn:tacit:problem:dataset-exists"
    twin = saved(clinic, name="twin")  # the same data under other people's name, in the same ledger
    assert twin.status_code == 422
    assert '"shop"' in twin.json()["detail"]
    (tmp_path / "visits.parquet").rename(tmp_path / "data" / "visits.parquet")
    (tmp_path / "visits.parquet").symlink_to(tmp_path / "data" / "visits.parquet")
    table = {"name": "visits", "whose": "unit", "unit": "patient_id"}
    again = saved(clinic, name="again", source={"file": "visits.parquet"}, tables=[table])
    assert again.json()["type"] == "urn:tacit:problem:declared-already"


def test_two_datasets_in_one_ledger(clinic: Running, tmp_path: Path) -> None:
    text = (tmp_path / "data" / "shop.csv").read_text(encoding="utf-8")
    (tmp_path / "data" / "other.csv").write_text(text, encoding="utf-8")
    table = {**draft()["tables"][0], "name": "other"}
    assert saved(clinic).status_code == 201
    assert saved(clinic, name="other", source={"file": "other.csv"}, tables=[table]).status_code == 201
    for name in ("shop", "other"):
        sql = {"sql": f"SELECT COUNT(*) AS n FROM {name}", "epsilon": 0.5}
        assert clinic.call("ana", "POST", f"/v1/datasets/{name}/ask", json=sql).is_success
    with Ledger.open(clinic.service.config.policy_folder / "tacit.ledger") as book:
        assert book.people() == ["other", "shop"]


def test_a_name_whose_rules_are_broken_is_taken(clinic: Running, tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text("[broken", encoding="utf-8")
    assert saved(clinic, name="clinic").json()["type"] == "urn:tacit:problem:dataset-exists"
    assert not list(clinic.service.config.policy_folder.glob("*.toml"))


def test_limits_are_changed_in_the_file_and_in_the_ledger(clinic: Running, tmp_path: Path) -> None:
    path = "/v1/datasets/clinic/analysts/zoe"
    preview = clinic.call("cora", "PUT", path, json={"limit": 0.25, "tables": ["visits"], "preview": True}).json()
    assert preview == {"changes": ["zoe may ask: at most 0.25, tables visits"], "applied": False}
    assert clinic.call("zoe", "GET", "/v1/datasets/clinic").status_code == 404
    assert clinic.call("cora", "PUT", path, json={"limit": 0.25, "tables": ["visits"]}).json()["applied"]
    assert clinic.call("zoe", "GET", "/v1/datasets/clinic").status_code == 200
    text = (tmp_path / "tacit.toml").read_text(encoding="utf-8")
    assert "# more rows of one patient are scaled down to this" in text
    assert tomllib.loads(text)["analysts"]["zoe"] == {"limit": 0.25, "tables": ["visits"]}
    with Ledger.open(tmp_path / "clinic.ledger") as book:
        found = book.standing("patients of a made-up clinic").balance("analyst:zoe")
    assert found is not None
    assert found.limit.spend == 25 * 10**10
    clinic.call("cora", "PUT", "/v1/datasets/clinic/limits", json={"budget": 5})
    assert clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["budget"] == "5"
    assert clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["differences"] == []
    assert clinic.call("cora", "DELETE", path).json()["changes"] == ["zoe may ask no more"]
    assert clinic.call("zoe", "GET", "/v1/datasets/clinic").status_code == 404
    assert clinic.call("cora", "DELETE", path).status_code == 404
    lines = clinic.call("otto", "GET", "/v1/datasets/clinic/changes?limit=2").json()
    assert lines["items"][0]["what"] == "zoe may ask no more"
    older = clinic.call("otto", "GET", f"/v1/datasets/clinic/changes?before={lines['next']}").json()["items"]
    assert older[-1]["what"] == "zoe may ask: at most 0.25, tables visits"


def test_a_lower_limit_binds_at_once(clinic: Running) -> None:
    assert clinic.ask("ana", epsilon=0.5).is_success
    clinic.call("cora", "PUT", "/v1/datasets/clinic/analysts/ana", json={"limit": 0.6})
    refused = clinic.ask("ana", epsilon=0.4)
    assert refused.json()["type"] == "urn:tacit:problem:over-budget"
    assert clinic.ask("ana", epsilon=0.05).is_success


def test_wrong_limits_change_nothing(clinic: Running, tmp_path: Path) -> None:
    before = (tmp_path / "tacit.toml").read_text(encoding="utf-8")
    for path, body in (
        ("analysts/zoe", {"limit": 1, "tables": ["nowhere"]}),
        ("analysts/%20", {"limit": 1}),
        ("limits", {"budget": None}),
        ("limits", {"budget": 1, "each": 2}),
        ("limits", {"lifetime": 4}),
        ("limits", {"budget": "NaN"}),
        ("limits", {"colour": 1}),
    ):
        assert clinic.call("cora", "PUT", f"/v1/datasets/clinic/{path}", json=body).status_code == 422, (path, body)
    assert (tmp_path / "tacit.toml").read_text(encoding="utf-8") == before


def test_what_was_edited_by_hand_can_be_recorded(clinic: Running, tmp_path: Path) -> None:
    path = tmp_path / "tacit.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("budget = 3", "budget = 3.5"), encoding="utf-8")
    told = clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["differences"]
    assert told == ["everybody together: 3 epsilon and 1e-6 delta recorded, 3.5 epsilon and 1e-6 delta declared"]
    assert clinic.call("cora", "POST", "/v1/datasets/clinic/apply").json() == {"entries": 1}
    assert clinic.call("cora", "GET", "/v1/datasets/clinic/policy").json()["differences"] == []


def test_nothing_typed_becomes_syntax(clinic: Running) -> None:
    evil = '"]\n[analysts."*"]\nlimit = 4\n#'
    checked = clinic.call(
        "cora", "POST", "/v1/policies/check", json=draft(people=evil, unit=evil, reset=evil, each=evil)
    ).json()
    written = tomllib.loads(checked["toml"])
    assert list(written["analysts"]) == ["ana"]
    assert (written["dataset"]["people"], written["privacy"]["unit"]) == (evil, evil)
    assert (written["privacy"]["reset"], written["privacy"]["each"]) == (evil, evil)


def verified(clinic: Running, who: str = "otto") -> Any:
    """The result, once it is there."""
    assert clinic.call(who, "POST", "/v1/datasets/clinic/verification").status_code == 202
    for _ in range(600):
        found = clinic.call(who, "GET", "/v1/datasets/clinic/verification").json()["last"]
        if found["state"] != "running":
            return found
        sleep(0.1)
    raise AssertionError("the verification did not end")


def test_a_whole_ledger(clinic: Running) -> None:
    assert clinic.call("otto", "GET", "/v1/datasets/clinic/verification").json() == {"last": None}
    clinic.ask("ana")
    found = verified(clinic)
    assert (found["state"], found["who"], found["findings"]) == ("whole", "otto", [])
    assert found["charges"] == 1
    assert found["entries"] >= 5
    assert found["ended"] >= found["started"]


def test_a_damaged_ledger(clinic: Running, tmp_path: Path) -> None:
    clinic.ask("ana")
    with closing(sqlite3.connect(tmp_path / "clinic.ledger")) as book:
        book.execute("UPDATE tacit_balances SET spent_spend = 0 WHERE holder = 'analyst:ana'")
        book.commit()
    found = verified(clinic, "cora")
    assert found["state"] == "damaged"
    assert any("analyst:ana" in each["what"] for each in found["findings"])


def test_who_may_verify(clinic: Running) -> None:
    for method in ("GET", "POST"):
        assert clinic.call("ana", method, "/v1/datasets/clinic/verification").status_code == 403
        assert clinic.call("otto", method, "/v1/datasets/nowhere/verification").status_code == 404
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/changes").status_code == 403
    assert clinic.call("otto", "GET", "/v1/datasets/nowhere/changes").status_code == 404
    assert clinic.call("cora", "GET", "/v1/datasets/clinic/changes").json() == {"items": [], "next": None}


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


SLOW = "SELECT COUNT(*) AS n FROM visits WHERE age > 41"


def test_a_curator_stops_a_question_of_somebody(tmp_path: Path) -> None:
    with running(tmp_path) as clinic, endless(clinic.service.datasets._opened["clinic"].engine) as begun:
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(clinic.ask("ana", SLOW)))
        thread.start()
        assert begun.acquire(timeout=60)
        for who in ("ana", "ben", "otto"):
            assert clinic.call(who, "GET", "/v1/datasets/clinic/running").status_code == 403
        (found,) = clinic.call("cora", "GET", "/v1/datasets/clinic/running").json()["items"]
        assert (found["owner"], found["sql"]) == ("ana", SLOW)
        place = f"/v1/datasets/clinic/running/{found['id']}"
        assert clinic.call("ana", "DELETE", place).status_code == 403
        assert clinic.call("cora", "DELETE", place).json() == found
        thread.join()
        assert (answers[0].status_code, answers[0].json()["type"]) == (409, "urn:tacit:problem:cancelled")
        assert clinic.call("cora", "DELETE", place).status_code == 404
        assert clinic.call("cora", "GET", "/v1/datasets/clinic/running").json() == {"items": []}
        changes = clinic.call("cora", "GET", "/v1/datasets/clinic/changes").json()["items"]
        assert changes[0]["what"] == "stopped a question of ana"


def test_a_job_can_be_stopped_so_too(tmp_path: Path) -> None:
    with running(tmp_path) as clinic, endless(clinic.service.datasets._opened["clinic"].engine) as begun:
        job = clinic.ask("ana", SLOW, headers={"Prefer": "respond-async"}).headers["location"]
        assert begun.acquire(timeout=60)
        (found,) = clinic.call("cora", "GET", "/v1/datasets/clinic/running").json()["items"]
        clinic.call("cora", "DELETE", f"/v1/datasets/clinic/running/{found['id']}")
        end = monotonic() + 60
        while clinic.call("ana", "GET", job).json()["state"] != "cancelled":
            assert monotonic() < end
            sleep(0.01)
