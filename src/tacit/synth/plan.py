"""What is to be synthesised, before anything is paid: checked, priced and quoted from declarations alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from tacit.base import InputError, PolicyError, RefusalKind, Refused, cached_property, positive, whole
from tacit.base.number import Number
from tacit.desk import Quote, Spender
from tacit.engine import Watch
from tacit.plan.contribution import check_units
from tacit.plan.price import rho_of
from tacit.policy import Currency, Policy
from tacit.program import Program
from tacit.synth.aim import AIM
from tacit.synth.columns import ColumnChoices, OpenCategories, OpenColumn, open_columns
from tacit.synth.counts import Reach
from tacit.synth.domain import Domain, DomainColumn
from tacit.synth.fit import FittedModel
from tacit.synth.independent import Independent
from tacit.synth.job import SynthesisJob, TablePart
from tacit.synth.made import SyntheticTable
from tacit.synth.method import Method
from tacit.synth.mst import MST
from tacit.synth.open import SHARE, open_steps
from tacit.synth.tree import tree_cells
from tacit.synth.workload import Pairs, workload_of
from tacit.synth.zeros import Rules

__all__ = ["METHODS", "Price", "Synthesis", "job_of", "method_named", "price_of", "table_part", "useful"]

METHODS = ("aim", "mst", "independent")
MOST_COLUMNS = 64
MOST_CANDIDATES = 20_000
MOST_PAIR = 4_000_000
MOST_MODEL = 10_000_000
USELESS = Fraction(1, 4)  # of the population: noise of that size on one column's cells says nothing
UNKNOWN = 400_000  # units that are taken to be there where no population is declared


@dataclass(frozen=True, kw_only=True)
class Price:
    """ρ for everything, and a δ for finding categories; `whole` is the δ at which an account in ε is charged."""

    rho: Fraction
    delta: Fraction
    whole: Fraction | None


def price_of(policy: Policy, *, rho: Number | None, epsilon: Number | None, delta: Number | None, keys: bool) -> Price:
    """What an amount buys in the dataset's currency; half of δ finds categories, where there are any to find."""
    privacy = policy.privacy
    if (rho is None) == (epsilon is None):
        raise InputError('say how much to spend, once: rho="0.015", or an epsilon')
    offered = positive(rho if rho is not None else epsilon, "rho" if rho is not None else "epsilon", toward="decimal")
    if offered > 10**6:
        raise InputError("an amount must be at most 1,000,000: a larger one protects nobody")
    own = None if delta is None else positive(delta, "delta", toward="decimal")
    if own is not None and own >= 1:
        raise InputError("delta must lie between 0 and 1")
    if privacy.currency is Currency.MU_SQUARED:
        raise Refused(
            "this dataset is paid for in mu_squared, in which choices that follow earlier answers have no price yet: "
            "synthesise from a dataset whose currency is rho or epsilon",
            kind=RefusalKind.OFFER,
        )
    share = min(Fraction(1), offered / privacy.budget)
    if privacy.currency is Currency.EPSILON:
        if rho is not None:
            raise Refused("this dataset is paid for in epsilon: offer an epsilon", kind=RefusalKind.OFFER)
        whole_delta = own or privacy.own_delta * share
        if not whole_delta:
            raise Refused(
                "Gaussian noise needs a delta, and this dataset has none: the curator declares delta in [privacy]",
                kind=RefusalKind.OFFER,
            )
        part = whole_delta / 2 if keys else Fraction(0)
        return Price(rho=rho_of(offered, whole_delta - part), delta=part, whole=whole_delta - part)
    if keys and own is None:
        own = privacy.own_delta * share
    spend = offered if rho is not None else rho_of(offered, privacy.delta)
    return Price(rho=spend, delta=(own or Fraction(0)) if keys else Fraction(0), whole=None)


