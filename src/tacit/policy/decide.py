"""Stage five of a question: may this analyst run this program, and who pays? No data is seen and nothing is charged.

Only what cannot change between now and the charge is decided here. How much is left is for the ledger alone to say,
in the transaction that takes it.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.base import Denied, InputError, LossError, Relation
from tacit.base.number import short
from tacit.loss import Cost, cost_at
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms, analyst_holder, group_holder
from tacit.policy.declaration import instead, quoted
from tacit.policy.privacy import ANYBODY, Analyst, name_of
from tacit.program import Program

__all__ = [
    "CURATOR",
    "Grant",
    "askable_tables",
    "decide",
    "decide_for_curator",
    "holder_of",
    "least_price",
    "limits_of",
    "terms",
]

if TYPE_CHECKING:
    from tacit.policy.model import Policy

CURATOR = "(curator)"  # whom the dataset's own releases are charged to; nobody may ask under this name
LOOKS = 1000  # questions that the smallest limit allows, where no least price was declared


def limits_of(policy: "Policy", name: str, analyst: Analyst) -> tuple[Limit, ...]:
    """Everything that binds this analyst: the dataset's limit, the groups', the analyst's own."""
    groups = [policy.groups[group].bound(group_holder(group), policy.privacy) for group in analyst.groups]
    return (_dataset(policy), *groups, analyst.bound(analyst_holder(name), policy.privacy))


def least_price(policy: "Policy", analyst: Analyst) -> Fraction:
    """The least that a question of this analyst costs: what was declared, or a thousandth of the smallest limit."""
    privacy = policy.privacy
    people = [*(policy.groups[group] for group in analyst.groups), analyst]
    declared = [least for least in (privacy.least, *(each.least for each in people)) if least is not None]
    if declared:
        return max(declared)
    smallest = min([privacy.budget, *(each.limit for each in people if each.limit is not None)])
    return min(
        smallest / LOOKS, *(most for most in (smallest, privacy.each, *(p.each for p in people)) if most is not None)
    )


def terms(policy: "Policy") -> Terms:
    """What the ledger records. "*" has no line: whoever comes under it gets one at the first question."""
    privacy = policy.privacy
    groups = [group.bound(group_holder(name), privacy) for name, group in policy.groups.items()]
    named = [
        analyst.bound(analyst_holder(name), privacy) for name, analyst in policy.analysts.items() if name != ANYBODY
    ]
    return Terms(
        people=policy.dataset.identity,
        currency=privacy.currency,
        relation=privacy.relation,
        unit=privacy.unit,
        delta=privacy.delta,
        limits=(_dataset(policy), *groups, *named),
        period=None if privacy.reset is None else privacy.reset // timedelta(microseconds=1),
        lifetime=privacy.ever,
        policy=policy.hash,
    )


def _dataset(policy: "Policy") -> Limit:
    privacy = policy.privacy
    each = None if privacy.each is None else Amount.at_most(privacy.each, privacy.own_delta, privacy.currency)
    return Limit(holder=DATASET, total=privacy.total, each=each)


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


def decide_for_curator(policy: "Policy", program: Program) -> Grant:
    """Leave for a release that the dataset itself pays for, such as a profile: its limit binds, and no analyst's."""
    _neighbours(policy, program)
    price = _price(program, None)
    amount = Amount.of(price, policy.privacy.currency)
    whole = _dataset(policy)
    _alone(policy, amount, whole)
    limits = (whole, Limit(holder=analyst_holder(CURATOR), total=whole.total))
    account = Account(people=policy.dataset.identity, analyst=CURATOR, limits=limits, policy=policy.hash)
    return Grant(account=account, amount=amount, cost=price, program=program.hash, policy=policy.hash)


def holder_of(policy: "Policy", analyst: str) -> tuple[str, Analyst]:
    """The one spelling of an analyst's name, and what is declared of them; `Denied` if that is nothing."""
    try:
        name = name_of(analyst)
    except InputError as error:
        raise Denied(f"the analyst's name {error}") from None
    if name == ANYBODY:
        raise Denied('"*" stands for anybody and is nobody: ask under a name')
    if name == CURATOR:
        raise Denied(f"{quoted(CURATOR)} is the dataset itself and asks nothing: ask under another name")
    holder = policy.analysts.get(name) or policy.analysts.get(ANYBODY)
    if holder is None:
        raise Denied(
            f"analyst {quoted(name)} is not in the policy of {quoted(policy.dataset.name)}: the curator can add "
            f'[analysts.{quoted(name)}], or [analysts."*"] for everybody'
        )
    return name, holder


def askable_tables(policy: "Policy", analyst: Analyst) -> set[str]:
    """The tables on the lists of an analyst and of their groups, or all where there is no list; and public ones."""
    lists = [holder.tables for holder in (analyst, *(policy.groups[group] for group in analyst.groups))]
    given = [tables for tables in lists if tables is not None]
    allowed = {table for tables in given for table in tables} if given else set(policy.tables)
    return allowed | {name for name, table in policy.tables.items() if table.public}


def _tables(policy: "Policy", name: str, analyst: Analyst, program: Program) -> None:
    if not program.tables:
        raise Denied("the program does not name the tables it reads: state tables=(…) in it")
    allowed = askable_tables(policy, analyst)
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
        if not declared.owned:
            raise Denied(
                f"table {quoted(table)} does not say whose rows they are, so nobody would be protected: the curator "
                "must declare its unit_column, or a link"
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
    if not all(_proven(cost, program, word) for word in Currency if getattr(cost, word) is not None):
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
    whole = limit.holder == DATASET
    whose = "[privacy]" if whole else limit.holder.replace(":", " ")
    for most, what, entry in (
        (limit.each, "one question", "each"),
        (limit.total, "all questions together", "budget" if whole else "limit"),
    ):
        if most is None or amount.fits(most):
            continue
        currency, privacy = policy.privacy.currency, policy.privacy
        need, have = (each.cost(currency, relation=privacy.relation, unit=privacy.unit) for each in (amount, most))
        if amount.spend > most.spend:
            price, top, word = getattr(need, currency.value), getattr(have, currency.value), currency.value
        else:
            price, top, word, entry = need.delta, have.delta, "delta", "slack"
        costs, allowed = short(price, up=True), short(top, up=False)
        raise Denied(
            f"this program costs {word} {costs}, and {what} may cost at most {allowed}, by {entry} of {whose} in the "
            "policy: "
            + ("have slack raised, or use mechanisms without a delta" if word == "delta" else "ask for less precision")
        )
