"""Coming in with a browser: links, cookies, planted sessions, forged requests."""

from collections.abc import Iterator

import pytest

from support.service import COUNT, Running, running
from tacit.server.auth.identify import COOKIE, GUARD

QUOTE = "/v1/datasets/clinic/quote"
BODY = {"sql": COUNT, "epsilon": 0.1}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


def test_a_link_signs_in_once_and_looking_at_it_uses_nothing_up(clinic: Running) -> None:
    link = clinic.service.people.link("ana")
    with clinic.client() as browser:
        for _ in range(2):
            assert link in browser.get("/signin", params={"link": link}).text
        came = browser.post("/signin", data={"link": link})
        assert (came.status_code, came.headers["location"]) == (303, "/")
        flags = came.headers["set-cookie"].lower()
        assert "httponly" in flags
        assert "samesite=strict" in flags
        assert browser.get("/").headers["location"] == "/ask"
        assert browser.get("/v1/me").json()["name"] == "ana"
    with clinic.client() as thief:
        again = thief.post("/signin", data={"link": link})
        assert (again.status_code, again.headers.get("set-cookie")) == (403, None)
        assert thief.get("/v1/me").status_code == 401


def test_a_planted_session_is_not_taken_over(clinic: Running) -> None:
    with clinic.client(cookies={COOKIE: "planted"}) as browser:
        browser.post("/signin", data={"link": clinic.service.people.link("ana")})
        mine = {cookie.value for cookie in browser.cookies.jar if cookie.name == COOKIE}
        assert mine - {"planted"}
    with clinic.client(cookies={COOKIE: "planted"}) as thief:
        assert thief.get("/v1/me").status_code == 401


def signed_in(clinic: Running) -> str:
    session = clinic.service.people.sign_in(clinic.service.people.link("ana"))
    assert session is not None
    return session


def test_a_forged_request_changes_nothing(clinic: Running) -> None:
    session = signed_in(clinic)
    with clinic.client(cookies={COOKIE: session}) as browser:
        guard = {GUARD: browser.get("/v1/me").json()["csrf"]}
        assert browser.post(QUOTE, json=BODY).status_code == 403
        assert browser.post(QUOTE, json=BODY, headers={GUARD: "x"}).json()["type"] == "urn:tacit:problem:forged"
        assert browser.post(QUOTE, json=BODY, headers=guard | {"Origin": "https://evil.example"}).status_code == 403
        assert browser.post(QUOTE, json=BODY, headers=guard | {"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert browser.post(QUOTE, json=BODY, headers=guard | {"Origin": clinic.url}).status_code == 200
        other = {GUARD: _guard_of_another(clinic)}
        assert browser.post(QUOTE, json=BODY, headers=other).status_code == 403
        assert browser.post("/signout").status_code == 403
        assert browser.get("/v1/me").status_code == 200


def _guard_of_another(clinic: Running) -> str:
    with clinic.client(cookies={COOKIE: signed_in(clinic)}) as browser:
        return str(browser.get("/v1/me").json()["csrf"])


def test_nobody_is_signed_in_from_another_site(clinic: Running) -> None:
    link = clinic.service.people.link("ana")
    with clinic.client() as browser:
        sent = browser.post("/signin", data={"link": link}, headers={"Origin": "https://evil.example"})
        assert sent.status_code == 403
        assert browser.post("/signin", data={"link": link}).status_code == 303  # it was not used up


def test_signing_out_ends_the_session_itself(clinic: Running) -> None:
    session = signed_in(clinic)
    with clinic.client(cookies={COOKIE: session}) as browser:
        guard = {GUARD: browser.get("/v1/me").json()["csrf"]}
        assert browser.post("/signout", headers=guard).status_code == 204
    with clinic.client(cookies={COOKIE: session}) as thief:
        assert thief.get("/v1/me").status_code == 401


def test_what_comes_in_a_link_is_not_html(clinic: Running) -> None:
    page = clinic.call(None, "GET", "/signin", params={"link": '"><script>alert(1)</script>'})
    assert "<script>" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


def test_a_name_is_not_html_either(clinic: Running) -> None:
    clinic.service.people.add("<script>x</script>", "analyst")
    clinic.tokens["odd"] = clinic.service.people.issue("<script>x</script>").text
    page = clinic.call("odd", "GET", "/ask")
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "&lt;script&gt;x" in page.text
