"""What everybody in a secure sum knows beforehand: who may take part, how many must be left, and whom to distrust."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.base import Aborted, InputError, whole
from tacit.noise import Rng

__all__ = ["ClientKey", "Message", "ServerTrust", "SumTerms", "is_signed"]

ServerTrust = Literal["curious", "lying"]
Message = Mapping[str, Any]  # texts to whole numbers, bytes, and lists of them
RUN = 16


@dataclass(frozen=True)
class ClientKey:
    """A client's signing key. Its public half is given to all other clients by a way that the server cannot touch."""

    secret: bytes

    @classmethod
    def draw(cls, rng: Rng) -> Self:
        return cls(bytes(rng.read(32)))

    @property
    def public(self) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.secret).public_key().public_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.secret).sign(content)

    def __repr__(self) -> str:
        return "ClientKey(…)"


def is_signed(public: bytes, content: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class SumTerms:
    """One secure sum of vectors of `size` numbers modulo 2^`bits`, in round `round` of the run `run` (16 bytes).

    Clients have places 1 to `clients`. At least `threshold` must be left at the end; up to `colluding` of them may
    tell the server all they know. A `curious` server keeps to the protocol and looks at everything; a `lying` one does
    as it likes, which needs `registered`, the public signing key of every place. In every sum that a server learns are
    then at least threshold − colluding vectors of honest clients: docs/theory/secure-sum.md.
    """

    clients: int
    threshold: int
    size: int
    bits: int
    run: bytes
    round: int
    colluding: int = 0
    server: ServerTrust = "curious"
    registered: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("clients", 2), ("threshold", 1), ("size", 1), ("round", 1), ("colluding", 0)):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=least))
        if not 2 <= whole(self.bits, "bits", least=2) <= 32:
            raise InputError(f"bits must be from 2 to 32, not {self.bits}: sums are modulo 2^bits")
        if len(self.run) != RUN:
            raise InputError(f"run must be {RUN} bytes, which name this run and no other")
        check_trust(self.clients, self.threshold, self.colluding, self.server)
        if self.server == "lying" and len(set(self.registered)) != self.clients:
            raise InputError(
                "against a lying server every client's public signing key has to be registered, each of them once: "
                "hand them out by a way that does not go through the server"
            )

    @property
    def letters(self) -> str:
        """How numbers are stored: 16 bits where that is enough."""
        return "<u2" if self.bits <= 16 else "<u4"

    def bound(self, *places: int) -> bytes:
        """Run, round and places, to bind keys, letters and signatures to."""
        return self.run + b"".join(number.to_bytes(8, "big") for number in (self.round, *places))

    def keys_content(self, place: int, channel: bytes, mask: bytes) -> bytes:
        """What a client signs of its keys."""
        return b"tacit keys 1\0" + self.bound(place) + channel + mask

    def survivors_content(self, survivors: Iterable[int]) -> bytes:
        """What a client signs of who is left."""
        return b"tacit survivors 1\0" + self.bound(*sorted(survivors))

    def places(self, message: Message, name: str, within: Iterable[int] | None = None) -> list[int]:
        """A list of different places out of a message, of which there must be enough."""
        found = message.get(name)
        if not isinstance(found, list) or not all(type(place) is int for place in found):
            raise Aborted(f"{name} must be a list of places: the secure sum is broken off")
        allowed = set(range(1, self.clients + 1) if within is None else within)
        if len(set(found)) != len(found) or not allowed.issuperset(found):
            raise Aborted(f"{name} holds a place twice, or one that cannot be there: the secure sum is broken off")
        if len(found) < self.threshold:
            raise Aborted(
                f"{len(found)} {name} are fewer than the {self.threshold} that are needed: nothing is released"
            )
        return found


def check_trust(clients: int, threshold: int, colluding: int, server: ServerTrust) -> None:
    """Whether the threshold keeps honest clients' vectors apart from what the server and those who help it know."""
    if not colluding < threshold <= clients:
        raise InputError(
            f"of {clients} clients at least {threshold} must be left and {colluding} may help the server: that needs "
            "colluding < threshold ≤ clients"
        )
    if server not in ("curious", "lying"):
        raise InputError(f"server must be 'curious' or 'lying', not {server!r}")
    if server == "lying" and 2 * threshold <= clients + colluding:
        raise InputError(
            f"a lying server could ask two halves for two sums: twice the threshold must be above clients + colluding, "
            f"so at least {(clients + colluding) // 2 + 1}, not {threshold}"
        )


def column(message: Message, name: str, length: int) -> list[bytes]:
    """A list of so many byte strings out of a message."""
    found = message.get(name)
    if not isinstance(found, list) or len(found) != length or not all(type(each) is bytes for each in found):
        raise Aborted(f"{name} must be a list of {length} byte strings: the secure sum is broken off")
    return found
