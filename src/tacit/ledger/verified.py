"""How far a ledger was verified, and what its chains had come to: a note of whoever verifies, from which they go on.

It belongs where those who write the ledger cannot, as a signed checkpoint does, and is only written when everything was
whole. What is before it is taken on trust: its last entries must still be there, and their hashes stand on all before
them, but an entry that was altered without its hash, or an old answer, is seen by a walk from the first entry alone.
"""

import json
from pathlib import Path
from typing import Any

from tacit.base import InputError
from tacit.base.private_file import write_private
from tacit.ledger.chain import Chain
from tacit.ledger.replay import HolderTally, Holding
from tacit.policy.account import Amount

__all__ = ["VerifiedLedger"]

FORMAT = "tacit verified 1"
HISTORY = ("facts", "first_name", "people", "opened", "period", "window", "window_end", "sealed", "charges")
TALLY = ("spent", "spent_delta", "inside", "inside_delta", "window")


class VerifiedLedger:
    """What was seen of one ledger, by the number of each account."""

    def __init__(self, ledger: str, chains: dict[int, dict[str, Any]]) -> None:
        self.ledger, self._chains = ledger, chains

    @classmethod
    def of(cls, ledger: str, chains: dict[int, Chain]) -> "VerifiedLedger":
        return cls(ledger, {number: _told(chain) for number, chain in chains.items()})

    @classmethod
    def read(cls, path: Path) -> "VerifiedLedger":
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["format"] != FORMAT:
                raise ValueError
            return cls(str(found["ledger"]), {int(number): chain for number, chain in found["chains"].items()})
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f"{path} is not a note of a verification: choose another name, and a new one is begun there"
            ) from None

    def write(self, path: Path) -> None:
        text = json.dumps({"format": FORMAT, "ledger": self.ledger, "chains": self._chains}, separators=(",", ":"))
        try:
            arriving = path.with_name(f"{path.name}.part")
            arriving.unlink(missing_ok=True)
            write_private(arriving, text)
            arriving.replace(path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def last(self, account: int) -> int:
        """The number of the last entry of an account that was seen."""
        return int(self._chains[account]["seq"]) if account in self._chains else 0

    def digest(self, account: int) -> bytes:
        """The hash of that entry."""
        return bytes.fromhex(self._chains[account]["digest"])

    @property
    def accounts(self) -> set[int]:
        return set(self._chains)

    def restore(self, account: int, chain: Chain) -> None:
        """Have a chain go on from there."""
        found, history = self._chains[account], chain.history
        chain.seq, chain.time, chain.opens = found["seq"], found["time"], dict(found["opens"])
        chain.opening, chain.digest = bytes.fromhex(found["opening"]), bytes.fromhex(found["digest"])
        chain.watched[chain.seq] = chain.digest
        for place, part, who, unit, state in found["claims"]:
            chain.claims.restore(place, (who, part), Holding(unit, state))
        chain.claims.beside.update(found["beside"])
        for name in HISTORY:
            setattr(history, name, found["history"][name])
        history.lifetime, history.last_reset = _amount(found["lifetime"]), found["reset"]
        for holder, (limit, each, numbers) in found["tallies"].items():
            tally = history.tallies[holder] = HolderTally(history.window)
            total = _amount(limit)
            assert total is not None
            tally.limit, tally.each = total, _amount(each)
            for name, value in zip(TALLY, numbers, strict=True):
                setattr(tally, name, value)


def _told(chain: Chain) -> dict[str, Any]:
    history = chain.history
    return {
        "seq": chain.seq,
        "time": chain.time,
        "opening": chain.opening.hex(),
        "digest": chain.digest.hex(),
        "opens": chain.opens,
        "claims": sorted([place, part, who, *each] for (who, place, part), each in chain.claims.holdings().items()),
        "beside": chain.claims.beside,
        "history": {name: getattr(history, name) for name in HISTORY},
        "lifetime": _pair(history.lifetime),
        "reset": history.last_reset,
        "tallies": {
            holder: [_pair(tally.limit), _pair(tally.each), [getattr(tally, name) for name in TALLY]]
            for holder, tally in history.tallies.items()
        },
    }


def _pair(amount: Amount | None) -> list[int] | None:
    return None if amount is None else [amount.spend, amount.delta]


def _amount(pair: list[int] | None) -> Amount | None:
    return None if pair is None else Amount(*pair)
