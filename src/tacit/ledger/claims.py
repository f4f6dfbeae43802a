"""Which account answers for which data: every claim is an entry in the list of accounts, and no data has two budgets.

The table of claims sums these entries up. Claims are made under the lock of the list of accounts, so of two that claim
the same data at once exactly one succeeds.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, insert, select, update

from tacit.base import InputError, PolicyError
from tacit.ledger.chain import Entry
from tacit.ledger.schema import accounts, claims, entries
from tacit.ledger.store import EntryDraft, Page, checked
from tacit.policy.source import WHOLE, Claim, ancestors, overlap
from tacit.program import canonical

__all__ = ["HELD", "REFINED", "WAIVED", "claim", "claim_body", "held_by", "opening_of", "unclaim"]

HELD = "held"
REFINED = "refined"  # a whole place, from a ledger that knew no parts; its account has said since which ones it reads
WAIVED = "waived"  # by the curator, for good: this account makes no such claim any more
MANY = 400  # places asked for at once, and claims written into one entry


class _HeldClaim(NamedTuple):
    claim: Claim
    account: int
    people: str
    sealed: bool
    state: str


def claim(page: Page, people: str, wanted: Collection[Claim]) -> list[Entry]:
    """Note what an account reads; the entries made, none if all was known. Refuses other people's data, and a unit
    other than the one that this data was counted by before."""
    for each in wanted:
        for name in (each.place, *filter(None, (each.part, each.unit))):
            checked(name, "a claim of data")
    _one_unit(wanted)
    found = page.connection.execute(select(accounts).where(accounts.c.people == people)).one_or_none()
    if found is not None and not _news(_held(page, wanted), found.id, wanted):
        return []  # most often, and without a lock
    registry = page.registry()
    row = page.account(people)
    if row.sealed:
        return []  # nothing can be charged to it any more
    held = _held(page, wanted)
    news = _news(held, row.id, wanted)
    _same_units(held, row, news)
    beside = _refuse_foreign(held, row.id, news)
    return _write(page, registry, row, held, wanted, news, beside)


def _one_unit(wanted: Collection[Claim]) -> None:
    units: dict[tuple[str, str], str] = {}
    for each in wanted:
        if each.unit is not None and units.setdefault((each.place, each.part), each.unit) != each.unit:
            raise PolicyError(
                f'"{each}" is counted by {units[each.place, each.part]} in one table of the policy and by {each.unit} '
                "in another: the same data has one unit, so declare the same for both"
            )


def _held(page: Page, wanted: Collection[Claim]) -> list[_HeldClaim]:
    """Every claim of anybody that may be of the same data."""
    places = {place for each in wanted for place in (each.place, *ancestors(each.place))}
    query = select(claims, accounts.c.people, accounts.c.sealed).join(accounts)
    found = []
    for some in _batches(sorted(places)):
        for row in page.connection.execute(query.where(claims.c.place.in_(some))):
            held = Claim(row.place, row.part, row.unit)
            found.append(_HeldClaim(held, row.account, row.people, bool(row.sealed), row.state))
    return found


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + MANY] for start in range(0, len(items), MANY))


def _news(held: Collection[_HeldClaim], account: int, wanted: Collection[Claim]) -> list[Claim]:
    """The claims that are not the account's yet, or not with this unit."""
    own = {(each.claim.place, each.claim.part): each for each in held if each.account == account}

    def known(one: Claim) -> bool:
        found = own.get((one.place, one.part))
        if found is None or found.state == REFINED:
            return False
        return found.state == WAIVED or one.unit is None or found.claim.unit == one.unit

    said = {(each.place, each.part): each for each in sorted(wanted, key=lambda each: each.unit or "")}
    return sorted(each for each in said.values() if not known(each))


def _same_units(held: Collection[_HeldClaim], row: "Row[Any]", news: Collection[Claim]) -> None:
    """Data that was counted by one unit is not counted by another in the same account."""
    own = [each.claim for each in held if each.account == row.id and each.state == HELD and each.claim.unit]
    for new in news:
        for old in own:
            same = (old.place, old.part) == (new.place, new.part) or (old.place != new.place and overlap(old, new))
            if same and new.unit is not None and old.unit != new.unit:
                raise PolicyError(
                    f'"{new}" was counted by {old.unit} in the account of "{row.people}", and would be counted by '
                    f"{new.unit} now: what was promised for the one does not add up with what is promised for the "
                    f"other, so declare {old.unit} as the unit again. If it was wrong: close the account for good with "
                    f'`tacit ledger seal`, and give the data a new name (people = "…" in a policy, table="…" without '
                    "one), which opens an account of its own"
                )


