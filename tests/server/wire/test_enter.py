"""SCRAM-SHA-256 by the numbers, and against those who bend it."""

import hmac
from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac, sha256

import pytest
from sqlalchemy import select

from tacit.server.auth.people import People
from tacit.server.auth.tokens import Token, Verifier, scram_keys
from tacit.server.db import State, tokens
from tacit.server.problem import Fault
from tacit.server.wire.enter import Exchange, salt_secret

SALT = bytes(range(16))
SECRET = b"of the service"
GOOD, OTHER = Token("a" * 12, "good"), Token("b" * 12, "other")
VERIFIER = Verifier(SALT, 4096, (scram_keys(OTHER, SALT), scram_keys(GOOD, SALT)))


def proof(password: str, server: str, first: str = "n=,r=abcdefghijkl", binding: str = "biws") -> bytes:
    nonce, salt, rounds = (part[2:] for part in server.split(","))
    salted = pbkdf2_hmac("sha256", password.encode(), b64decode(salt), int(rounds))
    key = hmac.digest(salted, b"Client Key", "sha256")
    last = f"c={binding},r={nonce}"
    signature = hmac.digest(sha256(key).digest(), f"{first},{server},{last}".encode(), "sha256")
    return f"{last},p={b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()}".encode()


def test_any_good_token_of_a_person_opens() -> None:
    for token in (GOOD, OTHER):
        exchange = Exchange("ana", VERIFIER, SECRET)
        server = exchange.challenge(b"n,,n=,r=abcdefghijkl").decode()
        found = exchange.verify(proof(token.text, server))
        assert found is not None
        assert found[1].token == token.prefix


def test_nothing_else_opens_and_a_name_that_does_not_exist_looks_the_same() -> None:
    salts = []
    for name, verifier in (("ana", VERIFIER), ("nobody", None), ("nobody", None), ("other", None)):
        exchange = Exchange(name, verifier, SECRET)
        server = exchange.challenge(b"n,,n=,r=abcdefghijkl").decode()
        salts.append(server.split(",")[1:])
        assert exchange.verify(proof("wrong", server)) is None
    assert salts[1] == salts[2] != salts[3]
    assert {salt[1] for salt in salts} == {"i=4096"}
    assert len({len(salt[0]) for salt in salts}) == 1


def test_every_worker_gives_a_name_that_does_not_exist_the_same_salt(state: State) -> None:
    people = People(state)
    people.add("ana", "analyst")
    people.issue("ana")
    before = salt_secret(people)
    (kept,) = state.look(select(tokens.c.stored_key))
    assert kept.stored_key not in (before, b"")  # whose signatures are proofs
    people.issue("ana")
    people.revoke(people.issued("ana")[-1].prefix)
    assert salt_secret(People(state)) == before


def test_a_proof_is_good_once() -> None:
    first, second = Exchange("ana", VERIFIER, SECRET), Exchange("ana", VERIFIER, SECRET)
    server = first.challenge(b"n,,n=,r=abcdefghijkl").decode()
    second.challenge(b"n,,n=,r=abcdefghijkl")
    sent = proof(GOOD.text, server)
    assert first.verify(sent) is not None
    with pytest.raises(Fault):
        second.verify(sent)


def test_what_was_said_about_channel_binding_must_be_said_again() -> None:
    exchange = Exchange("ana", VERIFIER, SECRET)
    server = exchange.challenge(b"y,,n=,r=abcdefghijkl").decode()
    with pytest.raises(Fault):
        exchange.verify(proof(GOOD.text, server))
    assert exchange.verify(proof(GOOD.text, server, binding=b64encode(b"y,,").decode())) is not None


@pytest.mark.parametrize(
    "first", [b"", b"p=tls-unique,,n=,r=abcdefghijkl", b"n,a=x,n=,r=abcdefghijkl", b"n,,n=,r=", b"\xff"]
)
def test_first_messages_that_are_none(first: bytes) -> None:
    with pytest.raises(Fault):
        Exchange("ana", VERIFIER, SECRET).challenge(first)


@pytest.mark.parametrize(
    "last", [b"", b"c=biws", b"c=biws,r=x,p=", b"c=biws,r=x,p=!!!", b"c=,r=,p=AAAA", b"\xff,p=AAAA"]
)
def test_last_messages_that_are_none(last: bytes) -> None:
    exchange = Exchange("ana", VERIFIER, SECRET)
    exchange.challenge(b"n,,n=,r=abcdefghijkl")
    with pytest.raises(Fault):
        exchange.verify(last)