def method_named(name: str, most_cells: int | None = None) -> Method:
    if name not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {name!r}")
    if name == "aim":
        if most_cells is None:
            return AIM()
        if whole(most_cells, "model_cells", least=1000) > MOST_MODEL:
            raise InputError(f"model_cells must be at most {MOST_MODEL:,}: the model lies in memory")
        return AIM(most_cells=most_cells)
    if most_cells is not None:
        raise InputError(f"model_cells is of method 'aim', and {name!r} has a tree: leave it out")
    return MST() if name == "mst" else Independent()


def table_part(
    name: str,
    source: Any,
    columns: Sequence[str],
    *,
    choices: ColumnChoices,
    price: Price,
    pairs: Pairs,
    method: Method,
    rules: Rules,
    policy: Policy,
    added: tuple[DomainColumn, ...] = (),
) -> TablePart:
    """One table with its cells, all checked."""
    names = list(columns)
    _check_names(names)
    check_units(source)
    rules.check(names)
    choices = replace(choices, cuts=choices.cuts or rules.cuts)
    domain, opens = open_columns(source, names, choices, selects=price.delta > 0)
    domain = Domain((*domain.columns, *added))
    workload = workload_of(pairs, domain)
    if len(workload.candidates()) > MOST_CANDIDATES:
        raise InputError(f"these pairs have more than {MOST_CANDIDATES:,} parts: name fewer or smaller sets of columns")
    _rules_fit(rules, domain, opens)
    _pairs_fit(domain, opens, method)
    reach = Reach.of(source, policy.privacy.relation)
    cells = price.rho * SHARE if opens else Fraction(0)
    steps = open_steps(opens, source, cells, price.delta, reach) if opens else ()
    return TablePart(
        name=name, source=source, domain=domain, opens=steps, method=method, workload=workload, rules=rules,
        reach=reach, rho=price.rho - cells,
    )  # fmt: skip


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise InputError("columns is empty: name the columns that the table is to have")
    if len(set(names)) < len(names):
        raise InputError(f"column {next(each for each in names if list(names).count(each) > 1)!r} is named twice")
    if len(names) > MOST_COLUMNS:
        raise InputError(f"a synthetic table has at most {MOST_COLUMNS} columns, and these are {len(names)}")


def _rules_fit(rules: Rules, domain: Domain, opens: Sequence[OpenColumn]) -> None:
    """Refuse rules whose values are not known yet, that contradict each other, or that need too large a model."""
    named = rules.columns
    unknown = next((each.name for each in opens if isinstance(each, OpenCategories) and each.name in named), None)
    if unknown is not None:
        raise Refused(
            f"a rule speaks of column {unknown!r}, whose values are only known after the price is paid: declare "
            "group_keys for it, or leave the rule out",
            kind=RefusalKind.DECLARATION,
        )
    if any(each.name in named for each in opens):
        return  # bins between private edges are cut where rules say
    zeros, sizes = rules.zeros(domain), domain.sizes
    if not zeros:
        return
    cells = tree_cells(sizes, [each.clique for each in zeros])
    if cells > MOST_MODEL:
        raise Refused(
            f"these rules join columns that have {cells:,} cells together, and {MOST_MODEL:,} is the most: name fewer "
            "rules, columns or bins",
            kind=RefusalKind.LIMIT,
        )
    FittedModel.nothing(sizes, zeros)


def _pairs_fit(domain: Domain, opens: Sequence[OpenColumn], method: Method) -> None:
    """MST counts every pair, so every pair has to fit into memory; AIM leaves out what its model could not hold."""
    most = {each.name: each.most + 2 if isinstance(each, OpenCategories) else each.most for each in opens}
    sizes = sorted(((most.get(each.name, each.size), each.name) for each in domain.columns), reverse=True)[:2]
    if isinstance(method, MST) and len(sizes) == 2 and sizes[0][0] * sizes[1][0] > MOST_PAIR:
        raise Refused(
            f"columns {sizes[0][1]!r} and {sizes[1][1]!r} may have {sizes[0][0] * sizes[1][0]:,} cells together, and "
            f"mst counts every pair, of at most {MOST_PAIR:,}: say fewer bins, a smaller most_cells, or method='aim'",
            kind=RefusalKind.LIMIT,
        )


