"""Questions that were planned before: the same text under the same rules has the same program and the same price.

A plan depends on the words, the offer and what is declared, and of who asks on their least price; never on data or on
what was spent. So remembering one changes no price and allows nothing: the policy decides, and the ledger charges, each
time anew.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.base import Refused, TacitError
from tacit.desk.quote import Expected, Hint, Quote
from tacit.loss import Cost
from tacit.plan.price import Priced
from tacit.plan.question import Question
from tacit.policy import Policy
from tacit.sql import Catalog, lower, parse
from tacit.sql.expect import columns_of, expected
from tacit.sql.hints import hints_of, notes_of, raised
from tacit.sql.offer import Offer, Purchase
from tacit.sql.rehearse import OUTSIDE, rehearse

__all__ = ["Plan", "Plans"]

MOST = 2000  # plans that are remembered
AT_ONCE = 2
LONGEST = 10_000  # characters of a question that is


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A priced question, with the rules it was priced by."""

    purchase: Purchase
    policy: Policy
    catalog: Catalog
    offer: Offer
    least: Fraction

    @property
    def priced(self) -> Priced:
        return self.purchase.priced

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The error of each column at the offer's confidence."""
        return tuple(expected(self.priced, self.offer.confidence))

    @cached_property
    def hints(self) -> tuple[Hint, ...]:
        """What declarations show of the question."""
        return hints_of(self.purchase, self.policy, self.least, self.offer.confidence)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before it is asked."""
        return (*(hint.words for hint in self.hints), *notes_of(self.priced, self.policy))

    def quote(self, cost: Cost, left: Cost, enough: bool) -> Quote:
        """What it costs and what would be left, with all that is known of it."""
        return Quote(
            cost=cost,
            expected=self.expected,
            left=left,
            enough=enough,
            notes=self.notes,
            columns=columns_of(self.priced.question),
            hints=self.hints,
        )

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What to say beside the answer, too: that it cost more than was offered."""
        return tuple(hint.words for hint in raised(self.purchase, self.policy, self.least))


def _bought(question: Question, offer: Offer, policy: Policy, least: Fraction) -> Purchase:
    """The question with its price, after a rehearsal; what numbers of these sizes cannot do is refused."""
    try:
        purchase = offer.price(question, policy, least=least)
        rehearse(purchase.priced, policy.dataset.engine.value, confidence=offer.confidence)
    except TacitError:
        raise
    except (ArithmeticError, ValueError):
        raise Refused(OUTSIDE) from None
    return purchase


class Plans:
    """The newest plans, by everything that they depend on. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planning = threading.Semaphore(AT_ONCE)
        self._plans: OrderedDict[tuple[object, ...], Plan] = OrderedDict()

    def plan(
        self,
        sql: str,
        dialect: str | None,
        offer: Offer,
        policy: Policy,
        catalog: Catalog,
        *,
        least: Fraction = Fraction(0),
    ) -> Plan:
        """The plan of a question; one that cannot be planned raises what `lower` and `price` do, every time."""
        place = (
            id(policy),
            id(catalog),
            sql,
            dialect,
            offer,
            least,
        )  # a plan holds both objects, so their numbers stay theirs
        with self._lock:
            found = self._plans.get(place)
            if found is not None:
                self._plans.move_to_end(place)
                return found
        with self._planning:  # it is all Python: more at once would only keep each other, and everybody else, waiting
            purchase = _bought(lower(parse(sql, dialect), catalog), offer, policy, least)
        made = Plan(purchase=purchase, policy=policy, catalog=catalog, offer=offer, least=least)
        if len(sql) <= LONGEST:
            with self._lock:
                self._plans[place] = made
                while len(self._plans) > MOST:
                    self._plans.popitem(last=False)
        return made
