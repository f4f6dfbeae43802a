"""An answer as a specification that a page draws."""

import sys
from collections.abc import Iterator

import pytest

from support.service import Running, running


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


@pytest.fixture(scope="module")
def place(clinic: Running) -> str:
    return f"/v1/releases/{clinic.ask('ana').json()['id']}/chart"


def test_numbers_intervals_and_colours_are_in_it(clinic: Running, place: str) -> None:
    release = clinic.call("ana", "GET", place.removesuffix("/chart")).json()
    wish = {"width": "700", "accent": "0f766e", "ink": "17211f"}
    found = clinic.call("ana", "GET", place, params=wish).json()
    text = str(found)
    for row, low, high in zip(release["rows"], *release["intervals"]["visits"], strict=True):
        assert all(str(value) in text for value in (*row, low, high))
    assert "'#0f766e'" in text
    assert "'#17211f'" in text
    assert "#0072b2" not in text
    narrow = clinic.call("ana", "GET", place, params={"width": "300"}).json()
    assert narrow["vconcat"][0]["width"] < found["vconcat"][0]["width"] < 700


def test_it_is_free_and_its_owners(clinic: Running, place: str) -> None:
    before = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]
    assert clinic.call("ana", "GET", place).status_code == 200
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"] == before
    for other in ("ben", "cora", "otto", "zoe"):
        assert clinic.call(other, "GET", place).status_code == 404
    assert clinic.call(None, "GET", place).status_code == 401
    assert clinic.call("ana", "GET", "/v1/releases/none/chart").status_code == 404
    clinic.call("ana", "PUT", place.replace("chart", "sharing"), json={"shared": True}).raise_for_status()
    assert clinic.call("ben", "GET", place).status_code == 200
    assert clinic.call("zoe", "GET", place).status_code == 404


@pytest.mark.parametrize(
    "wish", [{"width": "1"}, {"width": "1e9"}, {"accent": "red"}, {"ink": "#333333"}, {"ink": '333333"'}], ids=str
)
def test_only_sizes_and_colours_can_be_wished_for(clinic: Running, place: str, wish: dict[str, str]) -> None:
    assert clinic.call("ana", "GET", place, params=wish).status_code == 422


def test_an_answer_without_noise_or_rows_has_no_chart(clinic: Running) -> None:
    empty = clinic.ask("ana", "SELECT drug, COUNT(*) AS n FROM visits WHERE age > 109 GROUP BY drug")
    assert empty.json()["rows"] == []
    refused = clinic.call("ana", "GET", f"/v1/releases/{empty.json()['id']}/chart")
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:tacit:problem:no-chart")


@pytest.mark.parametrize("part", ["answers", "page"])
def test_a_service_without_the_means_to_draw_says_so(
    clinic: Running, place: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setitem(sys.modules, f"tacit.plot.{part}", None)
    answer = clinic.call("ana", "GET", {"answers": place, "page": "/static/vega.js"}[part])
    assert (answer.status_code, answer.json()["type"]) == (501, "urn:tacit:problem:no-plot")
    assert "pip install 'tacit[plot]'" in answer.json()["detail"]