def useful(part: TablePart, policy: Policy) -> None:
    """Refuse what could only show noise, with what would help."""
    population = policy.privacy.population or UNKNOWN
    factor = float(part.reach.l2) / part.reach.one
    columns = len(part.domain.columns)
    sigma = Independent().expected_sigma(columns, part.rho * (1 if columns == 1 else Fraction(1, 3)), factor)
    if sigma > population * USELESS:
        raise Refused(
            f"rho is too small to be useful: noise on each column would have a standard deviation of {sigma:,.0f} "
            f"{policy.privacy.unit}s; offer more, or take fewer columns",
            kind=RefusalKind.OFFER,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesis:
    """A plan: `quote` is free, `release` charges once and gives the table."""

    session: Spender = field(repr=False)
    table: str
    columns: tuple[str, ...]
    rho: Number | None = None
    epsilon: Number | None = None
    delta: Number | None = None
    pairs: Pairs = "all"
    method: Literal["aim", "mst", "independent"] = "aim"
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    rules: Rules = field(default_factory=Rules)
    rows: int | None = None
    model_cells: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None:
            whole(self.rows, "rows", least=1)
        _ = self.job  # what cannot run is told now

    @cached_property
    def job(self) -> SynthesisJob:
        """The job, with its price and its program."""
        policy = self.session.policy
        _check_names(self.columns)
        declared = policy.tables.get(self.table)
        if declared is not None and declared.public:
            raise PolicyError(f"table {self.table!r} is public: there is nobody to protect in it, so copy it as it is")
        scan = self.session.scan(self.table, list(self.columns))
        choices = replace(self.choices, cuts=self._rules.cuts)
        found = open_columns(scan, self.columns, choices, selects=True)[1]
        keys = any(isinstance(each, OpenCategories) for each in found)
        price = price_of(policy, rho=self.rho, epsilon=self.epsilon, delta=self.delta, keys=keys)
        part = table_part(
            self.table, scan, self.columns, choices=self.choices, price=price, pairs=self.pairs,
            method=method_named(self.method, self.model_cells), rules=self._rules, policy=policy,
        )  # fmt: skip
        useful(part, policy)
        return job_of([part], policy, price, {"rows": self.rows})

    @property
    def _rules(self) -> Rules:
        """What is said here, and what the policy says of these columns."""
        declared = Rules.of(self.session.policy.tables[self.table]).within(self.columns)
        return replace(self.rules, declared=declared if declared.columns else None)

    @property
    def program(self) -> Program:
        """What is charged."""
        return self.job.program

    def quote(self) -> Quote:
        """What it would cost, how large the noise will be, and what would be left. Free, and nothing is looked at."""
        return self.session.quote(self.job)

    def release(self, *, idempotency_key: str | None = None, watch: Watch | None = None) -> SyntheticTable:
        """Pay, measure, fit. Asked for again on the same data it is the same table, for nothing."""
        made = self.session.spend(self.job, idempotency_key=idempotency_key, watch=watch)
        certify = getattr(self.session, "certificate", None)
        return SyntheticTable.of(made, certificate=None if certify is None else certify(made))


def job_of(parts: Sequence[TablePart], policy: Policy, price: Price, about: Mapping[str, Any]) -> SynthesisJob:
    """The parts as one program."""
    steps = tuple(step for part in parts for step in part.steps)
    tables = sorted({table for part in parts for table in part.source.tables})
    program = Program(
        steps=steps,
        tables=tuple(tables),
        relation=policy.privacy.relation,
        unit=policy.privacy.unit,
        query={"synthesis": [part.query() for part in parts], "about": dict(about)},
        delta=price.whole,
    )
    return SynthesisJob(parts, program=program, about=about)
