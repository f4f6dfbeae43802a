"""One line of the book: what happened, when, and a hash that ties it to everything before it."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

__all__ = ["REGISTRY", "Entry", "digest", "genesis"]

REGISTRY = ""  # the chain that lists the accounts; its `people` is empty


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of one account's chain. `body` is canonical JSON, stored as it was hashed.

    Kinds: open, limit, charge, begin, void, reset, rename, adopt, seal; in the list of accounts also claim, unclaim and
    keep, which has the hash of the answer that was stored for a charge. `begin` is written only when somebody other
    than the one who charged starts to run the program; after it there is no void.
    """

    people: str
    seq: int
    kind: str
    time: int  # µs since 1970, never before the entry above it
    body: str
    digest: bytes

    def json(self) -> dict[str, Any]:
        import json

        return {
            "people": self.people,
            "seq": self.seq,
            "time": self.time,
            "digest": self.digest.hex(),
            "body": json.loads(self.body),
        }


def genesis(ledger: str, people: str) -> bytes:
    """What the first entry of a chain stands on: no chain can be moved to another ledger or other people."""
    return sha256(b"tacit ledger 1\0" + ledger.encode() + b"\0" + people.encode()).digest()


def digest(before: bytes, seq: int, time: int, body: bytes) -> bytes:
    """SHA-256 over the digest before, the number, the time and the hash of the body.

    The body enters by its hash, so that a log with bodies left out can still be verified.
    """
    return sha256(before + seq.to_bytes(8, "big") + time.to_bytes(8, "big") + sha256(body).digest()).digest()
