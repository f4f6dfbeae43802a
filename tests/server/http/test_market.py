"""Markets over HTTP: fifty programs with tokens of their own, late, double and missing reports, one that lies."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import support.agent
from support.service import Running, running
from tacit.market import Pricing, cents

from .test_jobs import ended

POLICY = """
[dataset]
name = "fair"
[privacy]
unit = "agent"
relation = "replace"
currency = "rho"
budget = 1000
delta = "1e-5"
population = 1000
[tables.people]
source = "people.parquet"
unit_column = "agent"
[tables.people.columns]
agent = { type = "text" }
[analysts.cora]
limit = 1000
[analysts.ana]
limit = 1
"""
AGENTS = [f"agent-{number:02}" for number in range(50)]


def fair(folder: Path) -> Path:
    pq.write_table(pa.table({"agent": AGENTS}), folder / "people.parquet")
    (folder / "tacit.toml").write_text(POLICY, encoding="utf-8")
    return folder / "tacit.toml"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("fair"), build=fair) as found:
        for name in AGENTS:
            found.service.people.add(name, "analyst")
            found.tokens[name] = found.service.people.issue(name).text
        yield found


def opened(service: Running, name: str, agents: list[str], *, who: str = "cora", **rules: Any) -> Any:
    body = {"name": name, "rules": {"table": "people", **rules}, "agents": agents}
    return service.call(who, "POST", "/v1/datasets/fair/markets", json=body)


def run(service: Running, name: str, who: str = "cora") -> Any:
    body = {"kind": "market", "settings": {"market": name}}
    taken = service.call(who, "POST", "/v1/datasets/fair/jobs", json=body)
    return ended(service, who, taken.json()) if taken.status_code == 202 else taken.json()


def spent(service: Running) -> float:
    holders = service.call("cora", "GET", "/v1/datasets/fair/budget").json()["holders"]
    return float(next(each["spent"]["rho"] for each in holders if each["holder"] == "dataset"))


def start(service: Running, agent: str, markets: Any, **more: Any) -> subprocess.Popen[str]:
    orders = {"url": service.url, "token": service.tokens[agent], "markets": markets, **more}
    command = [sys.executable, "-I", support.agent.__file__]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None
    program.stdin.write(json.dumps(orders))
    program.stdin.close()
    return program


def line(program: subprocess.Popen[str]) -> Any:
    assert program.stdout is not None
    return json.loads(program.stdout.readline())


def ended_well(program: subprocess.Popen[str]) -> bool:
    assert program.stdout is not None
    program.stdout.read()  # to its end: closed before, its writer would fail
    program.stdout.close()
    return program.wait(20) == 0


def test_fifty_programs(service: Running) -> None:
    """Seats for 40 of 50: one program sends its report twice, one another one after it, one none, one comes late."""
    assert (
        opened(service, "seats", AGENTS, rule="match", rho=20, goods=["window = 20", "aisle = 20"]).status_code == 201
    )
    values = np.random.default_rng(3).uniform(0.2, 1, (50, 2)).round(3).tolist()
    odd = {"agent-00": [values[0], values[0]], "agent-01": [values[1], [1.0, 1.0]], "agent-02": [], "agent-03": []}
    programs = {}
    for agent, value in zip(AGENTS, values, strict=True):
        wish = {"market": "fair/seats", "reports": odd.get(agent, [value])}
        programs[agent] = start(service, agent, [wish], **({"late": [1.0, 1.0]} if agent == "agent-03" else {}))
    answers = {agent: line(program)[0]["answers"] for agent, program in programs.items()}
    assert (answers["agent-00"], answers["agent-01"], answers["agent-02"]) == ([200, 200], [200, 409], [])
    assert all(answers[agent] == [200] for agent in AGENTS[4:])

    before = spent(service)
    job = run(service, "seats")
    assert job["state"] == "done", job
    assert spent(service) - before == pytest.approx(20, rel=1e-6)
    again = run(service, "seats")
    assert again["release"] == job["release"]
    assert spent(service) - before == pytest.approx(20, rel=1e-6)  # once

    told = {agent: line(program)[0] for agent, program in programs.items()}
    assert all(ended_well(program) for program in programs.values())
    assert told["agent-03"]["late"] == 409
    goods = [told[agent]["advice"]["name"] for agent in AGENTS]
    assert {goods.count("window"), goods.count("aisle")} <= set(range(21))
    assert sum(good is not None for good in goods) >= 5  # the reserve of so few seats is large
    assert goods[2] is goods[3] is None  # who said nothing wants nothing
    outcome = service.call("agent-02", "GET", "/v1/markets/fair/seats").json()["outcome"]
    for agent, value in zip(AGENTS, values, strict=True):
        advice = told[agent]["advice"]
        if advice["good"] is not None:
            assert advice["price"] == outcome["prices"][advice["good"]] < value[advice["good"]]


def test_a_lying_program_gains_no_more_than_is_said(service: Running) -> None:
    """24 sales of one price, the same program lying in every second one: what it gains on average is within the
    bound and the scatter of so few sales."""
    agents, sales = AGENTS[:6], 24
    bids = [0.9, 0.4, 0.5, 0.6, 0.3, 0.7]
    names = [f"lamp-{number}" for number in range(sales)]
    rules: dict[str, Any] = {"rule": "price", "epsilon": 1, "high": 100}
    assert all(opened(service, name, agents, **rules).status_code == 201 for name in names)
    lie = 0.5
    wishes = {
        agent: [
            {"market": f"fair/{name}", "reports": [lie if agent == agents[0] and number % 2 else bid]}
            for number, name in enumerate(names)
        ]
        for agent, bid in zip(agents, bids, strict=True)
    }
    programs = {agent: start(service, agent, markets) for agent, markets in wishes.items()}
    for program in programs.values():
        assert all(each["answers"] == [200] for each in line(program))
    for name in names:
        assert run(service, name)["state"] == "done"
    liar = line(programs[agents[0]])
    assert all(ended_well(program) for program in programs.values())
    gains = [float(Fraction("0.9") - Fraction(each["advice"]["price"])) * each["advice"]["buys"] for each in liar]
    honest, lying = np.mean(gains[0::2]), np.mean(gains[1::2])
    plan = Pricing(grid=cents(1, 100), epsilon=1)
    told = [lie, *bids[1:]]
    assert plan.expected_utility(bids, 0, 0.9) >= exp(-1) * plan.expected_utility(told, 0, 0.9)  # by the exact law
    assert lying - honest <= plan.gain * honest + 4 * 0.3 / sqrt(sales / 2)


def test_what_others_see_of_a_market(service: Running) -> None:
    assert opened(service, "quiet", AGENTS[:3], rule="choose", epsilon=1, options=["park", "pool"]).status_code == 201
    seen = service.call("agent-01", "GET", "/v1/markets/fair/quiet").json()
    assert (seen["invited"], seen["yours"], seen["reported"], seen["state"]) == (True, False, False, "open")
    assert seen["promise"] == "ε = 1 for one report in the place of another"
    assert seen["report"]["minItems"] == 2
    assert "park, pool" in seen["report"]["description"]
    for method, path in (("GET", ""), ("PUT", "/report"), ("GET", "/advice"), ("DELETE", "")):
        body = {"json": {"report": [0, 1]}} if method == "PUT" else {}
        stranger = service.call("zoe", method, f"/v1/markets/fair/quiet{path}", **body)
        nothing = service.call("zoe", method, f"/v1/markets/fair/nothing{path}", **body)
        assert (stranger.status_code, stranger.text) == (404, nothing.text)
    assert [each["name"] for each in service.call("agent-00", "GET", "/v1/markets").json()["items"]].count("quiet") == 1
    assert "quiet" not in service.call("ben", "GET", "/v1/markets").text
    assert service.call("agent-01", "GET", "/v1/markets/fair/quiet/advice").status_code == 409
    assert service.call("agent-01", "GET", "/v1/datasets/fair").status_code == 404  # an agent is no analyst
    assert service.call("agent-01", "DELETE", "/v1/markets/fair/quiet").status_code == 403
    refused = service.call(
        "ana", "POST", "/v1/datasets/fair/jobs", json={"kind": "market", "settings": {"market": "quiet"}}
    )
    assert refused.status_code == 422
    assert "opened by somebody else" in refused.json()["detail"]
    assert service.call("cora", "DELETE", "/v1/markets/fair/quiet").status_code == 204
    assert service.call("agent-01", "GET", "/v1/markets/fair/quiet").status_code == 404


@pytest.mark.parametrize(
    ("report", "status"),
    [([0.1], 422), ([0.1, -1], 422), ("x", 422), ([0.1, "0.2e"], 422), (0.5, 422), (None, 422), ([[0.1, 0.2]], 422)],
)
def test_a_report_that_cannot_be_read_is_not_repeated(service: Running, report: Any, status: int) -> None:
    opened(service, "pick", AGENTS[:3], rule="choose", epsilon=1, options=["park", "pool"])
    answer = service.call("agent-00", "PUT", "/v1/markets/fair/pick/report", json={"report": report})
    assert answer.status_code == status, answer.text
    assert "0.2e" not in answer.text
    assert not service.call("agent-00", "GET", "/v1/markets/fair/pick").json()["reported"]


def test_reports_lie_where_nobody_looks(service: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """In one file for its owner alone; no answer of the service but one's own advice follows from a report."""
    opened(service, "dark", AGENTS[:2], rule="price", epsilon=1)
    assert service.call("agent-00", "PUT", "/v1/markets/fair/dark/report", json={"report": 0.123456789}).is_success
    (book,) = Path(service.service.config.state).parent.rglob("markets.db")
    assert book.stat().st_mode & 0o777 == 0o600
    assert book.parent.stat().st_mode & 0o077 == 0
    with sqlite3.connect(book) as stored:
        columns = {row[1] for row in stored.execute("PRAGMA table_info(reports)")}
    assert columns == {"sale", "number", "report"}  # no time
    paths = ("/v1/markets", "/v1/markets/fair/dark", "/v1/datasets/fair/budget", "/metrics", "/v1/jobs")
    assert not any("0.123456" in service.call("cora", "GET", path).text for path in paths)
    assert "0.123456" not in "".join(capfd.readouterr())
    assert run(service, "dark")["state"] == "done"
    release = service.call("cora", "GET", run(service, "dark")["release"]).text
    assert "0.123456" not in release
    advice = service.call("agent-00", "GET", "/v1/markets/fair/dark/advice").json()
    assert set(advice) == {"price", "buys"}


