"""Who may ask, what, and how much."""

from dataclasses import dataclass, field
from fractions import Fraction

from tacit.policy import kind
from tacit.policy.account import Amount, Limit
from tacit.policy.declaration import Declaration, key
from tacit.policy.privacy import LEAST, MONEY, Privacy

__all__ = ["ANYBODY", "Analyst", "Group", "name_of"]

ANYBODY = "*"


@dataclass(frozen=True, kw_only=True)
class Group(Declaration):
    """Analysts who share a limit."""

    limit: Fraction | None = field(
        default=None,
        metadata=key(
            "The most that they may spend, together if it is a group. Default: the dataset's budget.",
            MONEY,
            example="0.2",
        ),
    )
    each: Fraction | None = field(
        default=None,
        metadata=key(
            "The most that one of their questions may cost.",
            MONEY,
            example="0.02",
        ),
    )
    least: Fraction | None = field(
        default=None,
        metadata=key(
            "The least that one of their questions costs (see `[privacy]`). Where several apply, the largest does.",
            LEAST,
            example="0.001",
        ),
    )
    slack: Fraction | None = field(
        default=None,
        metadata=key(
            "The most δ of their own that their questions may spend. Default: the dataset's `slack`.",
            kind.number(least=0, below=1),
            example="1e-7",
        ),
    )
    tables: tuple[str, ...] | None = field(
        default=None,
        metadata=key(
            "The protected tables they may ask. An analyst has their own list and those of their groups; where "
            "none of them has a list, all tables. Public tables are everybody's.",
            kind.names,
            example='["visits"]',
        ),
    )

    @classmethod
    def named(cls, name: object) -> str:
        return name_of(name)

    def bound(self, holder: str, privacy: Privacy) -> Limit:
        """This limit on the ledger's grid."""
        slack = privacy.own_delta if self.slack is None else self.slack
        spend = privacy.budget if self.limit is None else self.limit
        total = Amount.at_most(spend, slack, privacy.currency)
        each = None if self.each is None else Amount.at_most(self.each, slack, privacy.currency)
        return Limit(holder=holder, total=total, each=each)


@dataclass(frozen=True, kw_only=True)
class Analyst(Group):
    """One analyst; under the name `*`, anybody who is not named, each with such a limit of their own."""

    groups: tuple[str, ...] = field(
        default=(),
        metadata=key(
            "The groups the analyst belongs to; their limits bind too.",
            kind.labels,
            example='["research"]',
        ),
    )


def name_of(name: object) -> str:
    """The one spelling of an analyst's or a group's name."""
    found: str = kind.name.read(name)
    return found
