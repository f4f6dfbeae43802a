"""Jobs of plain settings over HTTP: kinds, a free quote, a start that is paid once, progress, a stop, and the file."""

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from support.learning import policy_of
from support.service import Running, running
from tacit.desk.certificate.check import check
from tacit.learn.model import ModelFile

FIT: dict[str, Any] = {
    "model": "logistic",
    "table": "points",
    "features": ["a", "b"],
    "label": "kind",
    "epsilon": 1,
    "delta": "1e-4",
}
MORE = """
[analysts.ana]
limit = 3

[analysts.ben]
limit = 3
tables = ["other"]

[tables.other]
source = "points.parquet"
unit_column = "person"

[tables.other.columns]
person = { type = "integer" }
b = { type = "float", bounds = [0, 1], hidden = true }
"""


def points(folder: Path) -> Path:
    policy = policy_of(folder)
    policy.write_text(policy.read_text(encoding="utf-8") + MORE, encoding="utf-8")
    return policy


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("jobs"), build=points) as found:
        yield found


def sent(
    service: Running, who: str, settings: Any, *, what: str = "", key: str | None = None, kind: str = "train"
) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"kind": kind, "settings": settings}
    return service.call(who, "POST", f"/v1/datasets/points/jobs{what}", json=body, headers=headers)


def ended(service: Running, who: str, job: Any) -> Any:
    until = monotonic() + 60
    while job["state"] in ("queued", "running") and monotonic() < until:
        sleep(0.05)
        job = service.call(who, "GET", f"/v1/jobs/{job['id']}").json()
    return job


def spent(service: Running, holder: str) -> float:
    holders = service.call("cora", "GET", "/v1/datasets/points/budget").json()["holders"]
    return sum(float(each["spent"]["epsilon"]) for each in holders if each["holder"] == holder)


def test_kinds_tell_every_key_but_those_that_name_a_place(service: Running) -> None:
    (train,) = [
        each for each in service.call("otto", "GET", "/v1/job-kinds").json()["items"] if each["kind"] == "train"
    ]
    known = {each["name"]: each for each in train["keys"]}
    assert "file" not in known
    assert known["model"]["options"][:2] == ["logistic", "naive_bayes"]
    assert known["epsilon"]["required"]
    assert known["batch"]["only"] == {"model": ["mlp", "cnn", "text"]}
    assert (known["features"]["shape"], known["features"]["suggests"]) == ("list", "columns")


def test_a_quote_is_free_and_a_start_is_paid_once(service: Running) -> None:
    quote = sent(service, "ana", FIT, what="/quote").json()
    assert (quote["enough"], quote["answered"]) == (True, False)
    assert 0.99 < float(price := quote["cost"]["epsilon"]) <= 1
    assert spent(service, "analyst:ana") == 0
    taken = sent(service, "ana", FIT)
    assert taken.status_code == 202, taken.text
    job = ended(service, "ana", taken.json())
    assert job["state"] == "done", job
    assert job["title"] == "Train a model: logistic of points"
    assert job["idempotency_key"] == quote["idempotency_key"]
    again = ended(service, "ana", sent(service, "ana", FIT).json())
    assert again["release"] == job["release"]
    assert spent(service, "analyst:ana") == float(price)
    assert sent(service, "ana", FIT, what="/quote").json()["answered"]


def test_a_release_is_a_file_with_its_certificate(service: Running) -> None:
    job = ended(service, "ana", sent(service, "ana", FIT).json())
    told = service.call("ana", "GET", job["release"]).json()
    assert (told["kind"], told["value"]) == ("model", None)
    answer = service.call("ana", "GET", f"{job['release']}/file")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith('attachment; filename="points-')
    assert answer.headers["content-disposition"].endswith('.safetensors"')
    file = ModelFile.from_bytes(answer.content)
    assert file.certificate is not None
    assert all(one.ok is not False for one in [*check(file.certificate, answer=file.content), *file.checks()])
    bare = service.call("ana", "GET", f"{job['release']}/file?certificate=false").content
    assert ModelFile.from_bytes(bare).certificate is None
    assert service.call("ana", "GET", job["release"], headers={"Accept": "text/csv"}).status_code == 406
    assert service.call("ana", "GET", f"{job['release']}/chart").status_code == 404
    assert service.call("ana", "GET", f"{job['release']}/certificate").is_success
    assert service.call("cora", "GET", f"{job['release']}/file").status_code == 404
    (head,) = [each for each in service.call("ana", "GET", "/v1/releases").json()["items"] if each["id"] == told["id"]]
    assert head["kind"] == "model"


def test_a_table_is_downloaded_as_csv(service: Running) -> None:
    body = {"sql": "SELECT kind, COUNT(*) AS n FROM points GROUP BY kind", "epsilon": 0.1}
    name = service.call("cora", "POST", "/v1/datasets/points/ask", json=body).json()["id"]
    answer = service.call("cora", "GET", f"/v1/releases/{name}/file")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.startswith('"kind","n","n_low","n_high"')


