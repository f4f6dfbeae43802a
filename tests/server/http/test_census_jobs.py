"""A census over HTTP: quoted, started, and downloaded as a file."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pytest

from support.census import country, people, policy_of
from support.service import Running, running

SPINE = country()
SETTINGS = {
    "table": "people",
    "levels": ["county:3", "block:7"],
    "queries": ["total", "race"],
    "rho": 1,
    "invariants": ["county.total"],
}


def built(folder: Path) -> Path:
    path = policy_of(folder, people(SPINE), invariants=["county.total"])
    listed = ", ".join(f'"{name}"' for name in SPINE.names[-1])
    text = path.read_text().replace(
        'block = { type = "text", nullable = false }',
        f'block = {{ type = "text", nullable = false, group_keys = [{listed}] }}',
    )
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("census"), build=built) as found:
        yield found


def sent(service: Running, settings: dict[str, Any], what: str = "") -> Any:
    body = {"kind": "census", "settings": settings}
    return service.call("ana", "POST", f"/v1/datasets/country/jobs{what}", json=body)


def test_a_census_is_quoted_started_and_downloaded(service: Running) -> None:
    quote = sent(service, SETTINGS, "/quote").json()
    assert float(quote["cost"]["rho"]) == pytest.approx(1)
    assert quote["notes"][0].startswith("NOT protected")
    job = sent(service, SETTINGS).json()
    until = monotonic() + 60
    while job["state"] in ("queued", "running") and monotonic() < until:
        sleep(0.05)
        job = service.call("ana", "GET", f"/v1/jobs/{job['id']}").json()
    assert job["state"] == "done", job
    assert job["title"] == "Take a census: people by block"
    told = service.call("ana", "GET", job["release"]).json()
    assert (told["kind"], told["value"]) == ("rows", None)
    answer = service.call("ana", "GET", f"{job['release']}/file")
    with pa.ipc.open_stream(BytesIO(answer.content)) as reader:
        table = reader.read_all()
    assert table.column_names == ["county", "block", "race", "count"]
    assert sum(table.column("count").to_pylist()) == people(SPINE).num_rows
    forms = service.call("ana", "GET", f"{job['release']}/forms").json()["items"]
    assert [each["name"] for each in forms] == ["report", "csv", "parquet"]


def test_what_is_refused_says_why(service: Running) -> None:
    answer = sent(service, {**SETTINGS, "invariants": ["block.total"]}, "/quote")
    assert answer.status_code >= 400
    assert "would be released exactly" in answer.text
    assert sent(service, {**SETTINGS, "places": "/etc/passwd"}).status_code >= 400