def test_rules_that_cannot_be_are_told(service: Running) -> None:
    for rules, words in (
        ({"rule": "match", "rho": 1}, "needs goods"),
        ({"rule": "match", "rho": 1, "goods": ["a"]}, "how many copies"),
        ({"rule": "game", "rho": 1, "links": ["a = 1 + x"], "routes": ["a"]}, "what it costs"),
        ({"rule": "game", "rho": 1, "links": ["a = 1", "b = 0 + 1"], "routes": ["a", "c"]}, "no link"),
        ({"rule": "price", "epsilon": 1, "goods": ["a = 1"]}, "goods is for rule"),
        ({"rule": "price"}, "needs epsilon"),
        ({"rule": "price", "epsilon": 1, "table": "nothing"}, "nothing"),
        ({"rule": "price", "epsilon": 1, "low": 5, "high": 3}, "not from 5 to 3"),
    ):
        answer = opened(service, "wrong", AGENTS[:2], **rules)
        assert 400 <= answer.status_code < 500
        assert words in answer.text, answer.text
    assert opened(service, "wrong", ["agent-00", "agent-00"], rule="price", epsilon=1).status_code == 422
    assert opened(service, "wrong", AGENTS, who="agent-00", rule="price", epsilon=1).status_code == 404
    assert opened(service, "twice", AGENTS[:2], rule="price", epsilon=1).status_code == 201
    assert "another name" in opened(service, "twice", AGENTS[:2], rule="price", epsilon=1).json()["detail"]
    assert run(service, "unknown")["status"] == 422


