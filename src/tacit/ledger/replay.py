"""One account's history played again from its first entry: what the balances must be if every entry is true.

The rules are those of `charge.py` and `account.py`, written a second time and apart from them on purpose: a
check that calls what it checks finds nothing. Only entries are read here, never the tables they were summed up in.
"""

import re
from collections.abc import Callable
from json import loads
from typing import Any, NamedTuple

from tacit.policy.account import DATASET, Amount

__all__ = ["ChargeRecord", "ClaimHistory", "History", "HolderTally", "Holding", "read_charge"]

TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# keys of canonical JSON are in order, and a quote inside a string is escaped: so `,"program":{` is no part of a name,
# and the program, which is most of the text, need not be parsed to find what stands on its two sides
HEAD = re.compile(
    rf'\{{"analyst":({TEXT}),"delta":"([0-9]+)","holders":(\[(?:{TEXT},?)*\]),"key":({TEXT}),"kind":"charge",'
    rf'"policy":{TEXT},"process":{TEXT},"program":(?=\{{)'
)
TAIL = re.compile(r'"([0-9]+)"\}')
SPEND = ',"spend":'
REMEMBERED = 20_000  # lists of holders

_holders: dict[str, tuple[str, ...]] = {}


class ChargeRecord(NamedTuple):
    """What a charge says, as far as money goes; `program` is the text of the program."""

    analyst: str
    key: str
    holders: tuple[str, ...]
    spend: int
    delta: int
    program: str


def read_charge(body: str) -> ChargeRecord:
    """A charge's body. ValueError if it is not written as the ledger writes them."""
    head = HEAD.match(body)
    split = body.rfind(SPEND)
    tail = None if head is None or split < head.end() else TAIL.fullmatch(body, split + len(SPEND))
    if head is None or tail is None:
        raise ValueError("is not a charge as the ledger writes one")
    analyst, delta, names, key = head.groups()
    holders = _holders.get(names)
    if holders is None:
        if len(_holders) > REMEMBERED:
            _holders.clear()
        holders = _holders[names] = tuple(loads(names))
    return ChargeRecord(_text(analyst), _text(key), holders, int(tail[1]), int(delta), body[head.end() : split])


def _text(quoted: str) -> str:
    return str(loads(quoted)) if "\\" in quoted else quoted[1:-1]


class HolderTally:
    """What one holder may spend, and has."""

    __slots__ = ("each", "inside", "inside_delta", "limit", "spent", "spent_delta", "window")

    def __init__(self, window: int) -> None:
        self.limit: Amount = Amount(0)
        self.each: Amount | None = None
        self.spent = self.spent_delta = self.inside = self.inside_delta = 0
        self.window = window

    def columns(self) -> dict[str, int | None]:
        """As the table of balances has it."""
        return {
            "limit_spend": self.limit.spend,
            "limit_delta": self.limit.delta,
            "each_spend": None if self.each is None else self.each.spend,
            "each_delta": None if self.each is None else self.each.delta,
            "spent_spend": self.spent,
            "spent_delta": self.spent_delta,
            "window": self.window,
            "window_spend": self.inside,
            "window_delta": self.inside_delta,
        }


