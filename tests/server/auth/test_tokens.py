"""Tokens as they are spelled, and SCRAM's keys against the example of RFC 7677."""

import hmac
from base64 import b64decode
from hashlib import sha256

from tacit.server.auth.tokens import Token, scram_keys, secret, short_name

NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = "n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER = f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
LAST = f"c=biws,r={NONCE}"


def test_the_exchange_of_rfc_7677() -> None:
    keys = scram_keys(Token("", "pencil"), b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    said = f"{FIRST},{SERVER},{LAST}".encode()
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client = bytes(a ^ b for a, b in zip(proof, hmac.digest(keys.stored_key, said, "sha256"), strict=True))
    assert sha256(client).digest() == keys.stored_key
    assert hmac.digest(keys.server_key, said, "sha256") == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_token_reads_back_and_has_256_bits() -> None:
    token = Token.new()
    assert Token.read(token.text) == token
    assert len(token.text.removeprefix(f"tacit_{token.prefix}_")) * 6 >= 256
    assert "tacit_" in token.text
    for wrong in (token.text + "\n", " " + token.text, token.text[1:], ""):
        assert Token.read(wrong) is None


def test_no_two_are_alike() -> None:
    for make in (secret, short_name, lambda: Token.new().text, lambda: Token.new().prefix):
        assert len({make() for _ in range(100)}) == 100
