"""Stage five of a question: may this analyst run this program, and who pays? No data is seen and nothing is charged.

Only what cannot change between now and the charge is decided here. How much is left is for the ledger alone to say,
in the transaction that takes it.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.base import Denied, InputError, LossError, Relation
from tacit.base.number import short
from tacit.loss import Cost, cost_at
from tacit.plan import Program
from tacit.policy.account import Account, Amount, Limit
from tacit.policy.analyst import ANYBODY, Analyst, name_of
from tacit.policy.problem import instead, quoted
from tacit.policy.terms import limits_of

if TYPE_CHECKING:
    from tacit.policy.model import Policy

__all__ = ["Grant", "decide", "holder_of"]


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Leave to run one program: the account that pays, the amount, and the policy it rests on."""

    account: Account
    amount: Amount
    cost: Cost
    program: str  # hash
    policy: str  # hash


def decide(policy: "Policy", analyst: str, program: Program, cost: Cost | None = None) -> Grant:
    """A `Grant`, or `Denied` with the reason.

    `cost` may replace the program's own additive cost by a better proven one, such as `cost_at` of its whole loss; it
    is checked against the program's loss, and a smaller one is refused.
    """
    name, holder = holder_of(policy, analyst)
    _tables(policy, name, holder, program)
    _neighbours(policy, program)
    price = _price(program, cost)
    amount = Amount.of(price, policy.privacy.currency)
    limits = limits_of(policy, name, holder)
    for limit in limits:
        _alone(policy, amount, limit)
    account = Account(people=policy.dataset.identity, analyst=name, limits=limits, policy=policy.hash)
    return Grant(account=account, amount=amount, cost=price, program=program.hash, policy=policy.hash)


def holder_of(policy: "Policy", analyst: str) -> tuple[str, Analyst]:
    """The one spelling of an analyst's name, and what is declared of them; `Denied` if that is nothing."""
    try:
        name = name_of(analyst)
    except InputError as error:
        raise Denied(f"the analyst's name {error}") from None
    if name == ANYBODY:
        raise Denied('"*" stands for anybody and is nobody: ask under a name')
    holder = policy.analysts.get(name) or policy.analysts.get(ANYBODY)
    if holder is None:
        raise Denied(
            f"analyst {quoted(name)} is not in the policy of {quoted(policy.dataset.name)}: the curator can add "
            f'[analysts.{quoted(name)}], or [analysts."*"] for everybody'
        )
    return name, holder


def _tables(policy: "Policy", name: str, analyst: Analyst, program: Program) -> None:
    if not program.tables:
        raise Denied("the program does not name the tables it reads: state tables=(…) in it")
    lists = [holder.tables for holder in (analyst, *(policy.groups[group] for group in analyst.groups))]
    given = [tables for tables in lists if tables is not None]
    allowed = {table for tables in given for table in tables} if given else set(policy.tables)
    allowed |= {key for key, table in policy.tables.items() if table.public}
    for table in program.tables:
        if table not in policy.tables:
            hint = instead(table, sorted(allowed), those="tables you may ask")
            raise Denied(f"there is no table {quoted(table)} in {quoted(policy.dataset.name)}: {hint}")
        if table not in allowed:
            raise Denied(
                f"analyst {quoted(name)} may not ask table {quoted(table)}: the curator can add it to the analyst's "
                "tables"
            )
    if all(policy.tables[table].public for table in program.tables):
        return
    for table in program.tables:
        declared = policy.tables[table]
        if not (declared.public or declared.unit or declared.each_row_is_a_unit):
            raise Denied(
                f"table {quoted(table)} does not say whose rows they are, so nobody would be protected: the curator "
                "must declare its unit"
            )


def _neighbours(policy: "Policy", program: Program) -> None:
    promised, offered = (policy.privacy.relation, policy.privacy.unit), (program.relation, program.unit)
    if promised != offered:
        raise Denied(
            f"this dataset promises {_words(*promised)}, and the program protects {_words(*offered)}: state "
            f"relation={promised[0].value!r} and unit={promised[1]!r} in the program"
        )


def _words(relation: Relation, unit: str) -> str:
    return f"{'adding or removing' if relation is Relation.ADD_REMOVE else 'replacing'} one {unit}"


def _price(program: Program, cost: Cost | None) -> Cost:
    if cost is None:
        try:
            return program.cost
        except LossError as error:
            raise Denied(f"this program has no price that adds up: {error}") from None
    if (cost.relation, cost.unit) != (program.relation, program.unit):
        raise Denied(
            "the cost speaks of another relation or unit than the program: take it from the program's own loss"
        )
    if not all(_proven(cost, program, word) for word in ("epsilon", "rho") if getattr(cost, word) is not None):
        raise Denied(
            "the cost is less than what the program is known to cost: leave it out, or use cost_at(program.loss, delta)"
        )
    return cost


def _proven(cost: Cost, program: Program, currency: str) -> bool:
    """Whether the program's loss is within this cost, by the sum of its parts or as a whole at the cost's δ."""
    with suppress(LossError):
        if _within(program.cost, cost, currency):
            return True
    with suppress(LossError):
        return 0 < cost.delta < 1 and _within(cost_at(program.loss, cost.delta), cost, currency)
    return False


def _within(known: Cost, cost: Cost, currency: str) -> bool:
    needed = getattr(known, currency)
    return needed is not None and needed <= getattr(cost, currency) and known.delta <= cost.delta


def _alone(policy: "Policy", amount: Amount, limit: Limit) -> None:
    whose = limit.holder.replace(":", " ")
    for most, what in ((limit.each, "one question of"), (limit.total, "everything from")):
        if most is None or amount.fits(most):
            continue
        currency, privacy = policy.privacy.currency, policy.privacy
        need, have = (each.cost(currency, relation=privacy.relation, unit=privacy.unit) for each in (amount, most))
        if amount.spend > most.spend:
            price, top, word = getattr(need, currency.value), getattr(have, currency.value), currency.value
        else:
            price, top, word = need.delta, have.delta, "delta"
        costs, allowed = short(price, up=True), short(top, up=False)
        raise Denied(
            f"this program costs {word} {costs}, and {what} {whose} may cost at most {allowed}: "
            + ("have slack raised, or use mechanisms without a delta" if word == "delta" else "ask for less precision")
        )
