"""Who claimed which data, played again from the list of accounts: what the table of claims must say.

The rules are those of `claims.py`, written a second time and apart from them, as in `replay.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ClaimHistory", "Holding"]

HELD, REFINED, WAIVED = "held", "refined", "waived"


class Holding(NamedTuple):
    """Whom the data is counted for, and whether the account answers for it still."""

    unit: str | None
    state: str


class ClaimHistory:
    """All claims, entry by entry. `found` hears what is wrong. An account is named by the hash of its first entry."""

    def __init__(self, found: Callable[[int, str], None]) -> None:
        self._found = found
        self._places: dict[str, dict[tuple[str, str], Holding]] = {}  # place -> (account, part) -> holding
        self.beside: dict[str, int] = {}  # accounts that must be closed, and an entry that says so

    def holdings(self) -> dict[tuple[str, str, str], Holding]:
        """By account, place and part."""
        return {
            (account, place, part): holding
            for place, found in self._places.items()
            for (account, part), holding in found.items()
        }

    def claim(self, seq: int, body: Any) -> None:
        account, beside = str(body["account"]), [str(each) for each in body["beside"]]
        self.beside |= dict.fromkeys(beside, seq)
        for place, part in body["refined"]:
            known = self._places.get(place, {}).get((account, part))
            if known != (None, HELD) or part != "":
                self._found(seq, f"makes {place} finer, which was not claimed as a whole")
            self._places.setdefault(place, {})[account, part] = Holding(None, REFINED)
        for place, part, unit in body["claims"]:
            found = self._places.setdefault(place, {})
            known = found.get((account, part))
            if known is not None and (known.state == WAIVED or (known.state == HELD and known.unit is not None)):
                self._found(seq, f"claims {place} again, which was claimed or given up before")
            for (other, its), holding in found.items():
                shared = other != account and holding.state == HELD and (its == part or "" in (its, part))
                if shared and (other not in beside or None in (unit, holding.unit) or unit == holding.unit):
                    self._found(seq, f"claims {place}, which is another account's")
            found[account, part] = Holding(unit, HELD)

    def unclaim(self, seq: int, body: Any) -> None:
        account = str(body["account"])
        for place, part in body["claims"]:
            found = self._places.get(place, {})
            known = found.get((account, part))
            if known is None or known.state != HELD:
                self._found(seq, f"gives up {place}, which was not claimed")
            else:
                found[account, part] = Holding(known.unit, WAIVED)
