"""An identity provider of our own (OpenID Connect), over real HTTP, that can be told to do each thing wrong."""

import json
import socket
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from time import sleep, time
from typing import Any
from urllib.parse import parse_qs, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

__all__ = ["CLIENT", "SECRET", "Identities", "identities"]

CLIENT, SECRET = "tacit here", "s3cret/with:signs"
Claims = dict[str, Any]


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public(key: rsa.RSAPrivateKey, name: str, **more: Any) -> dict[str, Any]:
    spelled: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return {**spelled, "kid": name, "use": "sig", **more}


@dataclass
class Identities:
    """The provider. Whoever comes is signed in as `claims` says; `change` and the like alter what it sends."""

    url: str
    key: rsa.RSAPrivateKey
    claims: Claims = field(default_factory=lambda: {"sub": "u-1", "preferred_username": "ana"})
    change: Callable[[Claims], None] = lambda _: None
    sign: Callable[[Claims], str] | None = None
    document: Claims = field(default_factory=dict)
    keys: list[Any] | None = None
    answer: Claims = field(default_factory=dict)  # of the token endpoint, instead of its own
    seen: list[str] = field(default_factory=list)  # paths
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def reset(self) -> None:
        fresh = Identities(self.url, self.key)
        for name in ("claims", "change", "sign", "document", "keys", "answer"):
            setattr(self, name, getattr(fresh, name))

    def signed(self, claims: Claims) -> str:
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.middleware("http")
        async def noted(request: Request, follow: Any) -> Any:
            self.seen.append(request.url.path)
            return await follow(request)

        @app.get("/.well-known/openid-configuration")
        def described() -> Claims:
            own = {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "authorization_response_iss_parameter_supported": True,
            }
            return {**own, **self.document}

        @app.get("/keys")
        def keys() -> Claims:
            return {"keys": [public(self.key, "one")] if self.keys is None else self.keys}

        @app.get("/authorize")
        def authorize(request: Request) -> Response:
            asked = dict(request.query_params)
            assert asked["response_type"] == "code"
            assert "openid" in asked["scope"].split()
            code = f"code-{len(self.codes)}"
            self.codes[code] = asked
            back = {"code": code, "state": asked["state"], "iss": self.url}
            return RedirectResponse(asked["redirect_uri"] + "?" + urlencode(back), status_code=302)

        @app.post("/token")
        async def token(request: Request) -> Response:
            form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
            asked = self.codes.pop(form["code"], None)
            if asked is None:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            hashed = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
            basic = request.headers.get("authorization", "")
            given = (
                form.get("client_secret") == SECRET or basic == "Basic dGFjaXQlMjBoZXJlOnMzY3JldCUyRndpdGglM0FzaWducw=="
            )
            if (asked["code_challenge"], asked["redirect_uri"]) != (hashed, form["redirect_uri"]) or not given:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            times = {"iat": int(time()), "exp": int(time()) + 300}
            claims = {"iss": self.url, "aud": CLIENT, "nonce": asked["nonce"], **times, **self.claims}
            self.change(claims)
            return JSONResponse({"token_type": "Bearer", "id_token": self.signed(claims), **self.answer})

        return app


@contextmanager
def identities() -> Iterator[Identities]:
    """A provider on a free port of this machine."""
    place = socket.create_server(("127.0.0.1", 0))
    found = Identities(f"http://127.0.0.1:{place.getsockname()[1]}", rsa_key())
    server = uvicorn.Server(uvicorn.Config(found.app(), log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            sleep(0.01)
        yield found
    finally:
        server.should_exit = True
        thread.join()
        place.close()
