"""What is known of a value that is computed from the rows of one unit, in a subquery or by a window."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.contribution import counted_tables, rows_per_unit
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import column_of
from tacit.plan.node import Node
from tacit.plan.window import WindowFrame
from tacit.sql.catalog import Catalog
from tacit.sql.mistake import refused, shown

__all__ = ["OwnBounds"]

FINE = 2**20  # steps in the range of a value that has no step of its own
COUNTS = ("count", "count_distinct")


@dataclass(frozen=True, kw_only=True)
class OwnBounds:
    """How far the rows of one unit go: `rows` at most, vouched for or as the policy clips them, and by how much the sum
    of a column counts."""

    node: Node
    rows: int | None = None
    vouched: bool = False
    clips: Mapping[str, Fraction] = field(default_factory=dict)

    @classmethod
    def of(cls, node: Node, catalog: Catalog) -> "OwnBounds":
        known = rows_per_unit(node)
        tables = [catalog.tables[name] for name in sorted(counted_tables(node)) if name in catalog.tables]
        private = [table for table in tables if table.private]
        clips = {name: clip for table in private for name, clip in table.clips.items()}
        if known is not None:
            return cls(node=node, rows=known, vouched=True, clips=clips)
        rows = [ceil(table.clip_rows) for table in private if table.clip_rows is not None]
        said = [number for number in rows if number > 1] or rows
        return cls(node=node, rows=min(said, default=None), clips=clips)

    def aggregate(
        self, node: exp.Expr, function: str, argument: Expression | None, rows: int | None = None
    ) -> tuple[Facts, bool]:
        """The facts of an aggregate over so many of the rows at most, None if that is not known; and whether they are
        only assumed, so that values beyond are cut."""
        known = [each for each in (rows, self.rows if self.vouched else None) if each is not None]
        found = aggregate_facts(node, function, argument, min(known, default=None))
        if found.bounded or not found.type.numeric or function in ("min", "max", "avg"):
            return found, False
        assumed = aggregate_facts(node, function, argument, self.rows)
        clip = None if argument is None or function != "sum" else self.clips.get(column_of(argument, self.node) or "")
        if clip is not None:
            assumed = found.but(
                low=found.low if found.low is not None else -floor(clip),
                high=found.high if found.high is not None else ceil(clip),
                why="",
            )
        return assumed, assumed.bounded

    def window(
        self, node: exp.Expr, function: str, arguments: tuple[Expression, ...], frame: WindowFrame
    ) -> tuple[Facts, bool]:
        """The same of a window over them. Where no row is in it, it is NULL."""
        if function not in ("count", "sum", "avg", "min", "max"):
            return window_facts(node, function, arguments), False
        found, assumed = self.aggregate(node, function, arguments[0] if arguments else None, _rows(frame))
        return (found if function == "count" else found.but(nullable=True)), assumed


def aggregate_facts(node: exp.Expr, function: str, argument: Expression | None, rows: int | None = None) -> Facts:
    """Of COUNT, SUM, AVG, MIN and MAX over so many rows at most; None is any number."""
    text = shown(node)
    if function in COUNTS or argument is None:
        why = "" if rows is not None else f"{text} has no upper bound: bound it as CLAMP({text}, 0, 20)"
        return Facts(type=Type.INTEGER, low=0, high=rows, step=Fraction(1), nullable=False, why=why)
    facts = argument.facts
    if function in ("min", "max"):
        if facts.type is Type.BOOLEAN:
            raise refused(text, "truth values have no order", "use COUNT_IF", at=node)
        return facts
    if not facts.type.numeric:
        raise refused(text, f"it needs a number, not a {facts.type}", at=node)
    if not facts.bounded:
        raise refused(
            text,
            facts.why or "its value has no bounds",
            "bound it with CLAMP(x, low, high)",
            RefusalKind.DECLARATION,
            at=node,
        )
    if function == "avg":
        return facts.but(type=Type.NUMBER, step=None, domain=None)
    low, high = (Fraction(end) for end in (facts.low, facts.high) if isinstance(end, int | Fraction))
    why = f"{text} has no bounds for one unit: bound it as CLAMP({text}, low, high)"
    ends: list[Fraction | None] = [Fraction(0) if low >= 0 else None, Fraction(0) if high <= 0 else None]
    if rows is not None:
        ends = [min(low * rows, low, Fraction(0)), max(high * rows, high, Fraction(0))]
    step = facts.step if facts.step is not None else _fine(max(abs(low), abs(high)))
    whole = [int(end) if end is not None and facts.type is Type.INTEGER else end for end in ends]
    return Facts(type=facts.type, low=whole[0], high=whole[1], step=step, nullable=facts.nullable, why=why)


def window_facts(node: exp.Expr, function: str, arguments: tuple[Expression, ...]) -> Facts:
    """Of a window that is no aggregate."""
    if function in ("lag", "lead", "first_value", "last_value"):
        facts = arguments[0].facts
        if len(arguments) > 2:
            return Facts(type=facts.type)  # what stands for a row that is not there may be anything
        return facts.but(nullable=True)
    if function in ("percent_rank", "cume_dist"):
        return Facts(type=Type.NUMBER, low=0, high=1, nullable=False)
    text = shown(node)
    why = f"{text} has no upper bound: bound it as CLAMP({text}, 0, 20)"
    return Facts(type=Type.INTEGER, low=0, nullable=False, why=why)


def _rows(frame: WindowFrame) -> int | None:
    """The most rows in a frame."""
    if frame.peers or frame.first is None or frame.last is None:
        return None
    return frame.last - frame.first + 1


def _fine(size: Fraction) -> Fraction:
    """A power of two of which a value of this size is about a million."""
    step = Fraction(1, FINE)
    while step * FINE < size:
        step *= 2
    while size and step * FINE >= 2 * size and step > Fraction(1, 2**60):
        step /= 2
    return step
