"""An identity provider: what it says of itself, its keys, and the exchange of a code for claims (OpenID Connect)."""

import threading
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

from tacit.base import InputError
from tacit.server.config import Config
from tacit.server.oidc_fetch import fetched, safe_address
from tacit.server.oidc_token import claims_of, refusal
from tacit.server.state import Unavailable

__all__ = ["CALLBACK", "Provider"]

CALLBACK = "/signin/oidc/callback"
KEPT = 3600.0  # seconds that keys and the provider's document are kept
APART = 60.0  # seconds between two looks for a key that is not there
MOST_KEYS = 100


@dataclass(frozen=True, kw_only=True)
class _Document:
    """What the provider says of itself, checked."""

    authorize: str
    token: str
    keys: str
    basic: bool  # how our secret is sent
    names_itself: bool  # in its answers (RFC 9207)


class Provider:
    """One provider for one worker. Thread safe; nothing is fetched before somebody signs in."""

    def __init__(self, *, issuer: str, client: str, secret: str | None, redirect: str) -> None:
        self.issuer, self.client, self.redirect = safe_address(issuer, "oidc_issuer"), client, redirect
        self._secret, self._lock = secret, threading.Lock()
        self._document: tuple[float, _Document] | None = None
        self._keys: tuple[float, list[Mapping[str, Any]]] | None = None

    @classmethod
    def of(cls, config: Config) -> "Provider | None":
        """The provider that is configured, if one is."""
        if not config.oidc_issuer:
            return None
        secret = None
        if config.oidc_secret is not None:
            try:
                secret = config.oidc_secret.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                raise InputError(
                    f"oidc_secret: {config.oidc_secret} cannot be read: it is a file that holds it"
                ) from None
        redirect = config.public_url.rstrip("/") + CALLBACK
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
        place = self._described().authorize
        return place + ("&" if "?" in place else "?") + urlencode(asked)

    def named(self, said: str | None) -> bool:
        """Whether an answer is from this provider, as far as it says so (RFC 9207)."""
        return said == self.issuer if said is not None else not self._described().names_itself

    def claims(self, *, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """Who signed in, for the code that the browser brought."""
        document = self._described()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect}
        form |= {"client_id": self.client, "code_verifier": verifier}
        headers = {}
        if self._secret is not None and document.basic:
            pair = f"{quote(self.client, safe='')}:{quote(self._secret, safe='')}"  # RFC 6749, 2.3.1
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self._secret is not None:
            form["client_secret"] = self._secret
        token = fetched(document.token, form=form, headers=headers).get("id_token")
        if not isinstance(token, str):
            raise refusal("the identity provider sent no ID token")
        for fresh in (False, True):
            found = claims_of(
                token, self._signing(document, fresh=fresh), issuer=self.issuer, client=self.client, nonce=nonce
            )
            if found is not None:
                return found
        raise refusal("the token is signed with a key that the identity provider does not list")

    def _described(self) -> _Document:
        with self._lock:
            if self._document is None or monotonic() - self._document[0] > KEPT:
                found = fetched(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer:
                    raise Unavailable("the identity provider calls itself by another name than oidc_issuer")
                self._document = monotonic(), _read(found)
            return self._document[1]

    def _signing(self, document: _Document, *, fresh: bool) -> list[Mapping[str, Any]]:
        """The provider's keys. A key that is not among them is looked for again, but not at everybody's wish."""
        with self._lock:
            age = None if self._keys is None else monotonic() - self._keys[0]
            if self._keys is None or age is None or age > KEPT or (fresh and age > APART):
                found = fetched(document.keys).get("keys")
                if not isinstance(found, list):
                    raise Unavailable("the identity provider has no list of keys")
                self._keys = monotonic(), [key for key in found[:MOST_KEYS] if isinstance(key, dict)]
            return self._keys[1]


def _read(found: Mapping[str, Any]) -> _Document:
    try:
        places = [
            safe_address(found.get(name), name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        ]
    except InputError as error:
        raise Unavailable(f"the identity provider's document cannot be used: {error}") from None
    ways = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return _Document(
        authorize=places[0],
        token=places[1],
        keys=places[2],
        basic="client_secret_basic" in ways or "client_secret_post" not in ways,
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
    )
