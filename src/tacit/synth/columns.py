"""From what the policy declares of a table to cells: what is known beforehand, and what has to be found privately."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tacit.base import InputError, RefusalKind, Refused
from tacit.plan.cells import Piece, rising_cells
from tacit.plan.facts import Facts, Type, domain_of
from tacit.plan.node import Scan
from tacit.synth.domain import Axis, Bins, CategoryCells, Domain, DomainColumn, point_of

__all__ = ["ColumnChoices", "OpenBins", "OpenCategories", "OpenColumn", "mapping_of", "names_of", "open_columns"]

MOST_CELLS = 1000
HARD = 100_000  # cells of one column, whatever is said
BINS = 32
RANKED = 2**12  # cells of a range in which private edges are found


@dataclass(frozen=True, kw_only=True)
class OpenCategories:
    """A column whose values nobody listed: those that enough units have are found, the others are "(other)"."""

    name: str
    facts: Facts
    most: int

    def filled(self, found: Sequence[Any]) -> DomainColumn:
        kept = tuple(found[: self.most])
        return CategoryCells(
            name=self.name, type=self.facts.type, nullable=self.facts.nullable, categories=kept, other=True
        )

    def json(self) -> dict[str, Any]:
        return {"kind": "open categories", "name": self.name, "most": self.most}


@dataclass(frozen=True, kw_only=True)
class OpenBins:
    """A number whose bins are to hold about as many units each: edges are private quantiles between its bounds."""

    name: str
    facts: Facts
    bins: int
    pieces: tuple[Piece, ...]
    cuts: tuple[Any, ...] = ()

    @property
    def quantiles(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(each, self.bins) for each in range(1, self.bins))

    def filled(self, edges: Sequence[Fraction]) -> DomainColumn:
        """`edges` between its bounds; of whole numbers they are rounded up, and equal ones are one."""
        low, high = _ends(self.facts)
        inside = [Fraction(ceil(edge)) if self.facts.type is Type.INTEGER else edge for edge in edges]
        kept = sorted({edge for edge in inside if low < edge < high})
        return _binned(self.name, self.facts, (low, *kept, high), self.cuts)

    @property
    def most(self) -> int:
        """The most cells that it may come to have."""
        return self.bins + 1 + 2 * len(self.cuts)

    def json(self) -> dict[str, Any]:
        return {"kind": "open bins", "name": self.name, "bins": self.bins}


OpenColumn = OpenCategories | OpenBins


def names_of(given: Any, what: str) -> tuple[str, ...]:
    """A list of names, which a single name is not."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise InputError(f'{what} is a list of names, such as ["age", "income"], not {given!r}')
    return tuple(given)


