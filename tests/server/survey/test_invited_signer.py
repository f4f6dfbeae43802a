"""Tokens that their signer has never seen."""

import pytest

from tacit.base import InputError
from tacit.server.survey.invited import TokenSigner
from tacit.survey.invitation import BlindRequest, PublicKey


@pytest.fixture(scope="module")
def signer() -> TokenSigner:
    return TokenSigner(TokenSigner.new())


def parts(token: str) -> tuple[bytes, bytes]:
    return bytes.fromhex(token[:64]), bytes.fromhex(token[64:])


def test_a_token_is_an_ordinary_signature_and_is_not_what_was_signed(signer: TokenSigner) -> None:
    for _ in range(5):
        asked = BlindRequest.drawn(signer.public)
        signature = signer.signed(asked.text)
        assert signature is not None
        message, found = parts(asked.token(signature))
        assert signer.knows(message, found)
        assert found.hex() != signature
        assert not signer.knows(message[::-1], found)
        assert not signer.knows(message, found[::-1])
        assert not TokenSigner(TokenSigner.new()).knows(message, found)


def test_every_hidden_form_fits_every_token(signer: TokenSigner) -> None:
    """For each token and each hidden form there is a factor that leads from one to the other: nothing links them."""
    asked = [BlindRequest.drawn(signer.public) for _ in range(2)]
    signed = [signer.signed(each.text) or "" for each in asked]
    for one in asked:
        for two, signature in zip(asked, signed, strict=True):
            _, found = parts(one.token(signer.signed(one.text) or ""))
            factor = int(signature, 16) * pow(int(found.hex(), 16), -1, signer.public.modulus) % signer.public.modulus
            encoded = signer.public.raised(int(found.hex(), 16))
            assert encoded * signer.public.raised(factor) % signer.public.modulus == two.blinded


def test_what_cannot_be_signed_is_not(signer: TokenSigner) -> None:
    assert signer.signed("0" * 512) is None
    assert signer.signed(signer.public.text) is None


def test_a_signature_that_would_mark_a_device_is_refused(signer: TokenSigner) -> None:
    asked = BlindRequest.drawn(signer.public)
    other = TokenSigner(TokenSigner.new())
    with pytest.raises(InputError, match="nothing was sent"):
        asked.token(other.signed(asked.text) or "1")


def test_a_key_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="2048 bits"):
        PublicKey.from_text("ff")
