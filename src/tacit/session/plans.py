"""Questions that were planned before: the same text under the same rules has the same program and the same price.

A plan depends on the words, the offer and what is declared; never on data, on who asks or on what was spent. So
remembering one changes no price and allows nothing: the policy decides, and the ledger charges, each time anew.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

from tacit.plan.price import Priced
from tacit.policy import Policy
from tacit.session.expect import Expected, expected
from tacit.session.notes import notes_of
from tacit.session.offer import Offer
from tacit.sql import Catalog, lower, parse

__all__ = ["Plan", "Plans"]

MOST = 2000  # plans that are remembered
AT_ONCE = 2
LONGEST = 10_000  # characters of a question that is


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A priced question, with the rules it was priced by."""

    priced: Priced
    policy: Policy
    catalog: Catalog
    offer: Offer

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The error of each column at the offer's confidence."""
        return tuple(expected(self.priced, self.offer.confidence))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before it is asked."""
        return notes_of(self.priced, self.policy)


class Plans:
    """The newest plans, by everything that they depend on. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planning = threading.Semaphore(AT_ONCE)
        self._plans: OrderedDict[tuple[object, ...], Plan] = OrderedDict()

    def plan(self, sql: str, dialect: str | None, offer: Offer, policy: Policy, catalog: Catalog) -> Plan:
        """The plan of a question; one that cannot be planned raises what `lower` and `price` do, every time."""
        place = (
            id(policy),
            id(catalog),
            sql,
            dialect,
            offer,
        )  # a plan holds both objects, so their numbers stay theirs
        with self._lock:
            found = self._plans.get(place)
            if found is not None:
                self._plans.move_to_end(place)
                return found
        with self._planning:  # it is all Python: more at once would only keep each other, and everybody else, waiting
            priced = offer.price(lower(parse(sql, dialect), catalog), policy)
        made = Plan(priced=priced, policy=policy, catalog=catalog, offer=offer)
        if len(sql) <= LONGEST:
            with self._lock:
                self._plans[place] = made
                while len(self._plans) > MOST:
                    self._plans.popitem(last=False)
        return made