def _refuse_foreign(held: Collection[_HeldClaim], account: int, news: Collection[Claim]) -> set[int]:
    """The closed accounts that counted some of this data by another unit; anybody else's data is an error."""
    beside = set()
    others = [each for each in held if each.account != account and each.state == HELD]
    for new in news:
        for other in others:
            if not overlap(other.claim, new):
                continue
            old = other.claim.unit
            if not (other.sealed and old is not None and new.unit is not None and old != new.unit):
                raise PolicyError(_foreign(new, other))
            beside.add(other.account)
    return beside


def _foreign(new: Claim, other: _HeldClaim) -> str:
    text = (
        f'"{new}" is the data of "{other.people}" already: the same data are the same people, and they keep what they '
        f'have spent. Set people = "{other.people}" in the policy, or rename that account with `tacit ledger rename`'
    )
    if other.sealed:
        text = (
            f'"{new}" is the data of "{other.people}", whose account is closed: the same data are the same people, and '
            "what they had to spend on this unit is spent. Use other data"
        )
    way = f'`tacit ledger unclaim "{other.people}" "{other.claim}" --why …`'
    return f"{text}. If it is other data in truth (a deleted file's number is given to a new one): {way}"


def _write(
    page: Page,
    registry: "Row[Any]",
    row: "Row[Any]",
    held: Collection[_HeldClaim],
    wanted: Collection[Claim],
    news: list[Claim],
    beside: set[int],
) -> list[Entry]:
    own = {(each.claim.place, each.claim.part) for each in held if each.account == row.id}
    fresh = [each for each in news if (each.place, each.part) not in own]
    for each in news:
        if (each.place, each.part) in own:  # from a ledger that knew no units, or a whole place that is read again
            _set(page, row.id, each, unit=each.unit, state=HELD)
    if fresh:
        page.connection.execute(insert(claims), [_row(row.id, each) for each in fresh])
    named = {(each.place, each.part) for each in wanted}
    refined = [
        each.claim
        for each in held
        if each.account == row.id and each.state == HELD and each.claim.unit is None and each.claim.part == WHOLE
        if (each.claim.place, each.claim.part) not in named and any(overlap(each.claim, new) for new in wanted)
    ]
    for each in refined:
        _set(page, row.id, each, state=REFINED)
    opening = opening_of(page, row.id)
    closed = sorted(opening_of(page, number) for number in beside)
    lines = [
        EntryDraft("claim", claim_body(opening, row.people, some, refined=refined if not done else (), beside=closed))
        for done, some in enumerate(_batches(news))
    ]
    return page.append(registry, lines)


def _row(account: int, each: Claim) -> dict[str, Any]:
    return {"place": each.place, "part": each.part, "unit": each.unit, "account": account, "state": HELD}


def _set(page: Page, account: int, each: Claim, **values: Any) -> None:
    place = (claims.c.place == each.place) & (claims.c.part == each.part) & (claims.c.account == account)
    page.connection.execute(update(claims).where(place).values(**values))


def claim_body(
    opening: str,
    people: str,
    made: Sequence[Claim],
    *,
    refined: Sequence[Claim] = (),
    beside: Sequence[str] = (),
    **more: Any,
) -> str:
    """The entry of claims. `opening` names the account for good; `people` is what it was called at the time."""
    data = {
        "kind": "claim",
        "account": opening,
        "people": people,
        "claims": [[each.place, each.part, each.unit] for each in made],
        "refined": [[each.place, each.part] for each in refined],
        "beside": list(beside),
    }
    return canonical(data | more)


def opening_of(page: Page, account: int) -> str:
    """The digest of an account's first entry, by which the list of accounts knows it."""
    query = select(entries.c.digest).where(entries.c.account == account, entries.c.seq == 1)
    return bytes(page.connection.execute(query).scalar_one()).hex()


def held_by(page: Page, account: int) -> tuple[Claim, ...]:
    """What an account answers for."""
    query = select(claims).where(claims.c.account == account, claims.c.state == HELD)
    found = page.connection.execute(query.order_by(claims.c.place, claims.c.part))
    return tuple(sorted(Claim(row.place, row.part, row.unit) for row in found))


def unclaim(page: Page, people: str, text: str, why: str) -> Entry:
    """Take a claim from an account for good: the curator says that this is not its people's data."""
    registry = page.registry()
    row = page.account(people)
    found = [each for each in held_by(page, row.id) if str(each) == text]
    if not found:
        raise InputError(f'"{people}" has no claim of {text}: `tacit ledger claims` lists those it has')
    for each in found:
        _set(page, row.id, each, state=WAIVED)
    data = {"kind": "unclaim", "account": opening_of(page, row.id), "people": people, "why": checked(why, "why")}
    body = canonical(data | {"claims": [[each.place, each.part] for each in found]})
    return page.append(registry, [EntryDraft("unclaim", body)])[0]