WRONG: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    ({"modle": "logistic"}, 'did you mean "model"', ()),
    ({"model": "magic"}, "must be one of", ("model",)),
    ({"table": "pionts"}, 'did you mean "points"', ()),
    ({"features": ["a", "d"]}, 'no column "d"', ()),
    ({"features": ["kind"], "label": "c", "model": "linear"}, "holds no numbers", ()),
    ({"label": None}, "label is missing", ("label",)),
    ({"hidden": [3]}, "hidden is for model", ("hidden",)),
    ({"epsilon": -1}, "must be greater than 0", ("epsilon",)),
    ({"epsilon": 10**400}, "", ()),
    ({"file": "/etc/passwd"}, "no service takes one", ("file",)),
    ({"model": "mlp"}, "add population", ()),
    ({"model": "mlp", "population": 600, "batch": 700}, "cannot be larger than the population", ()),
    ({"model": "mlp", "population": 600, "batch": 2, "epsilon": "0.01"}, "nothing would be learned", ()),
    ({"model": "cnn", "population": 600, "image": [1, 5, 5]}, "must be the same", ()),
    ({"model": "text", "population": 600, "features": ["a"]}, "holds no text", ()),
]


@pytest.mark.parametrize(("change", "words", "path"), WRONG)
def test_what_is_wrong_is_told_and_nothing_is_charged(
    service: Running, change: dict[str, Any], words: str, path: tuple[str, ...]
) -> None:
    before = spent(service, "dataset")
    for what in ("/quote", ""):
        answer = sent(service, "cora", FIT | change, what=what)
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
        if path:
            assert list(path) in [each["path"] for each in answer.json()["problems"]]
    assert spent(service, "dataset") == before


def test_who_may_and_what_they_may_know(service: Running) -> None:
    assert sent(service, "otto", FIT, what="/quote").status_code == 403
    assert sent(service, "zoe", FIT, what="/quote").status_code == 404
    assert sent(service, "ben", FIT, what="/quote").status_code in (403, 422)  # another's table
    assert service.call(None, "GET", "/v1/job-kinds").status_code == 401
    hidden = FIT | {"table": "other", "features": ["b"], "model": "pca", "label": None}
    assert "no column" in sent(service, "ben", hidden, what="/quote").json()["detail"]
    assert sent(service, "ana", FIT, kind="steal").status_code == 422


def test_too_little_is_left_is_told_at_once(service: Running) -> None:
    sent(service, "ana", FIT | {"epsilon": "0.2", "name": "cheap"})  # of the 3 that she has
    answer = sent(service, "ana", FIT | {"epsilon": "2.9", "name": "dear"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:tacit:problem:over-budget")


def test_a_key_belongs_to_one_job(service: Running) -> None:
    mine = FIT | {"epsilon": "0.1", "name": "keyed"}
    first = ended(service, "cora", sent(service, "cora", mine, key="mine").json())
    assert first["idempotency_key"] == "mine"
    answer = sent(service, "cora", mine | {"epsilon": "0.2"}, key="mine")
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tacit:problem:key-reused")


def test_two_starts_are_one_job_and_a_stopped_one_goes_on(service: Running) -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    long = FIT | {"model": "mlp", "population": 600, "batch": 100, "steps": 1500, "epsilon": 2, "name": "long"}
    found: list[Any] = []
    starts = [Thread(target=lambda: found.append(sent(service, "cora", long).json())) for _ in range(2)]
    for each in starts:
        each.start()
    for each in starts:
        each.join()
    (name,) = {each["id"] for each in found}
    until = monotonic() + 60
    while "progress_words" not in (job := service.call("cora", "GET", f"/v1/jobs/{name}").json()):
        assert monotonic() < until, job
        assert job["state"] in ("queued", "running"), job
        sleep(0.05)
    assert re.fullmatch(r"step [\d,]+ of 1,500, ε = [\d.]+ so far(, [\d,.]+ steps a second)?", job["progress_words"])
    before = spent(service, "analyst:cora")
    assert service.call("cora", "DELETE", f"/v1/jobs/{name}").json()["state"] == "cancelled"
    saved = service.call("cora", "GET", "/v1/datasets/points/saved-jobs").json()["items"]
    assert [each["name"] for each in saved] == ["long"]
    assert spent(service, "analyst:cora") == before
    done = _resumed(service, long)
    assert done["state"] == "done", done
    assert spent(service, "analyst:cora") == before
    assert "of the 1,500 steps" in " ".join(service.call("cora", "GET", done["release"]).json()["notes"])


def _resumed(service: Running, settings: Any) -> Any:
    """The same again, as soon as the first lets go."""
    until = monotonic() + 60
    while monotonic() < until:
        job = ended(service, "cora", sent(service, "cora", settings).json())
        if "runs in another process" not in str(job.get("problem")):
            return job
        sleep(0.1)
    raise AssertionError("the job that was stopped does not let go")