class History:
    """An account, entry by entry. `found` hears what is wrong; whatever it is, the rest is played all the same.

    `mentioned` are the numbers of charges that later entries speak of: only those are remembered.
    """

    def __init__(self, mentioned: set[int], found: Callable[[int, str], None]) -> None:
        self._mentioned, self._found = mentioned, found
        self._charges: dict[int, ChargeRecord] = {}
        self._fate: dict[int, str] = {}
        self.last_reset = 0  # seq of the newest one
        self.tallies: dict[str, HolderTally] = {}
        self.facts: dict[str, Any] = {}  # people, currency, relation, unit, delta
        self.first_name = self.people = ""
        self.opened = 0
        self.period: int | None = None
        self.lifetime: Amount | None = None
        self.window = 1
        self.window_end: int | None = None
        self.sealed = False
        self.charges = 0

    def columns(self) -> dict[str, Any]:
        """As the table of accounts has it."""
        ever = self.lifetime
        return self.facts | {
            "people": self.people,
            "period": self.period,
            "lifetime_spend": None if ever is None else ever.spend,
            "lifetime_delta": None if ever is None else ever.delta,
            "window": self.window,
            "window_end": self.window_end,
            "sealed": int(self.sealed),
        }

    def recall(self, seq: int, charge: ChargeRecord, fate: str | None) -> None:
        """A charge from before this walk began that an entry will speak of, and what became of it by then."""
        self._charges[seq] = charge
        if fate is not None:
            self._fate[seq] = fate

    def answered(self, seq: int) -> None:
        """An answer is stored for this charge: it may not be taken back later."""
        if seq in self._mentioned:
            self._fate.setdefault(seq, "answered")

    def charge(self, seq: int, time: int, charge: ChargeRecord) -> None:
        """Count a charge for each of its holders, and say if a recorded limit was passed."""
        self.charges += 1
        if seq in self._mentioned:
            self._charges[seq] = charge
        if self.sealed:
            self._found(seq, "was charged after the account was sealed")
        if self.window_end is not None and time >= self.window_end:
            self._found(seq, "was charged after its window had ended, without the entry that opens the next")
        if DATASET not in charge.holders or f"analyst:{charge.analyst}" not in charge.holders:
            self._found(seq, "was not charged to both the dataset and its analyst")
        spend, delta, window = charge.spend, charge.delta, self.window
        for holder in charge.holders:
            tally = self.tallies.get(holder)
            if tally is None:
                self._found(seq, f"was charged to {holder}, which had no limit")
                tally = self.tallies[holder] = HolderTally(window)
            if tally.window != window:
                tally.window, tally.inside, tally.inside_delta = window, 0, 0
            tally.spent += spend
            tally.spent_delta += delta
            tally.inside += spend
            tally.inside_delta += delta
            limit, each = tally.limit, tally.each
            if tally.inside > limit.spend or tally.inside_delta > limit.delta:
                self._found(seq, f"took {holder} above its limit at that time")
            if each is not None and (spend > each.spend or delta > each.delta):
                self._found(seq, f"cost more than {holder} allowed for one program at that time")
            ever = self.lifetime if holder == DATASET else None
            if ever is not None and (tally.spent > ever.spend or tally.spent_delta > ever.delta):
                self._found(seq, "took the dataset above its lifetime limit at that time")

    def other(self, seq: int, time: int, body: Any) -> None:
        """Any entry but a charge. ValueError, KeyError or TypeError if it cannot be understood."""
        kind = body["kind"]
        if (kind == "open") != (seq == 1):
            self._found(seq, "is not in its place: an account begins with `open`, which comes once")
        rules: dict[str, Callable[[int, int, Any], None]] = {
            "open": self._open,
            "limit": self._limit,
            "void": self._void,
            "begin": self._begin,
            "reset": self._turn,
            "rename": self._rename,
            "seal": self._seal,
        }
        if kind in rules:
            rules[kind](seq, time, body)
        elif kind != "adopt":
            raise ValueError("is of a kind that this release does not know")

    def _open(self, seq: int, time: int, body: Any) -> None:
        self.first_name = self.people = str(body["people"])
        self.facts = {name: body[name] for name in ("currency", "relation", "unit", "delta")}
        self.opened, self.period, self.lifetime = time, body["period"], _amount(body["lifetime"])
        self.window_end = None if self.period is None else time + self.period

    def _limit(self, seq: int, time: int, body: Any) -> None:
        holder = body["holder"]
        if holder == "window":
            self._window(seq, time, body)
            return
        tally = self.tallies.get(holder)
        before = None if tally is None else {"total": tally.limit, "each": tally.each}
        said = body["before"] and {name: _amount(body["before"][name]) for name in ("total", "each")}
        if before != said:
            self._found(seq, f"says another limit of {holder} before it than there was")
        if tally is None:
            tally = self.tallies[holder] = HolderTally(self.window)
        total = _amount(body["total"])
        if total is None:
            raise ValueError("has no limit in it")
        tally.limit, tally.each = total, _amount(body["each"])

    def _window(self, seq: int, time: int, body: Any) -> None:
        said = (body["before"]["period"], _amount(body["before"]["lifetime"]))
        if said != (self.period, self.lifetime):
            self._found(seq, "says another window or lifetime before it than there was")
        period = body["period"]
        if period is None and self.period is not None:  # nothing is forgotten any more
            self.window_end = None
            for tally in self.tallies.values():
                tally.window, tally.inside, tally.inside_delta = self.window, tally.spent, tally.spent_delta
        elif period != self.period:
            self.window_end = self.opened + period * ((time - self.opened) // period + 1)
        self.period, self.lifetime = period, _amount(body["lifetime"])

    def _turn(self, seq: int, time: int, body: Any) -> None:
        if self.window_end is None or self.period is None or time < self.window_end:
            self._found(seq, "opened a window before the one before it had ended")
        else:
            self.window_end += self.period * ((time - self.window_end) // self.period + 1)
        if body["window"] != self.window + 1:
            self._found(seq, f"opened window {body['window']} after window {self.window}")
        self.window, self.last_reset = body["window"], seq

    def _void(self, seq: int, time: int, body: Any) -> None:
        about = body["charge"]
        charge = self._charges.get(about)
        if charge is None or about in self._fate:
            self._found(seq, f"takes back entry {about}, which is no charge that could be taken back")
            return
        self._fate[about] = "void"
        for holder in charge.holders:
            tally = self.tallies[holder]
            tally.spent -= charge.spend
            tally.spent_delta -= charge.delta
            if self.last_reset < about and tally.window == self.window:
                tally.inside -= charge.spend
                tally.inside_delta -= charge.delta

    def _begin(self, seq: int, time: int, body: Any) -> None:
        about = body["charge"]
        if about not in self._charges or self._fate.get(about) in ("void", "begin"):
            self._found(seq, f"begins entry {about}, which is no charge that could begin")
        else:
            self._fate[about] = "begin"

    def _rename(self, seq: int, time: int, body: Any) -> None:
        if body["before"] != self.people:
            self._found(seq, "renames other people than those of this account")
        self.people = str(body["after"])

    def _seal(self, seq: int, time: int, body: Any) -> None:
        if self.sealed:
            self._found(seq, "seals an account that was sealed")
        self.sealed = True


def _amount(data: Any) -> Amount | None:
    return None if data is None else Amount(int(data["spend"]), int(data["delta"]))


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

    def restore(self, place: str, key: tuple[str, str], holding: Holding) -> None:
        """What was claimed before this walk began, by account and part."""
        self._places.setdefault(place, {})[key] = holding

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
