"""Questions that were planned before: the same text under the same rules has the same program and the same price.

A plan depends on the words, the offer and what is declared, and of who asks on their least price; never on data or on
what was spent. So remembering one changes no price and allows nothing: the policy decides, and the ledger charges, each
time anew.
"""

import threading
from collections import OrderedDict
from fractions import Fraction

from tacit.base import Refused, TacitError
from tacit.plan.question import Question
from tacit.policy import Policy
from tacit.sql import Catalog, lower, parse
from tacit.sql.job import Query
from tacit.sql.offer import Offer, Purchase
from tacit.sql.rehearse import OUTSIDE, rehearse

__all__ = ["Plans"]

MOST = 2000  # plans that are remembered
AT_ONCE = 2
LONGEST = 10_000  # characters of a question that is


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
        self._plans: OrderedDict[tuple[object, ...], tuple[Query, Catalog]] = OrderedDict()

    def plan(
        self,
        sql: str,
        dialect: str | None,
        offer: Offer,
        policy: Policy,
        catalog: Catalog,
        *,
        least: Fraction = Fraction(0),
    ) -> Query:
        """The question as a job. One that cannot be planned raises what `lower` and `price` do, every time."""
        place = (id(policy), id(catalog), sql, dialect, offer, least)
        with self._lock:
            found = self._plans.get(place)
            if found is not None:
                self._plans.move_to_end(place)
                return found[0]
        with self._planning:  # it is all Python: more at once would only keep each other, and everybody else, waiting
            purchase = _bought(lower(parse(sql, dialect), catalog), offer, policy, least)
        made = Query(sql=sql, dialect=dialect, offer=offer, policy=policy, purchase=purchase)
        if len(sql) <= LONGEST:
            with self._lock:
                self._plans[place] = (made, catalog)  # held, so that its number stays its own
                while len(self._plans) > MOST:
                    self._plans.popitem(last=False)
        return made
