"""Signing in at a real identity provider, and every way in which it, or somebody in between, can be wrong."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from warnings import catch_warnings, simplefilter

import httpx
import jwt
import pytest

from support.browser import chromium
from support.identity import CLIENT, SECRET, Identities, identities, public, rsa_key
from support.service import PLAIN, Running, running
from tacit.base import InputError
from tacit.server.auth.identify import COOKIE
from tacit.server.auth.oidc import Provider, fetched, person_of, safe_address
from tacit.server.db import Unavailable
from tacit.server.http.people import FLOW
from tacit.server.ops.config import Config
from tacit.server.problem import HttpProblem

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]

CALLBACK = "/signin/oidc/callback"
ROLES = ("curators=curator", "watchers=auditor", "cn=people,ou=x=analyst")


@pytest.fixture(scope="module")
def provider() -> Iterator[Identities]:
    with identities() as found:
        yield found


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.write_text(SECRET + "\n")
    return path


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory, provider: Identities, secret: Path) -> Iterator[Running]:
    settings: dict[str, Any] = {
        "oidc_issuer": provider.url,
        "oidc_client": CLIENT,
        "oidc_secret": secret,
        "oidc_roles": ROLES,
    }
    with running(tmp_path_factory.mktemp("clinic"), public_url="http://127.0.0.1:1", **settings) as found:
        yield found


@pytest.fixture(autouse=True)
def honest(provider: Identities, clinic: Running) -> None:
    """The provider does everything right, and is asked anew who it is."""
    provider.reset()
    assert clinic.service.oidc is not None
    clinic.service.oidc._document = clinic.service.oidc._keys = None


def begun(browser: httpx.Client) -> str:
    """The path and query that the provider sends the browser back to."""
    out = browser.get("/signin/oidc")
    assert out.status_code == 303
    with httpx.Client(trust_env=False, verify=PLAIN) as other:
        back = urlsplit(other.get(out.headers["location"]).headers["location"])
    return f"{back.path}?{back.query}"


def came(clinic: Running) -> httpx.Response:
    with clinic.client() as browser:
        return browser.get(begun(browser))


def test_somebody_whom_we_know_comes_in_and_the_secret_of_the_way_is_gone(clinic: Running) -> None:
    with clinic.client(cookies={COOKIE: "planted"}) as browser:
        out = browser.get("/signin/oidc")
        flags = out.headers["set-cookie"].lower()
        assert all(flag in flags for flag in ("httponly", "samesite=lax", f"path={CALLBACK}"))
        asked = parse_qs(urlsplit(out.headers["location"]).query)
        assert (asked["code_challenge_method"], asked["client_id"]) == (["S256"], [CLIENT])
        assert asked["redirect_uri"] == [f"http://127.0.0.1:1{CALLBACK}"]
        assert browser.cookies[FLOW] not in out.headers["location"]
        arrived = browser.get(begun(browser))
        assert arrived.status_code == 200
        assert 'url=/"' in arrived.text
        assert FLOW not in browser.cookies
        session = next(cookie.value for cookie in browser.cookies.jar if cookie.value != "planted")
    with clinic.client(cookies={COOKIE: session or ""}) as browser:
        assert browser.get("/v1/me").json()["name"] == "ana"
    with clinic.client(cookies={COOKIE: "planted"}) as thief:
        assert thief.get("/v1/me").status_code == 401


def test_an_answer_is_good_in_the_browser_that_asked_and_once(clinic: Running) -> None:
    with clinic.client() as browser, clinic.client() as thief:
        back = begun(browser)
        assert thief.get(back).status_code == 403
        assert "did not begin in this browser" in thief.get(back).json()["detail"]
        assert browser.get(back).status_code == 200
        assert browser.get(back).status_code == 403  # the cookie is gone
    with clinic.client() as browser:
        back = begun(browser)
        flow = browser.cookies[FLOW]
        assert browser.get(back).status_code == 200
        browser.cookies.set(FLOW, flow, domain="127.0.0.1", path=CALLBACK)
        assert browser.get(back).status_code == 503  # the provider takes a code once


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"state=[^&]*", "state=other"),
        (r"state=[^&]*", ""),
        (r"iss=[^&]*", "iss=http%3A%2F%2F127.0.0.1%3A9"),
        (r"&iss=[^&]*", ""),
        (r"code=[^&]*", "error=access_denied"),
    ],
)
def test_an_answer_that_was_changed_on_the_way(clinic: Running, pattern: str, text: str) -> None:
    with clinic.client() as browser:
        assert browser.get(re.sub(pattern, text, begun(browser))).status_code == 403
        assert COOKIE not in browser.cookies


def test_a_code_of_somebody_elses_sign_in_is_worthless(clinic: Running) -> None:
    """PKCE: a stolen code does not fit the verifier of another browser."""
    with clinic.client() as browser, clinic.client() as thief:
        code = parse_qs(urlsplit(begun(browser)).query)["code"][0]
        assert thief.get(re.sub(r"code=[^&]*", f"code={code}", begun(thief))).status_code == 503


def signed(key: Any, algorithm: str, **header: Any) -> Callable[[dict[str, Any]], str]:
    def token(claims: dict[str, Any]) -> str:
        with catch_warnings():
            simplefilter("ignore")  # of keys that are too short
            return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "one", **header})

    return token


def without(name: str, claims: dict[str, Any]) -> None:
    del claims[name]


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another issuer": lambda claims: claims.update(iss="https://evil.example.org"),
    "another audience": lambda claims: claims.update(aud="another"),
    "several audiences and nobody it was made for": lambda claims: claims.update(aud=[CLIENT, "another"]),
    "made for another": lambda claims: claims.update(azp="another"),
    "expired": lambda claims: claims.update(exp=int(time()) - 120),
    "not yet": lambda claims: claims.update(nbf=int(time()) + 900),
    "from the future": lambda claims: claims.update(iat=int(time()) + 900),
    "old": lambda claims: claims.update(iat=int(time()) - 3600),
    "another sign-in's": lambda claims: claims.update(nonce="other"),
    "a nonce that is no text": lambda claims: claims.update(nonce=7),
    "nobody": lambda claims: claims.update(sub=""),
    "somebody without end": lambda claims: claims.update(sub="x" * 300),
    "no name": lambda claims: claims.pop("preferred_username"),
    "a name that is a list": lambda claims: claims.update(preferred_username=["ana"]),
    **{f"no {name}": partial(without, name) for name in ("exp", "iat", "nonce", "sub")},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_token_with_a_wrong_claim(clinic: Running, provider: Identities, change: Callable[[Any], Any]) -> None:
    provider.change = change
    answer = came(clinic)
    assert answer.status_code == 403, answer.text
    assert COOKIE not in answer.cookies


def test_a_token_with_a_wrong_signature(clinic: Running, provider: Identities) -> None:
    listed, weak = public(provider.key, "one"), rsa_key(1024)
    hacks: dict[str, Callable[[dict[str, Any]], str]] = {
        "another key of the same name": signed(rsa_key(), "RS256"),
        "a key that is not listed": signed(provider.key, "RS256", kid="two"),
        "none": signed(None, "none"),
        "a shared secret": signed(SECRET.ljust(32, "x"), "HS256"),
        "no token at all": lambda _: "x.y.z",
        "an id that is no text": signed(provider.key, "RS256", kid="\N{SNOWMAN}"),
    }
    for name, hack in hacks.items():
        provider.sign = hack
        assert came(clinic).status_code == 403, name
    cases: list[tuple[Callable[[dict[str, Any]], str] | None, list[Any]]] = [
        (signed(weak, "RS256"), [public(weak, "one")]),
        (None, [public(provider.key, "one", use="enc")]),
        (None, [public(provider.key, "one", alg="PS256")]),
        (None, [listed, listed]),
        (None, [{"kty": "oct", "kid": "one", "k": "AAAA"}]),
        (None, [None, 3, {}]),
    ]
    for number, (hack_, keys) in enumerate(cases):
        assert clinic.service.oidc is not None
        clinic.service.oidc._keys = None
        provider.sign, provider.keys = hack_, keys
        assert came(clinic).status_code == 403, number


def test_a_key_that_is_new_is_fetched_and_not_at_everybodys_wish(clinic: Running, provider: Identities) -> None:
    assert clinic.service.oidc is not None
    assert came(clinic).status_code == 200
    old = provider.key
    try:
        provider.key = rsa_key()
        provider.sign = lambda claims: jwt.encode(claims, provider.key, algorithm="RS256", headers={"kid": "new"})
        provider.keys = [public(provider.key, "new")]
        assert came(clinic).status_code == 403  # looked at a moment ago
        found = clinic.service.oidc._keys
        assert found is not None
        clinic.service.oidc._keys = found[0] - 120, found[1]
        before = provider.seen.count("/keys")
        assert came(clinic).status_code == 200
        provider.sign = lambda claims: jwt.encode(claims, provider.key, algorithm="RS256", headers={"kid": "third"})
        for _ in range(3):
            assert came(clinic).status_code == 403
        assert provider.seen.count("/keys") == before + 1
    finally:
        provider.key = old


def test_who_may_come_in(clinic: Running, provider: Identities) -> None:
    def status(subject: str, name: str, **more: Any) -> int:
        provider.claims = {"sub": subject, "preferred_username": name, **more}
        return came(clinic).status_code

    people = clinic.service.people
    assert status("u-9", "nobody here") == 403
    assert status("u-9", "new", groups=["other", 5]) == 403
    assert status("u-9", "new", groups=["cn=people,ou=x"]) == 200
    assert people.named("new") is not None
    assert status("u-9", "new") == 200  # known now
    assert status("u-8", "new") == 403  # the name, taken over by somebody else
    assert status("u-9", "ben") == 403  # the other way round
    assert status("u-7", "*", groups="cn=people,ou=x") == 403
    assert status("u-6", "cora") == 403  # a curator by name alone
    assert status("u-6", "cora", groups=["watchers"]) == 403
    assert status("u-6", "cora", groups="curators") == 200
    assert status("u-5", "otto", groups=["watchers"]) == 200
    people.bar("new")
    assert status("u-9", "new", groups=["cn=people,ou=x"]) == 403


def test_an_email_address_counts_if_it_is_verified(provider: Identities, clinic: Running) -> None:
    people, config = clinic.service.people, replace(clinic.service.config, oidc_claim="email")
    people.add("eve@example.org", "analyst")
    said = {"sub": "e-1", "email": "eve@example.org"}
    for verified in ({}, {"email_verified": "true"}, {"email_verified": False}):
        with pytest.raises(HttpProblem, match="verified"):
            person_of({**said, **verified}, config, people)
    assert person_of({**said, "email_verified": True}, config, people).name == "eve@example.org"


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "http://127.0.0.1:9"},
        {"token_endpoint": "http://example.org/token"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_provider_that_describes_itself_badly(
    clinic: Running, provider: Identities, document: dict[str, Any]
) -> None:
    provider.document = document
    assert clinic.call(None, "GET", "/signin/oidc").status_code == 503


def test_the_secret_is_sent_as_the_provider_wants_it(clinic: Running, provider: Identities) -> None:
    provider.document = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert came(clinic).status_code == 200
    provider.answer = {"id_token": None}
    assert came(clinic).status_code == 403


def test_what_is_fetched_is_an_object_and_not_behind_a_redirect(provider: Identities) -> None:
    assert fetched(f"{provider.url}/keys")["keys"]
    for url in (f"{provider.url}/nothing", "http://127.0.0.1:1/", f"{provider.url}/docs"):
        with pytest.raises(Unavailable):
            fetched(url)
    asked = "response_type=code&scope=openid&state=s&redirect_uri=" + provider.url + "/keys"
    with pytest.raises(Unavailable, match="302"):
        fetched(f"{provider.url}/authorize?{asked}")
    for bad in (
        "ftp://127.0.0.1/x",
        "https://user:word@example.org",
        "https://",
        "http://example.org",
        "https://a b",
        3,
    ):
        with pytest.raises(InputError):
            safe_address(bad, "it")


def test_settings_go_together(tmp_path: Path) -> None:
    whole: dict[str, Any] = {
        "oidc_issuer": "https://id.example.org",
        "oidc_client": "tacit",
        "public_url": "https://t.example.org",
    }
    assert Provider.of(Config()) is None
    made = Provider.of(Config(**whole))
    assert made is not None
    assert made.redirect == f"https://t.example.org{CALLBACK}"
    for name in ("oidc_client", "public_url"):
        with pytest.raises(InputError, match="set oidc_client and public_url"):
            Config(**{**whole, name: ""})
    for roles in ("x=boss", "analyst", "=analyst"):
        with pytest.raises(InputError, match="group=role"):
            Config(oidc_roles=(roles,))
    with pytest.raises(InputError, match="https"):
        Config(behind_proxy=True, public_url="http://t.example.org")
    with pytest.raises(InputError, match="https"):
        Provider.of(Config(**{**whole, "oidc_issuer": "http://id.example.org"}))
    with pytest.raises(InputError, match="cannot be read"):
        Provider.of(Config(oidc_secret=tmp_path / "none", **whole))
    file = tmp_path / "server.toml"
    file.write_text('oidc_roles = ["a:b=analyst", "c=curator"]\noidc_secret = "secret"\n')
    found = Config.read(file, {})
    assert (found.oidc_roles, found.oidc_secret) == (("a:b=analyst", "c=curator"), tmp_path / "secret")
    assert Config.read(None, found.environment()).oidc_roles == found.oidc_roles


def test_without_a_provider_there_is_no_way_to_one(tmp_path: Path) -> None:
    with running(tmp_path) as plain:
        assert plain.call(None, "GET", "/signin/oidc").status_code == 404


def test_a_real_browser_arrives_signed_in_from_another_site(
    chromium: "Browser", clinic: Running, provider: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's cookie is strict, so a redirect from the provider's site would arrive without it."""
    service = clinic.service.oidc
    assert service is not None
    elsewhere = provider.url.replace("127.0.0.1", "localhost")  # another site than 127.0.0.1
    for name, value in (("issuer", elsewhere), ("redirect", f"{clinic.url}{CALLBACK}")):
        monkeypatch.setattr(service, name, value)
    monkeypatch.setattr(provider, "url", elsewhere)
    provider.claims = {"sub": "u-ben", "preferred_username": "ben"}
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(f"{elsewhere}/keys")
        page.goto(f"{clinic.url}/signin")
        page.click("a[href='/signin/oidc']")
        page.wait_for_url(f"{clinic.url}/ask")
        assert "ben" in page.inner_text("body")
        assert {cookie["name"] for cookie in context.cookies()} == {COOKIE}
    finally:
        context.close()
