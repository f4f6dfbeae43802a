"""The key that signs a survey's tokens, blindly: it never sees what it signs."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tacit.noise import rng_or_default
from tacit.survey.blind import BITS, PublicKey

__all__ = ["TokenSigner"]

PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)


class TokenSigner:
    """A private RSA key in the form that it is stored in."""

    def __init__(self, stored: bytes) -> None:
        key = serialization.load_der_private_key(stored, password=None)
        assert isinstance(key, rsa.RSAPrivateKey), "as `new` makes it"
        self._key, self._numbers = key, key.private_numbers()
        self.public = PublicKey(self._numbers.public_numbers.n)

    @staticmethod
    def new() -> bytes:
        """A fresh key, to be stored."""
        made = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        return made.private_bytes(encoding, form, serialization.NoEncryption())

    def signed(self, blinded: str) -> str | None:
        """The signature on a hidden form; None if that is no number below the key's.

        The number is hidden once more, by a factor of our own, so that the time this takes says nothing about the key.
        """
        modulus, value = self.public.modulus, int(blinded, 16)
        if not 0 < value < modulus:
            return None
        factor = 2 + int.from_bytes(bytes(rng_or_default(None).read(BITS // 8 + 16)), "big") % (modulus - 3)
        found = pow(value * self.public.raised(factor), self._numbers.d, modulus) * pow(factor, -1, modulus) % modulus
        assert self.public.raised(found) == value, "a wrong signature would give the key away"
        return f"{found:0{BITS // 4}x}"

    def knows(self, message: bytes, signature: bytes) -> bool:
        """Whether this key signed that message."""
        try:
            self._key.public_key().verify(signature, message, PSS, hashes.SHA384())
        except InvalidSignature:
            return False
        return True