def mapping_of(given: Any, what: str, example: str) -> Mapping[Any, Any]:
    """A mapping, nothing where nothing was given."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise InputError(f"{what} says it for each column, such as {example}, not {given!r}")


@dataclass(frozen=True, kw_only=True)
class ColumnChoices:
    """What somebody says of the cells of columns: how many bins, where their edges are, which edges to find
    privately; and the most cells of one column. `cuts` are values and ranges that rules speak of, at whose ends bins
    are cut too."""

    bins: Mapping[str, int] = field(default_factory=dict)
    edges: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    private_edges: tuple[str, ...] = ()
    most_cells: int = MOST_CELLS
    cuts: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def check(self, columns: Sequence[str]) -> None:
        if type(self.most_cells) is not int or not 2 <= self.most_cells <= HARD:
            raise InputError(f"most_cells must be a whole number from 2 to {HARD:,}, not {self.most_cells!r}")
        for what, names in (("bins", self.bins), ("edges", self.edges), ("private_edges", self.private_edges)):
            for name in names:
                if name not in columns:
                    raise InputError(f"{what} speaks of column {name!r}, which is not among the columns: add it there")
        both = set(self.edges) & (set(self.bins) | set(self.private_edges))
        if both:
            raise InputError(f"column {min(both)!r} has edges, and bins or private_edges too: keep one of them")


def open_columns(
    scan: Scan, columns: Sequence[str], choices: ColumnChoices, *, selects: bool
) -> tuple[Domain, tuple[OpenColumn, ...]]:
    """The columns with their cells, and those that have none yet (which stand in the domain as one cell). `selects`
    says that values nobody listed may be found."""
    choices.check(columns)
    found: list[DomainColumn] = []
    missing: list[OpenColumn] = []
    for name in columns:
        made = _column(name, scan.schema[name], choices, selects=selects)
        if isinstance(made, DomainColumn):
            _few_enough(made.name, made.size, choices.most_cells)
            found.append(made)
        else:
            missing.append(made)
            facts = made.facts
            found.append(CategoryCells(name=name, type=facts.type, nullable=False, categories=(), other=True))
    return Domain(tuple(found)), tuple(missing)


def _few_enough(name: str, cells: int, most: int) -> None:
    if cells > most:
        raise Refused(
            f"column {name!r} would have {cells:,} cells, and {most:,} is the most: for a number or a date say fewer "
            f"bins, such as {min(BINS, most)}, else declare fewer group_keys; or leave the column out, or raise "
            "most_cells",
            kind=RefusalKind.LIMIT,
        )


def _column(name: str, facts: Facts, choices: ColumnChoices, *, selects: bool) -> DomainColumn | OpenColumn:
    cuts = tuple(choices.cuts.get(name, ()))
    if name in choices.edges:
        return _given(name, facts, choices.edges[name], cuts)
    if facts.type is Type.BOOLEAN or facts.domain is not None:
        listed = domain_of(facts, 10**9) or ()
        _few_enough(name, len(listed), choices.most_cells)
        return CategoryCells(name=name, type=facts.type, nullable=facts.nullable, categories=tuple(listed))
    if facts.type is Type.TEXT:
        if not selects:
            raise Refused(
                f"nobody listed the values of column {name!r}: declare group_keys for it, "
                "leave it out, or say delta=…, and values that enough people have are found for a share of the price",
                kind=RefusalKind.DECLARATION,
            )
        return OpenCategories(name=name, facts=facts, most=choices.most_cells - 2)
    if not facts.bounded:
        raise Refused(
            f"column {name!r} has no bounds, so it has no cells: declare bounds = [low, high] for it in the policy, "
            "from what everybody knows, or leave it out",
            kind=RefusalKind.DECLARATION,
        )
    bins = choices.bins.get(name, BINS)
    if type(bins) is not int or bins < 1:
        raise InputError(f"bins of column {name!r} must be a whole number of at least 1, not {bins!r}")
    _few_enough(name, bins, choices.most_cells)
    if name in choices.private_edges:
        if not facts.type.numeric:
            raise InputError(f"private_edges are of numbers, and column {name!r} is a {facts.type.value}: say bins")
        return _open_bins(name, facts, bins, cuts)
    return _binned(name, facts, _even(facts, bins), cuts)


def _binned(name: str, facts: Facts, edges: tuple[Axis, ...], cuts: Sequence[Any]) -> Bins:
    found = Bins(name=name, type=facts.type, nullable=facts.nullable, edges=edges, step=facts.step)
    return found.cut(cuts) if cuts else found


def _open_bins(name: str, facts: Facts, bins: int, cuts: tuple[Any, ...]) -> OpenBins:
    low, high = facts.low, facts.high
    assert isinstance(low, int | Fraction)  # of a number
    assert isinstance(high, int | Fraction)
    fine = facts.step or (Fraction(high) - Fraction(low)) / RANKED
    pieces = rising_cells(Fraction(low), Fraction(high), fine, RANKED)
    return OpenBins(name=name, facts=facts, bins=max(2, bins), pieces=pieces, cuts=cuts)


def _ends(facts: Facts) -> tuple[Any, Any]:
    """Where an axis begins, and where it ends: one beyond the highest, where values are counted."""
    low, high = facts.low, facts.high
    match facts.type:
        case Type.DATE:
            assert isinstance(high, date)
            return low, high + timedelta(days=1)
        case Type.TIMESTAMP:
            return low, high
        case Type.INTEGER:
            assert isinstance(low, int | Fraction)
            assert isinstance(high, int | Fraction)
            return Fraction(ceil(low)), Fraction(floor(high) + 1)
    return Fraction(low), Fraction(high)  # type: ignore[arg-type]  # numbers


def _even(facts: Facts, bins: int) -> tuple[Axis, ...]:
    """Bins of equal width, at most one for each whole number or day."""
    low, high = _ends(facts)
    if low == high:
        raise InputError("both bounds of a column are equal: it has one value, so leave it out")
    if facts.type is Type.DATE:
        days = (high - low).days
        count = min(bins, days)
        return tuple(low + timedelta(days=days * each // count) for each in range(count + 1))
    if facts.type is Type.TIMESTAMP:
        return (*(low + (high - low) * each / bins for each in range(bins)), high)
    if facts.type is Type.INTEGER:
        count = min(bins, int(high - low))
        return tuple(Fraction(int(low) + int(high - low) * each // count) for each in range(count + 1))
    return tuple(low + (high - low) * Fraction(each, bins) for each in range(bins + 1))


def _given(name: str, facts: Facts, edges: Sequence[Any], cuts: Sequence[Any]) -> DomainColumn:
    """Edges that somebody named; what lies outside counts in the first or the last bin, as reading clamps it."""
    if not (facts.type.numeric or facts.type.temporal) or not facts.bounded:
        raise InputError(f"edges are of numbers and dates that have bounds, and column {name!r} has none")
    kind = datetime if facts.type is Type.TIMESTAMP else date if facts.type is Type.DATE else None
    try:
        made = [(kind.fromisoformat(each) if isinstance(each, str) else each) if kind else Fraction(str(each))
                for each in edges]  # fmt: skip
        low, high = _ends(facts)
        inside = [edge for edge in made if low < edge < high]
        rising = made == sorted(set(made))
    except (TypeError, ValueError):
        raise InputError(f"edges of column {name!r} are {facts.type.value}s, such as its bounds") from None
    if not rising:
        raise InputError(f"edges of column {name!r} must rise")
    if facts.type is Type.INTEGER and any(point_of(edge, edge) % 1 for edge in inside):
        raise InputError(f"edges of column {name!r} must be whole numbers, as its values are")
    return _binned(name, facts, (low, *inside, high), cuts)
