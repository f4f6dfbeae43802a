"""Two related tables: parents, each of whom is a unit with one row, and children that belong to them.

The parents' table has one more column: how many children each has, at most as many as declared. The children's table is
measured beside some columns of their parent, all children of one parent weighing 1 together. Parents are drawn first,
then for each of them as many children as it has, given its columns; the keys of both tables match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from tacit.base import InputError, RefusalKind, Refused, cached_property, whole
from tacit.base.number import Number
from tacit.desk import Quote, Release, Spender
from tacit.engine import Watch
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Group, Join, Scan, SubAggregate
from tacit.plan.operation import call
from tacit.synth.columns import ColumnChoices
from tacit.synth.domain import Bins, Domain
from tacit.synth.fit import CellZeros
from tacit.synth.job import SynthesisJob
from tacit.synth.made import SyntheticTable
from tacit.synth.plan import METHODS, Price, job_of, method_named, price_of, table_part, useful
from tacit.synth.rows import SyntheticRows
from tacit.synth.sample import sampled
from tacit.synth.tree import JunctionTree
from tacit.synth.zeros import Rules

__all__ = ["FamilyPlan", "SyntheticFamily"]

OTHER_UNIT = "tacit unit of the children"
PARENT = "parent"  # what the key is called in both tables
MOST_GIVEN = 20_000  # cells of the parent's columns that children follow


@dataclass(frozen=True, kw_only=True)
class SizeCells(Bins):
    """How many children, from none to the most that count. A parent that no child names has none."""

    def expression(self, column: Column) -> Expression:
        cases: list[Expression] = [call("is_null", column), constant(0)]
        for cell in range(1, self.size):
            cases += [call("lt", column, constant(cell)), constant(cell - 1)]
        return call("case", *cases, constant(self.size - 1))


@dataclass(frozen=True, kw_only=True)
class Linked(Rules):
    """Rules of the children's table: the columns of the parent are kept together, so that all of them can be given."""

    given: tuple[str, ...] = ()

    def zeros(self, domain: Domain) -> tuple[CellZeros, ...]:
        clique = domain.clique(self.given)
        free = np.zeros([domain.sizes[place] for place in clique], np.bool_)
        return (*super().zeros(domain), CellZeros(clique=clique, impossible=free))


@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyPlan:
    """A plan for both tables: one quote, one charge, one release. `most` is how many children of one parent count."""

    session: Spender = field(repr=False)
    parents: str
    children: str
    columns: tuple[str, ...]
    child_columns: tuple[str, ...]
    most: int
    given: tuple[str, ...] = ()
    size: str = "children"
    rho: Number | None = None
    epsilon: Number | None = None
    method: Literal["aim", "mst", "independent"] = "aim"
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    rows: int | None = None

    def __post_init__(self) -> None:
        whole(self.most, "most", least=1)
        both = set(self.columns) & set(self.child_columns) | {PARENT} & {*self.columns, *self.child_columns, self.size}
        if both or self.size in (*self.columns, *self.child_columns):
            raise InputError(
                f"column {min(both) if both else self.size!r} is named twice: names must differ between both tables, "
                "the size of the family (say size=…) and the key, which is called parent"
            )
        for name in self.given:
            if name not in self.columns:
                raise InputError(f"given names {name!r}, which is not among the parents' columns: add it there")
        if not self.given:
            raise InputError("given is empty: name the parents' columns that children depend on")
        if self.method == "independent" or self.method not in METHODS:
            raise InputError(f"method of two related tables must be aim or mst, not {self.method!r}")
        _ = self.job  # what cannot run is told now

    @cached_property
    def job(self) -> SynthesisJob:
        policy = self.session.policy
        own = self.session.scan(self.parents, list(self.columns))
        if own.unit is not None and own.rows_per_unit != 1:
            raise Refused(
                f"table {self.parents!r} may have several rows of one {policy.privacy.unit}: the parent is the unit, "
                "so the policy has to promise max_rows_per_unit = 1 for it",
                kind=RefusalKind.DECLARATION,
            )
        if own.unit is None:
            raise Refused(
                f"table {self.parents!r} has no column that names the {policy.privacy.unit}, so children cannot be "
                "matched with it: declare its unit_column",
                kind=RefusalKind.DECLARATION,
            )
        price = price_of(policy, rho=self.rho, epsilon=self.epsilon, delta=None, keys=False)
        half = Price(rho=price.rho / 2, delta=Fraction(0), whole=price.whole)
        parts = []
        more: dict[str, Any] = {"price": half, "pairs": "all", "method": method_named(self.method), "policy": policy}
        size = SizeCells(
            name=self.size, type=Type.INTEGER, nullable=False,
            edges=tuple(Fraction(each) for each in range(self.most + 2)),
        )  # fmt: skip
        theirs = Rules.of(policy.tables[self.parents])
        parts.append(
            table_part(
                self.parents, self._with_size(own), self.columns, choices=_of(self.choices, self.columns, theirs),
                rules=Rules(declared=theirs.within(self.columns)), added=(size,), **more,
            )
        )  # fmt: skip
        beside = (*self.given, *self.child_columns)
        children = Rules.of(policy.tables[self.children]).within(self.child_columns)
        rules = Linked(given=self.given, declared=replace(children, declared=theirs.within(self.given)))
        chosen = _of(self.choices, beside, theirs, children)
        parts.append(table_part(self.children, self._with_parent(), beside, choices=chosen, rules=rules, **more))
        together = prod(parts[1].domain.sizes[place] for place in range(len(self.given)))
        if together > MOST_GIVEN:
            raise Refused(
                f"the columns given have {together:,} cells together, and {MOST_GIVEN:,} is the most: name fewer of "
                "them, or fewer bins",
                kind=RefusalKind.LIMIT,
            )
        for part in parts:
            useful(part, policy)
        about = {"rows": self.rows, "family": {"size": self.size, "given": list(self.given), "most": self.most}}
        return job_of(parts, policy, price, about)

    def _child_scan(self, columns: Sequence[str]) -> Scan:
        scan = self.session.scan(self.children, list(columns))
        if scan.unit is None:
            raise Refused(
                f"table {self.children!r} does not say whose rows they are: declare its unit_column or a link",
                kind=RefusalKind.DECLARATION,
            )
        sources = tuple(replace(each, name=OTHER_UNIT) if each.name == scan.unit else each for each in scan.columns)
        return replace(scan, unit_name=OTHER_UNIT, columns=sources)

    def _with_size(self, own: Scan) -> Join:
        """Parents with how many children they have."""
        below = self._child_scan([])
        counted = Facts(type=Type.INTEGER, low=0, high=2**40, step=Fraction(1), nullable=False)
        each = SubAggregate(name=self.size, function="count", argument=None, facts=counted)
        return Join(kind="left", left=own, right=Group(below=below, keys=(), aggregates=(each,)),
                    on=(_units(own, below),))  # fmt: skip

    def _with_parent(self) -> Join:
        """Children with some columns of their parent."""
        below, own = self._child_scan(self.child_columns), self.session.scan(self.parents, list(self.given))
        return Join(kind="inner", left=below, right=own, on=(_units(below, own),))

    def quote(self) -> Quote:
        """What both cost together. Free."""
        return self.session.quote(self.job)

    def release(self, *, idempotency_key: str | None = None, watch: Watch | None = None) -> "SyntheticFamily":
        """Pay once, measure and fit both."""
        made = self.session.spend(self.job, idempotency_key=idempotency_key, watch=watch)
        certify = getattr(self.session, "certificate", None)
        return SyntheticFamily.of(made, certificate=None if certify is None else certify(made))


