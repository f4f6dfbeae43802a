"""Is this ID token from our provider, for us, for this very sign-in, and fresh? (OpenID Connect Core 1.0, 3.1.3.7)"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta
from time import time
from typing import Any

import jwt

from tacit.server.problem import Problem

__all__ = ["ALGORITHMS", "claims_of", "key_name", "refusal"]

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures with a public key alone: never `none`, and never one with a shared secret."""

OF_KINDS = {"RSA": ALGORITHMS[:6], "EC": ("ES256", "ES384"), "OKP": ("EdDSA",)}
LEEWAY = timedelta(seconds=60)  # clocks differ
OLDEST = 600.0  # seconds from the token's making to its use
NEEDED = ["iss", "sub", "aud", "exp", "iat", "nonce"]


def refusal(detail: str) -> Problem:
    """Nobody is let in. What was in the token is not repeated."""
    return Problem(403, "oidc", "The sign-in failed", f"{detail}: try again, or ask a curator for a link")


def key_name(token: str) -> tuple[str | None, str]:
    """The `kid` and `alg` of a token's header; nothing in it is believed yet."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise refusal("the identity provider sent a token that cannot be read") from None
    name, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS:
        raise refusal("the identity provider signs in a way that is not accepted here")
    if name is not None and not isinstance(name, str):
        raise refusal("the identity provider sent a token that cannot be read")
    return name, str(algorithm)


def claims_of(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client: str, nonce: str
) -> dict[str, Any] | None:
    """What a token says, once every check has passed; None if none of the keys is the one it names."""
    name, algorithm = key_name(token)
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
