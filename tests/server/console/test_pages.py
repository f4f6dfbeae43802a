"""Who gets which page, and errors as pages for browsers and as problems for programs."""

from collections.abc import Iterator

import pytest

from support.service import Running, running

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


@pytest.mark.parametrize(
    ("who", "first"), [("ana", "/ask"), ("cora", "/ask"), ("otto", "/budget")], ids=["analyst", "curator", "auditor"]
)
def test_the_first_page_is_one_that_the_role_has(clinic: Running, who: str, first: str) -> None:
    answer = clinic.call(who, "GET", "/", headers=PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, first)
    assert clinic.call(who, "GET", first, headers=PAGE).status_code == 200


def test_an_auditor_looks_and_does_not_ask(clinic: Running) -> None:
    assert clinic.call("otto", "GET", "/ask", headers=PAGE).status_code == 403
    assert clinic.call("otto", "GET", "/budget", headers=PAGE).status_code == 200


@pytest.mark.parametrize("path", ["/", "/ask", "/budget"])
def test_nobody_unknown_sees_a_page_but_is_told_how_to_come_in(clinic: Running, path: str) -> None:
    answer = clinic.call(None, "GET", path, headers=PAGE)
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/html")
    assert "tacit people link" in answer.text
    assert "arrive.js" not in answer.text
    sent = clinic.call(None, "GET", path, headers={**PAGE, "Sec-Fetch-Site": "cross-site"})
    assert "arrive.js" in sent.text


@pytest.mark.parametrize(
    ("path", "status"), [("/nothing", 404), ("/v1/releases/no", 404), ("/v1/datasets/clinic/ledger?after=x", 422)]
)
def test_a_problem_is_a_page_for_a_browser_and_data_for_a_program(clinic: Running, path: str, status: int) -> None:
    shown = clinic.call("cora", "GET", path, headers=PAGE)
    assert (shown.status_code, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
    told = clinic.call("cora", "GET", path)
    assert (told.status_code, told.headers["content-type"]) == (status, "application/problem+json")
    assert told.json()["title"] in shown.text


def test_what_was_sent_stays_text(clinic: Running) -> None:
    evil = "<img src=x onerror=alert(1)>"
    found = clinic.call(None, "GET", "/signin", params={"link": evil}, headers=PAGE).text
    assert evil not in found
    assert "&lt;img src=x onerror=alert(1)&gt;" in found
    named = clinic.call("ana", "GET", f"/v1/datasets/{evil}/budget", headers=PAGE)
    assert named.status_code == 404
    assert "<img src=x" not in named.text
    assert "&lt;img" in named.text


def test_a_page_carries_the_guard_of_its_session_and_of_no_other(clinic: Running) -> None:
    with clinic.client() as browser:
        browser.post("/signin", data={"link": clinic.service.people.link("ana")})
        guard = browser.get("/v1/me").json()["csrf"]
        assert f'<meta name="csrf" content="{guard}">' in browser.get("/ask", headers=PAGE).text
    assert 'name="csrf"' not in clinic.call("ana", "GET", "/ask", headers=PAGE).text
    assert 'name="csrf"' not in clinic.call(None, "GET", "/signin", headers={"Cookie": "tacit_session=planted"}).text


@pytest.mark.parametrize(
    ("wire", "shown"), [("", ""), ("127.0.0.1:0", "127.0.0.1:0")], ids=["without the wire", "with the wire"]
)
def test_the_page_knows_where_psql_comes_in(tmp_path_factory: pytest.TempPathFactory, wire: str, shown: str) -> None:
    with running(tmp_path_factory.mktemp("clinic"), wire=wire) as service:
        assert f'data-wire="{shown}"' in service.call("ana", "GET", "/ask", headers=PAGE).text