def _of(choices: ColumnChoices, columns: Sequence[str], *rules: Rules) -> ColumnChoices:
    """What was said of these columns. Those of a parent are cut alike in both tables, whatever rules these keep."""
    if choices.private_edges:
        raise InputError("private_edges are not for related tables, in which both must have the same cells: say edges")
    return replace(
        choices,
        bins={name: value for name, value in choices.bins.items() if name in columns},
        edges={name: value for name, value in choices.edges.items() if name in columns},
        cuts={name: values for each in rules for name, values in each.cuts.items()},
    )


def _units(left: Scan, right: Scan) -> tuple[Column, Column]:
    assert left.unit is not None  # both were asked for it
    assert right.unit is not None
    return Column(name=left.unit, facts=left.schema[left.unit]), Column(name=right.unit, facts=right.schema[right.unit])


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticFamily:
    """Both tables of one release."""

    parents: SyntheticTable
    children: SyntheticTable
    size: str
    given: tuple[str, ...]

    @classmethod
    def of(cls, release: Release, *, certificate: Any = None) -> "SyntheticFamily":
        """What is in a release of two related tables."""
        both = [SyntheticTable.of(release, part=part, certificate=certificate) for part in (0, 1)]
        family: Mapping[str, Any] = both[0].told["family"]
        return cls(parents=both[0], children=both[1], size=family["size"], given=tuple(family["given"]))

    def rows(self, count: int | None = None) -> tuple[SyntheticRows, SyntheticRows]:
        """So many parents with their children. `parent` is the key of the one and names it in the other."""
        codes = self.parents.drawn(count)
        sizes = codes[self.parents.domain.place(self.size)]
        keys = np.arange(1, len(sizes) + 1)
        parents = self.parents.shown(codes, {PARENT: keys})
        repeated = np.repeat(np.arange(len(sizes)), sizes)
        domain, model = self.children.domain, self.children.model
        clique = domain.clique(self.given)
        known = {
            domain.place(name): codes[self.parents.domain.place(name)][repeated]
            for name in self.given
        }  # fmt: skip
        tree = JunctionTree.over(model.tree.sizes, model.tree.cliques, root=clique)
        beliefs = [model.tree.any_marginal(model.beliefs, each) for each in tree.cliques]
        drawn = sampled(tree, beliefs, len(repeated), known) if len(repeated) else {}
        empty = np.zeros(0, np.int64)
        own = [self.children.unmerged(place, drawn.get(place, empty)) for place in range(len(domain.columns))]
        children = self.children.shown(own, {PARENT: keys[repeated]}, without=self.given)
        return parents, children

    def mean_size(self, confidence: float = 0.95) -> tuple[float, float, float]:
        """The mean number of children of a parent: of the synthetic tables, and the interval of what was measured.

        Of the noisy counts n_k the mean is Σ k·n_k / Σ n_k; its interval follows from the noise of both sums.
        """
        table = self.parents.marginal(self.size, confidence=confidence)
        sizes = np.arange(len(table.fitted))
        total, weighted = table.estimate.sum(), (sizes * table.estimate).sum()
        mean = weighted / max(total, 1.0)
        error = float(np.sqrt((((sizes - mean) * table.error) ** 2).sum())) / max(total, 1.0)
        half = (table.high - table.low).max() / 2 / max(float(table.error.max()), 1e-300) * error
        fitted = float((sizes * table.fitted).sum() / table.fitted.sum())
        return fitted, float(mean - half), float(mean + half)

    def report(self) -> Any:
        """The report of the parents, with the mean size of a family; `children.report()` is that of the children."""
        fitted, low, high = self.mean_size()
        said = (
            f"Children of a parent: {fitted:.3f} in the synthetic tables; by the measurements {low:.3f} to {high:.3f} "
            "(95 %). Of those beyond the declared most nothing is counted.",
        )
        return replace(self.parents.report(), more=said)
