"""What is known of a value that is computed from the rows of one unit, in a subquery or by a window."""

from fractions import Fraction

from sqlglot import exp

from tacit.base import RefusalKind
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.window import WindowFrame
from tacit.sql.mistake import refused, shown

__all__ = ["aggregate_facts", "window_facts"]

FINE = 2**20  # steps in the range of a value that has no step of its own
COUNTS = ("count", "count_distinct")


def aggregate_facts(node: exp.Expr, function: str, argument: Expression | None, rows: int | None = None) -> Facts:
    """Of COUNT, SUM, AVG, MIN and MAX over so many rows at most; None is any number."""
    text = shown(node)
    if function in COUNTS or argument is None:
        why = f"{text} has no upper bound: bound it as CLAMP({text}, 0, 20)"
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


def window_facts(node: exp.Expr, function: str, arguments: tuple[Expression, ...], frame: WindowFrame) -> Facts:
    """Of a window over the rows of one unit. Where no row is in it, it is NULL."""
    if function in ("count", "sum", "avg", "min", "max"):
        found = aggregate_facts(node, function, arguments[0] if arguments else None, _rows(frame))
        return found if function == "count" else found.but(nullable=True)
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
