"""Stage 3: a question becomes whole-number measures whose every sensitivity is proven, and recipes over them.

Aggregates of the same value share their measures, and measures that belong together share one weight per unit. A clip
is exempt where the rows' shape bounds a unit already; else its bound is declared, or left to be chosen privately.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from tacit.base import PolicyError, RefusalKind, Refused
from tacit.base.problem import declare
from tacit.plan.bounded import (
    LARGEST,
    Bounded,
    BoundedQuestion,
    Centre,
    Clip,
    Key,
    Measure,
    Norm,
    Presence,
    Ranks,
    Recipe,
)
from tacit.plan.cells import rising_cells
from tacit.plan.centre import STEPS, centre_of
from tacit.plan.combined import Levels
from tacit.plan.contribution import ClipNorms, Contribution, check_units, root_up, rows_per_unit
from tacit.plan.describe import show_aggregate
from tacit.plan.expression import Expression
from tacit.plan.groups import check_groups, listable, listed, most_groups
from tacit.plan.histogram import listed_value
from tacit.plan.levels import in_levels, question_shares
from tacit.plan.moments import (
    FINE,
    PAIRS,
    QUANTILES,
    VARIANCES,
    coarse,
    families,
    grid_of,
    moment,
    product,
    range_of,
    rows,
    values,
)
from tacit.plan.question import LISTED, Aggregate, LoweredQuestion
from tacit.plan.work import check_answer

__all__ = ["bound"]

CELLS = 2**14  # of a range whose quantiles are asked for
FINER = 2**4  # of its steps near zero, where nobody declared one
ONE = 2**10  # steps of a row that counts one, where a clip may scale it down
PRESENCE = {"l2": 2**6, "l1": 2**8}  # steps of one: a unit in more groups than that, or than its square, adds to none
LIGHT = 16  # times less than the largest value a row counts, where an average is measured from a typical value
LARGEST_ROW = 2**30  # steps of a row in a sum
CENTRED = {"avg", "count", "sum"}  # from a private centre, where the clip is private
EXTREME = Fraction(1, 200)  # MIN and MAX are quantiles of this order and one less it


def bound(question: LoweredQuestion, *, norm: Norm, contribution: Contribution) -> BoundedQuestion:
    """Measures and clips for noise that is scaled to `norm`, of all questions that are measured together."""
    parts: list[Bounded] = []
    recipes: list[Recipe] = []
    for each in question.measured:
        found = _bound(each, norm, contribution)
        recipes += [replace(recipe, part=recipe.part + len(parts)) for recipe in found.recipes]
        parts += found.parts
    return BoundedQuestion(norm=norm, parts=tuple(parts), recipes=tuple(recipes))


def _bound(question: LoweredQuestion, norm: Norm, contribution: Contribution) -> BoundedQuestion:
    check_units(question.source)
    work = _Work(question, norm, contribution)
    main = work.main()
    histograms = [work.histogram(aggregate) for aggregate in question.aggregates if aggregate.function in LISTED]
    order = [aggregate.name for aggregate in question.aggregates]
    recipes = tuple(sorted(work.recipes, key=lambda recipe: order.index(recipe.name)))
    return BoundedQuestion(norm=norm, parts=(main, *histograms), recipes=recipes)


class _Work:
    """One question on its way: measures, clips and recipes as they are found."""

    def __init__(self, question: LoweredQuestion, norm: Norm, contribution: Contribution) -> None:
        self.question, self.norm = question, norm
        self.norms = ClipNorms(said=contribution, question=question, norm=norm)
        self.keys = listed(question.keys)
        self.open = any(key.values is None for key in self.keys)
        self.shares = () if self.open or norm == "l1" else question_shares(question.source)
        self.shared = replace(self.norms, shares=self.shares)
        check_groups(self.keys)
        check_answer(_computed(question), most_groups(self.keys))
        source = question.source
        self.rows = rows_per_unit(source.below if isinstance(source, Levels) else source)  # in one level
        self.measures: list[Measure] = []
        self.clips: list[Clip] = []
        self.ranks: list[Ranks] = []
        self.centres: list[Centre] = []
        self.recipes: list[Recipe] = []
        self.parts = 0
        self.named = 0

    def main(self) -> Bounded:
        asked = [aggregate for aggregate in self.question.aggregates if aggregate.function not in LISTED]
        for arguments, family in families(asked, self.norms.apart):
            self.family(arguments, family)
        presence = Presence(norm=self.norm, one=PRESENCE[self.norm]) if self.open else None
        return Bounded(
            source=self.question.source,
            keys=self.keys,
            measures=tuple(self.measures),
            clips=tuple(self.clips),
            ranks=tuple(self.ranks),
            presence=presence,
            centres=tuple(self.centres),
        )

    def family(self, arguments: tuple[Expression, ...], family: list[Aggregate]) -> None:
        """Aggregates over the same values, from the same measures."""
        functions = {aggregate.function for aggregate in family}
        if functions <= {"count_units", "count_distinct", "sum_distinct"}:
            self.distinct(arguments, family)
        elif not arguments or functions == {"count"}:
            self.counts(arguments, family)
        elif functions & PAIRS:
            self.pair(arguments, family)
        elif functions <= {"sum"}:
            self.sums(arguments[0], family)
        elif functions <= QUANTILES:
            self.quantiles(arguments[0], family)
        else:
            self.moments(arguments[0], family)

    def counts(self, arguments: tuple[Expression, ...], family: list[Aggregate]) -> None:
        half = self.one
        measure = values(self.name(), *arguments, half=half)
        self.add([measure], Fraction(half), family, step=Fraction(1, half))
        for a in family:
            self.counted(a, measure, half)

    @property
    def one(self) -> int:
        """Steps that one row counts: many where clipping may cut them, since it rounds toward zero."""
        return 1 if self.rows is not None else ONE

    def recipe(self, aggregate: Aggregate, *inputs: str, function: str = "", **how: Any) -> None:
        """How an aggregate is made of measures: by its own function, or by another that it comes to."""
        made = Recipe(name=aggregate.name, function=function or aggregate.function, inputs=inputs, **how)
        self.recipes.append(replace(made, asked=aggregate.text, text=show_aggregate(aggregate, self.question.source)))

    def counted(self, aggregate: Aggregate, measure: Measure, half: int) -> None:
        self.recipe(aggregate, measure.name, function="count", half=half, low=Fraction(0), whole=True)

    def sums(self, value: Expression, family: list[Aggregate]) -> None:
        grid = grid_of(value, family[0].text or "SUM", least=self.one)
        ends = range_of(value)
        # a narrow range far from zero has large values and small steps
        step = coarse(grid.step, max(map(abs, ends)), LARGEST_ROW // max(self.shares, default=1))
        low, high = (floor(end / step + Fraction(1, 2)) for end in ends)
        measure = Measure(name=self.name(), value=value, step=step, low=low, high=high)
        # where every value is zero the sum is too, and still has noise like any other
        self.add([measure], Fraction(max(abs(low), abs(high), 1)), family, of=value, step=step)
        for a in family:
            self.recipe(a, measure.name, step=step)

    def moments(self, value: Expression, family: list[Aggregate]) -> None:
        """COUNT, SUM, AVG, VARIANCE of one value, together."""
        functions = {a.function for a in family}
        alone = self.rows is None and functions == {"avg"}
        if self.rows is None and functions <= CENTRED and self.norms.clip_norm(family, Fraction(1)) is None:
            self.averages(value, family)
            return
        near = value.facts.typical if alone else None
        light = 1 if near is None else LIGHT
        grid = grid_of(value, family[0].text or family[0].function, least=self.one * light)
        if near is not None:  # values near the guess fill little of a clip, and rows that count little leave it to them
            grid = grid.round(near, value.facts)
        row = grid.half // light
        squares = any(aggregate.function in VARIANCES for aggregate in family)
        found = [values(self.name(), value, half=row), moment(self.name(), value, grid)]
        if squares:
            found.append(moment(self.name(), value, grid, power=2))
        sizes = [row, grid.half, grid.half // 2 + 1][: len(found)]
        self.together(found, sizes, family, grid.step, alike=near is None)
        ends: dict[str, dict[str, Any]] = {"avg": dict(zip(("low", "high"), range_of(value), strict=True)), "sum": {}}
        for a in family:
            self.recipe(
                a,
                *(measure.name for measure in found),
                step=grid.step,
                half=row,
                middle=grid.middle,
                whole=a.function == "count",
                **ends.get(a.function, {"low": Fraction(0)}),
            )

    def averages(self, value: Expression, family: list[Aggregate]) -> None:
        """AVG, COUNT and SUM of one value whose clip is chosen privately, from a centre that is too."""
        counted = any(a.function == "count" for a in family)
        grid = grid_of(value, family[0].text or "AVG", least=STEPS)
        found = [values(self.name(), value, half=grid.half), moment(self.name(), value, grid)]
        self.centres.append(centre_of(self.name(), value, grid, len(self.clips), 1 if self.keys and not counted else 2))
        self.measures += found
        self.clip(tuple(measure.name for measure in found), None, row=Fraction(grid.half))
        low, high = range_of(value)
        for a in family:
            if a.function == "count":
                self.counted(a, found[0], grid.half)
                continue
            names = (measure.name for measure in found)
            ends: dict[str, Any] = {"low": low, "high": high} if a.function == "avg" else {}
            self.recipe(a, *names, step=grid.step, half=grid.half, middle=grid.middle, **ends)

    def pair(self, arguments: tuple[Expression, ...], family: list[Aggregate]) -> None:
        """Covariance and correlation of two values, from rows in which both are there."""
        x, y = arguments
        of_x, of_y = (grid_of(value, family[0].text or family[0].function, half=FINE) for value in (x, y))
        found = [
            values(self.name(), x, y, half=FINE),
            moment(self.name(), x, of_x, beside=y),
            moment(self.name(), y, of_y, beside=x),
            product(self.name(), x, y, of_x, of_y),
        ]
        sizes = [FINE] * 4
        if any(aggregate.function == "corr" for aggregate in family):
            found += [moment(self.name(), x, of_x, power=2, beside=y), moment(self.name(), y, of_y, power=2, beside=x)]
            sizes += [FINE // 2 + 1] * 2
        self.together(found, sizes, family)
        for a in family:
            self.recipe(
                a,
                *(measure.name for measure in found),
                step=of_x.step,
                half=FINE,
                middle=of_x.middle,
                other_step=of_y.step,
                other_middle=of_y.middle,
                low=Fraction(-1) if a.function == "corr" else None,
                high=Fraction(1) if a.function == "corr" else None,
            )

    def distinct(self, arguments: tuple[Expression, ...], family: list[Aggregate]) -> None:
        for a in family:
            name = self.name()
            if a.function == "count_units":
                groups = 1 if not self.keys else self.rows
                half = ONE if groups is None else 1
                seen = arguments[0] if arguments else None
                measure = Measure(name=name, kind="units", value=seen, low=half, high=half)
                if groups is not None:
                    self.add([measure], self.norms.over(groups), exempt=True)
                else:
                    self.measures.append(measure)
                    size = self.norms.in_groups(a)
                    self.clip((name,), None if size is None else size * half, row=Fraction(half), by_groups=True)
            else:
                most = a.cap or self.norms.distinct_values(arguments[0])
                if most is None:
                    raise Refused(
                        f"{a.text or 'DISTINCT'} needs to know how many different values one "
                        "unit may add: write max_values_per_unit => 3 after the value, or declare "
                        "max_values_per_unit for the column in the policy",
                        kind=RefusalKind.DECLARATION,
                    )
                cap = most * self.norms.levels
                if a.function == "sum_distinct":
                    self.different(a, arguments[0], cap)
                    continue
                half, measure = 1, Measure(name=name, kind="distinct", value=arguments[0], cap=cap)
                self.add([measure], Fraction(cap), exempt=True)
            self.counted(a, measure, half)

    def different(self, aggregate: Aggregate, value: Expression, cap: int) -> None:
        """SUM(DISTINCT x): a unit adds at most `cap` pairs of group and value. See docs/theory/distinct.md."""
        grid = grid_of(value, aggregate.text or "SUM(DISTINCT)")
        ends = range_of(value)
        step = coarse(grid.step, max(map(abs, ends)), max(1, min(LARGEST_ROW, LARGEST // cap)))
        low, high = (floor(end / step + Fraction(1, 2)) for end in ends)
        size = max(abs(low), abs(high), 1)
        made = Measure(name=f"m{self.named}", kind="distinct", value=value, cap=cap, step=step, low=low, high=high)
        self.add([made], Fraction(cap * size), exempt=True)
        self.recipe(aggregate, made.name, function="sum", step=step)

    def quantiles(self, value: Expression, family: list[Aggregate]) -> None:
        facts = value.facts
        grid = grid_of(value, family[0].text or "a quantile")
        low, high = range_of(value)
        pieces = rising_cells(low, high, facts.step if facts.step is not None else grid.step / FINER, CELLS)
        name = self.name()
        one = self.one
        self.ranks.append(Ranks(name=name, value=value, pieces=pieces, one=one))
        if self.rows is not None:
            self.clip((name,), self.rows * self.norms.over(1), exempt=True)
        else:
            most = self.norms.clip_norm(family, Fraction(one), step=Fraction(1, one))
            self.clip((name,), most, row=Fraction(one), by_rows=True)
        for a in family:
            order = {"min": EXTREME, "max": 1 - EXTREME}.get(a.function, a.fraction)
            ends = {"low": low, "high": high}
            self.recipe(a, name, function="quantile", half=one, fraction=order, discrete=a.discrete, **ends)

    def histogram(self, aggregate: Aggregate) -> Bounded:
        """Counts by one more key: the value itself, or the cell of its range."""
        if self.open:
            raise Refused(
                f"{aggregate.text or aggregate.function} needs groups that are known in advance: declare the keys of "
                f"every GROUP BY column{declare(' in the policy', ', as in group_keys={…}')}, or ask for it without "
                "GROUP BY",
                kind=RefusalKind.DECLARATION,
            )
        if self.norms.levels > 1:
            raise Refused(
                f"{aggregate.text or aggregate.function} beside ROLLUP, CUBE or GROUPING SETS is refused, since its "
                "counts have a grouping of their own: ask for it with one GROUP BY",
                kind=RefusalKind.UNSUPPORTED,
            )
        value = listed_value(aggregate)
        self.parts += 1
        measure = rows(self.name(), self.one)
        self.clips = []  # those of this part alone
        self.add([measure], Fraction(self.one), [aggregate], step=Fraction(1, self.one))
        keys = (*self.keys, listable(Key(name=f"{aggregate.name}_value", expression=value)))
        check_groups(keys)
        self.recipe(aggregate, measure.name, part=self.parts, half=self.one, top=aggregate.top)
        return Bounded(source=self.question.source, keys=keys, measures=(measure,), clips=tuple(self.clips))

    def together(
        self,
        found: list[Measure],
        sizes: list[int],
        family: list[Aggregate],
        step: Fraction = Fraction(1),
        *,
        alike: bool = True,
    ) -> None:
        """Measures that share a weight; a row's norm is that of their sizes, about, where rows are `alike`."""
        size = Fraction(sum(sizes)) if self.norm == "l1" else root_up(Fraction(sum(s * s for s in sizes)))
        self.add(found, size, family, step=step, alike=alike)

    def add(
        self,
        found: list[Measure],
        row: Fraction,
        family: Sequence[Aggregate] = (),
        *,
        of: Expression | None = None,
        step: Fraction = Fraction(1),
        exempt: bool = False,
        alike: bool = True,
    ) -> None:
        """Measures under one clip; `row` is the most that one row counts, or with `exempt` that one unit does."""
        self.measures += [in_levels(measure, self.question.source, self.shares) for measure in found]
        names = tuple(measure.name for measure in found)
        if exempt:
            self.clip(names, row, exempt=True)
            return
        even = row * self.shared.over(1) / self.norms.over(1)  # a row of a level with an equal share
        if self.rows is None:
            most = self.shared.clip_norm(family, row, of, step)
            self.clip(names, most, row=even, by_rows=of is None and alike)
        else:
            self.clip(names, self.rows * row * self.shared.over(1), exempt=True, row=even)

    def clip(
        self,
        names: tuple[str, ...],
        bound: Fraction | None,
        *,
        exempt: bool = False,
        row: Fraction = Fraction(1),
        by_rows: bool = False,
        by_groups: bool = False,
    ) -> None:
        if bound is not None and bound > LARGEST:
            raise PolicyError(
                "one unit may count for more than can be added up exactly: declare a smaller clip or a coarser step"
            )
        if bound is not None and bound < 1:
            raise PolicyError(
                "one unit may count for less than one step of a row, so nobody would count: declare a larger clip"
            )
        scales = (Fraction(1),) * len(names)
        made = Clip(names=names, scales=scales, norm=self.norm, bound=bound, exempt=exempt, row=row, by_rows=by_rows)
        self.clips.append(replace(made, by_groups=by_groups and bound is None))

    def name(self) -> str:
        self.named += 1
        return f"m{self.named}"


def _computed(question: LoweredQuestion) -> list[Expression]:
    """What is computed of released values."""
    made = [value for _, value in question.output] + [by.expression for by in question.order]
    return made if question.having is None else [*made, question.having]