def test_a_game_by_http(service: Running) -> None:
    rules: dict[str, Any] = {
        "rule": "game",
        "rho": 5,
        "links": ["bridge = 0 + 1", "tunnel = 0.5"],
        "routes": ["bridge", "tunnel"],
    }
    assert opened(service, "roads", AGENTS[:5], **rules).status_code == 201
    for agent in AGENTS[:4]:
        path = "/v1/markets/fair/roads/report"
        assert service.call(agent, "PUT", path, json={"report": [0.1, 0.2]}).is_success
    assert run(service, "roads")["state"] == "done"
    routes = [service.call(agent, "GET", "/v1/markets/fair/roads/advice").json()["name"] for agent in AGENTS[:5]]
    assert set(routes[:4]) <= {"bridge", "tunnel"}
    assert routes[4] is None


def test_two_options_of_which_each_uses_the_better(service: Running) -> None:
    rules: dict[str, Any] = {"rule": "choose", "epsilon": 50, "options": ["mill", "church", "school"], "count": 2}
    assert opened(service, "stops", AGENTS[:2], **rules).status_code == 201
    for agent, costs in zip(AGENTS, ([0, 1, 1], [1, 1, 0]), strict=False):
        assert service.call(agent, "PUT", "/v1/markets/fair/stops/report", json={"report": costs}).is_success
    assert run(service, "stops")["state"] == "done"
    told = [service.call(agent, "GET", "/v1/markets/fair/stops/advice").json()["name"] for agent in AGENTS[:2]]
    assert told == ["mill", "school"]


