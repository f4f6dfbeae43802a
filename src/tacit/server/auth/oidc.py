"""An identity provider: what it says of itself, its keys, the exchange of a code for claims, and whom they name.

Who signed in is somebody whom the list of people knows, or whom a group at the provider gives a role; curators and
auditors need such a group in any case. The provider's own name for them is kept at the first time: a name that it gives
to somebody else later lets nobody in.
"""

import hmac
import json
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import timedelta
from http.client import HTTPException, HTTPResponse
from time import monotonic, time
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import jwt
from sqlalchemy import select

from tacit.base import InputError
from tacit.server.auth.people import Identity, People
from tacit.server.db import Unavailable, now, subjects
from tacit.server.ops.config import Config, on_this_machine
from tacit.server.problem import HttpProblem

__all__ = ["CALLBACK", "Provider", "fetched", "person_of", "refusal", "safe_address"]

TIMEOUT = 10.0
MOST = 1 << 20


class _Plain(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: a secret goes where the provider's own document says, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.OpenerDirector()  # no file:, no ftp:, no proxies
for _handler in (urllib.request.HTTPHandler, urllib.request.HTTPSHandler, urllib.request.HTTPErrorProcessor):
    _opener.add_handler(_handler())
_opener.add_handler(urllib.request.HTTPDefaultErrorHandler())
_opener.add_handler(_Plain())


def safe_address(url: object, what: str) -> str:
    """An https:// address, or an http:// one on this machine; anything else would tell secrets to the network."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
    good = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url and host
    if not good or parts.username is not None or parts.fragment:
        raise InputError(f"{what} is not an address such as https://id.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and on_this_machine(host)):
        raise InputError(f"{what} must begin with https://")
    return str(url)


def fetched(url: str, *, form: dict[str, str] | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """The JSON object at an address; with `form` it is posted there. `Unavailable` if there is none."""
    data = None if form is None else urlencode(form).encode()
    request = urllib.request.Request(url, data=data, headers={"Accept": "application/json", **(headers or {})})
    try:
        answer: HTTPResponse = _opener.open(request, timeout=TIMEOUT)
        with answer:
            text = answer.read(MOST + 1)
    except HTTPError as refused:
        refused.close()
        raise Unavailable(f"the identity provider answered with {refused.code}: try to sign in again") from None
    except (OSError, HTTPException):
        raise Unavailable("the identity provider cannot be reached: try to sign in again") from None
    try:
        found = json.loads(text) if len(text) <= MOST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unavailable("the identity provider answered with something that is not understood")
    return found


ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures with a public key alone: never `none`, and never one with a shared secret."""

OF_KINDS = {"RSA": ALGORITHMS[:6], "EC": ("ES256", "ES384"), "OKP": ("EdDSA",)}
LEEWAY = timedelta(seconds=60)  # clocks differ
OLDEST = 600.0  # seconds from the token's making to its use
NEEDED = ["iss", "sub", "aud", "exp", "iat", "nonce"]


def refusal(detail: str) -> HttpProblem:
    """Nobody is let in. What was in the token is not repeated."""
    return HttpProblem(403, "oidc", "The sign-in failed", f"{detail}: try again, or ask a curator for a link")


def _claims_of(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client: str, nonce: str
) -> dict[str, Any] | None:
    """What a token says, once every check has passed; None if none of the keys is the one it names."""
    try:
        header = jwt.get_unverified_header(token)  # nothing in it is believed yet
    except jwt.PyJWTError:
        raise refusal("the identity provider sent a token that cannot be read") from None
    name, algorithm = header.get("kid"), str(header.get("alg"))
    if algorithm not in ALGORITHMS:
        raise refusal("the identity provider signs in a way that is not accepted here")
    if name is not None and not isinstance(name, str):
        raise refusal("the identity provider sent a token that cannot be read")
    fitting = [key for key in keys if _fits(key, name, algorithm)]
    if not fitting:
        return None
    if len(fitting) > 1:
        raise refusal("the identity provider does not say which of its keys it signed with")
    try:
        claims = jwt.decode(
            token,
            jwt.PyJWK(dict(fitting[0]), algorithm),
            algorithms=[algorithm],
            audience=client,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": NEEDED, "enforce_minimum_key_length": True},
        )
    except jwt.ExpiredSignatureError:
        raise refusal("the token of the identity provider is past its time, or a clock is wrong") from None
    except jwt.PyJWTError:
        raise refusal("the token of the identity provider is not good: sign in again") from None
    _for_us(claims, client, nonce)
    return claims


def _fits(key: Mapping[str, Any], name: str | None, algorithm: str) -> bool:
    """Whether a key of the provider's set may have signed: named so, for signatures, of the algorithm's kind."""
    named = name is None or key.get("kid") == name
    meant = key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm
    return named and meant and algorithm in OF_KINDS.get(str(key.get("kty")), ())


def _for_us(claims: Mapping[str, Any], client: str, nonce: str) -> None:
    """What jwt does not look at: the nonce, the party that it was made for, and its age."""
    sent = claims["nonce"]
    if not (isinstance(sent, str) and hmac.compare_digest(sent.encode(), nonce.encode())):
        raise refusal("the token of the identity provider belongs to another sign-in")
    audience = claims["aud"]
    several = isinstance(audience, list) and len(audience) > 1
    if (several and "azp" not in claims) or claims.get("azp", client) != client:
        raise refusal("the token of the identity provider is meant for another program")
    if time() - float(claims["iat"]) > OLDEST:
        raise refusal("the token of the identity provider is old")
    if not (isinstance(claims["sub"], str) and 0 < len(claims["sub"]) <= 255):
        raise refusal("the token of the identity provider does not say who you are")


CALLBACK = "/signin/oidc/callback"
KEPT = 3600.0  # seconds that keys and the provider's document are kept
APART = 60.0  # seconds between two looks for a key that is not there
MOST_KEYS = 100


ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Provider:
    """One provider for one worker. Thread safe; nothing is fetched before somebody signs in."""

    def __init__(self, *, issuer: str, client: str, secret: str | None, redirect: str) -> None:
        self.issuer, self.client, self.redirect = safe_address(issuer, "oidc_issuer"), client, redirect
        self._secret, self._lock = secret, threading.Lock()
        self._document: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, list[Mapping[str, Any]]] | None = None

    @classmethod
    def of(cls, config: Config) -> "Provider | None":
        """The provider that is configured, if one is."""
        if not config.oidc_issuer:
            return None
        file, redirect = config.oidc_secret, config.public_url.rstrip("/") + CALLBACK
        try:
            secret = None if file is None else file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise InputError(f"oidc_secret: {file} cannot be read: it is a file that holds it") from None
        return cls(issuer=config.oidc_issuer, client=config.oidc_client, secret=secret, redirect=redirect)

    def question(self, *, state: str, nonce: str, challenge: str) -> str:
        """Where the browser goes to sign in; the code will be good only with what `challenge` is the hash of."""
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.redirect,
            "scope": "openid profile email",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        place = str(self._described()["authorization_endpoint"])
        return place + ("&" if "?" in place else "?") + urlencode(asked)

    def named(self, said: str | None) -> bool:
        """Whether an answer is from this provider, as far as it says so (RFC 9207)."""
        if said is not None:
            return said == self.issuer
        return self._described().get("authorization_response_iss_parameter_supported") is not True

    def claims(self, *, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """Who signed in, for the code that the browser brought."""
        document = self._described()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect}
        form |= {"client_id": self.client, "code_verifier": verifier}
        headers = {}
        ways = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self._secret is not None and ("client_secret_basic" in ways or "client_secret_post" not in ways):
            pair = f"{quote(self.client, safe='')}:{quote(self._secret, safe='')}"  # RFC 6749, 2.3.1
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self._secret is not None:
            form["client_secret"] = self._secret
        token = fetched(document["token_endpoint"], form=form, headers=headers).get("id_token")
        if not isinstance(token, str):
            raise refusal("the identity provider sent no ID token")
        for fresh in (False, True):
            keys = self._signing(document["jwks_uri"], fresh=fresh)
            found = _claims_of(token, keys, issuer=self.issuer, client=self.client, nonce=nonce)
            if found is not None:
                return found
        raise refusal("the token is signed with a key that the identity provider does not list")

    def _described(self) -> Mapping[str, Any]:
        """What the provider says of itself; the addresses in it are checked."""
        with self._lock:
            if self._document is None or monotonic() - self._document[0] > KEPT:
                found = fetched(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer:
                    raise Unavailable("the identity provider calls itself by another name than oidc_issuer")
                try:
                    for name in ENDPOINTS:
                        safe_address(found.get(name), name)
                except InputError as error:
                    raise Unavailable(f"the identity provider's document cannot be used: {error}") from None
                self._document = monotonic(), found
            return self._document[1]

    def _signing(self, place: str, *, fresh: bool) -> list[Mapping[str, Any]]:
        """The provider's keys. A key that is not among them is looked for again, but not at everybody's wish."""
        with self._lock:
            if self._keys is None or monotonic() - self._keys[0] > (APART if fresh else KEPT):
                found = fetched(place).get("keys")
                if not isinstance(found, list):
                    raise Unavailable("the identity provider has no list of keys")
                self._keys = monotonic(), [key for key in found[:MOST_KEYS] if isinstance(key, dict)]
            return self._keys[1]


NAME = 200  # characters of a name at most


def person_of(claims: Mapping[str, Any], config: Config, people: People) -> Identity:
    """Who in our list the provider speaks of; somebody new is added only if a group of theirs has a role here."""
    name = claims.get(config.oidc_claim)
    if not isinstance(name, str) or not 0 < len(name) <= NAME:
        raise refusal(f'the identity provider says no "{config.oidc_claim}" of you')
    if config.oidc_claim == "email" and claims.get("email_verified") is not True:
        raise refusal("the identity provider has not verified your email address")
    groups, subject = claims.get(config.oidc_groups), str(claims["sub"])
    mine = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    pairs = (pair.rpartition("=") for pair in config.oidc_roles)
    roles = [role for group, _, role in pairs if group in mine]
    if _bound(subject, config, people) is None:
        if name not in {who.name for who, _ in people.everybody()}:
            if not roles:
                raise refusal(f'nobody is called "{name}" here, so a curator has to add you first')
            try:
                people.add(name, roles[0])
            except InputError:
                raise refusal("your name at the identity provider cannot be a name here") from None
        people.state.insert_once(subjects, issuer=config.oidc_issuer, subject=subject, person=name, created=now())
    if _bound(subject, config, people) != name:
        raise refusal(f'"{name}" is not who you were, or who this was, at the identity provider before')
    found = people.named(name)
    if found is None:
        raise refusal("you may not come in")
    if found.role != "analyst" and found.role not in roles:
        raise refusal(f"you are {found.role} here, and no group of yours at the identity provider is")
    return found


def _bound(subject: str, config: Config, people: People) -> str | None:
    """The person whom this subject has been before: a subject is one person, and a person one subject."""
    mine = (subjects.c.issuer == config.oidc_issuer) & (subjects.c.subject == subject)
    row = people.state.find(select(subjects.c.person).where(mine))
    return None if row is None else str(row.person)