def test_a_market_that_cannot_be_paid_stays_open(service: Running) -> None:
    """The charge comes first: nothing is closed, and nobody's report is touched."""
    assert opened(service, "dear", AGENTS[:3], who="ana", rule="match", rho=2, goods=["a = 1"]).status_code == 201
    before = spent(service)
    assert run(service, "dear", who="ana")["status"] == 403
    assert spent(service) == before
    assert service.call("agent-00", "GET", "/v1/markets/fair/dear").json()["state"] == "open"
    assert service.call("agent-00", "PUT", "/v1/markets/fair/dear/report", json={"report": [0.4]}).is_success


def test_openapi_and_mcp_tell_an_agent_enough(service: Running) -> None:
    """Every path of an agent has words, an example of its body, and a tool whose schema is one."""
    described = service.call(None, "GET", "/v1/openapi.json").json()
    paths = {path: methods for path, methods in described["paths"].items() if path.startswith("/v1/markets")}
    assert {"/v1/markets", "/v1/markets/{dataset}/{market}/report"} <= set(paths)
    assert all(method["description"] for methods in paths.values() for method in methods.values())
    body = described["components"]["schemas"]["ReportBody"]
    assert body["examples"] == [{"report": [0.7, 0.2]}, {"report": 0.55}]
    tools = service.call("agent-00", "GET", "/v1/market-tools").json()["tools"]
    assert [tool["name"] for tool in tools] == ["list_markets", "read_market", "submit_report", "read_advice"]
    for tool in tools:
        assert re.fullmatch(r"[a-z_]+", tool["name"])
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert set(tool["inputSchema"]["required"]) == set(tool["inputSchema"]["properties"])


def test_a_model_s_program_speaks_to_its_tools(service: Running) -> None:
    """JSON-RPC over standard input and output, as MCP has it: list, read, submit twice, and what is wrong."""
    opened(service, "tooled", AGENTS[:3], rule="choose", epsilon=1, options=["park", "pool"])
    place = {"dataset": "fair", "market": "tooled"}
    wishes = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}),
        ("tools/list", {}),
        ("tools/call", {"name": "list_markets", "arguments": {}}),
        ("tools/call", {"name": "submit_report", "arguments": {**place, "report": [0.5, 0.1]}}),
        ("tools/call", {"name": "submit_report", "arguments": {**place, "report": [0.1, 0.1]}}),
        ("tools/call", {"name": "read_market", "arguments": place}),
        ("tools/call", {"name": "read_advice", "arguments": {"dataset": "../..", "market": "x"}}),
        ("tools/call", {"name": "sell_everything"}),
        ("nonsense", {}),
    ]
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) for i, (m, p) in enumerate(wishes)]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "market", "tools", "--url", service.url],
        input="\n".join([*lines, "no json"]) + "\n", capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, "TACIT_TOKEN": service.tokens["agent-00"]},
    )  # fmt: skip
    found = [json.loads(each) for each in done.stdout.splitlines()]
    assert [each["id"] for each in found] == [*range(9), None]
    assert found[0]["result"]["serverInfo"]["name"] == "tacit-markets"
    assert [tool["name"] for tool in found[1]["result"]["tools"]][2] == "submit_report"
    texts = [each["result"]["content"][0]["text"] for each in found[2:7]]
    assert "tooled" in texts[0]
    assert json.loads(texts[1]) == {"sealed": True, "again": False}
    assert [each["result"]["isError"] for each in found[2:7]] == [False, False, True, False, True]
    assert json.loads(texts[3])["reported"]
    assert found[7]["error"]["code"] == -32602
    assert found[8]["error"]["code"] == -32601
