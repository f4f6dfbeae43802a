"""Window functions: what they are called, and how one of the query becomes one of the plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.plan.expression import Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.window import FRAMED, Order, WindowCall, WindowFrame
from tacit.sql.aggregates import is_aggregate
from tacit.sql.constants import literal
from tacit.sql.expressions import Expressions
from tacit.sql.mistake import refused, shown

__all__ = ["WindowCalls", "has_window", "order_of", "uses_aggregate", "windows_named"]

RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
VALUES: dict[type[exp.Expr], str] = {
    exp.Ntile: "ntile",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
}
AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
ORDERED = {"rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "row_number"}
MOST_OFFSET = 10**6


def has_window(node: exp.Expr) -> bool:
    """Whether a window is used inside; subqueries are not looked into."""
    return any(type(part) is exp.Window for part in node.walk(prune=lambda part: isinstance(part, exp.Query)))


def uses_aggregate(node: exp.Expr) -> bool:
    """Whether there is an aggregate of the query's own rows inside: SUM(x) OVER () is none, and SUM(COUNT(*)) OVER ()
    has one in it."""
    if isinstance(node, exp.Query):
        return False
    if type(node) is exp.Window:
        inside = [*node.this.iter_expressions(), *(part for part in node.iter_expressions() if part is not node.this)]
        return any(map(uses_aggregate, inside))
    return is_aggregate(node) or any(map(uses_aggregate, node.iter_expressions()))


def windows_named(select: exp.Select) -> dict[str, exp.Expr]:
    """WINDOW name AS (…)."""
    return {each.this.name.casefold(): each for each in select.args.get("windows") or ()}


def order_of(node: exp.Expr, lower: Callable[[exp.Expr], Expression]) -> tuple[Order, ...]:
    """The keys of an ORDER BY."""
    given = node.args.get("order")
    found = []
    for each in given.expressions if given is not None else ():
        if type(each) is not exp.Ordered:
            raise refused(f"ORDER BY {shown(each)}", "it is not a value", at=each)
        first = bool(each.args.get("nulls_first"))
        found.append(
            Order(
                expression=lower(each.this),
                descending=bool(each.args.get("desc")),
                nulls="first" if first else "last",
            )
        )
    return tuple(found)


@dataclass(kw_only=True)
class WindowCalls:
    """Collects windows; the same one asked for twice is one. `rows` lowers what they are made of, and `facts` are what
    is known of their values, and whether that is only assumed."""

    rows: Expressions
    name: Callable[[], str]
    named: Mapping[str, exp.Expr] = field(default_factory=dict)
    found: list[WindowCall] = field(default_factory=list)
    facts: Callable[[exp.Expr, str, tuple[Expression, ...], WindowFrame], tuple[Facts, bool]] = field(
        default_factory=lambda: _released_facts
    )

    def one(self, node: exp.Expr, partition: Sequence[exp.Expr] | None = None) -> Column:
        """What stands for the value of a window, with this partition in place of its own if one is given."""
        made = self._made(node, partition)
        for known in self.found:
            if replace(known, name="") == made:
                return Column(name=known.name, facts=known.facts)
        call = replace(made, name=self.name())
        self.found.append(call)
        return Column(name=call.name, facts=call.facts)

    def _made(self, node: exp.Expr, partition: Sequence[exp.Expr] | None) -> WindowCall:
        function, arguments = self._function(node)
        over = self.over(node)
        order = order_of(over, self.rows.lower)
        if function in ORDERED - {"row_number"} and not order:
            raise refused(shown(node), "it has no meaning without an order", "write OVER (ORDER BY …)", at=node)
        by = over.args.get("partition_by") or () if partition is None else partition
        frame = _frame(over.args.get("spec"), bool(order), node) if function in FRAMED else WindowFrame()
        facts, assumed = self.facts(node, function, arguments, frame)
        return WindowCall(
            name="",
            function=function,
            facts=facts,
            assumed=assumed,
            arguments=arguments,
            partition=tuple(self.rows.lower(each) for each in by),
            order=order,
            frame=frame,
        )

    def over(self, node: exp.Expr) -> exp.Expr:
        """The window itself, which may be named."""
        alias = node.args.get("alias")
        if alias is None:
            return node
        found = self.named.get(alias.name.casefold())
        if found is None or node.args.get("order") is not None or node.args.get("partition_by"):
            raise refused(shown(node), "there is no such WINDOW by itself", "write OVER (…) out", at=node)
        return found

    def _function(self, node: exp.Expr) -> tuple[str, tuple[Expression, ...]]:
        inner = node.this
        kind = type(inner)
        if kind in RANKS:
            return RANKS[kind], ()
        name = VALUES.get(kind) or AGGREGATES.get(kind)
        if name is None or node.args.get("first") is not None:
            raise refused(
                shown(node),
                "only ranks, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX have windows",
                "use one of these",
                at=node,
            )
        value = inner.args.get("this")
        if name == "count" and (value is None or type(value) is exp.Star):
            return name, ()
        if value is None or type(value) is exp.Distinct:
            raise refused(shown(node), "a window takes one plain value", "name a column", at=node)
        arguments = [self.rows.lower(value)]
        if name in ("lag", "lead"):
            arguments += [self.rows.lower(each) for each in _more(inner)]
            _whole(node, inner.args.get("offset"))
        if name == "ntile":
            _whole(node, value, least=1)
        if name in ("sum", "avg") and not arguments[0].facts.type.numeric:
            raise refused(shown(node), f"it needs a number, not a {arguments[0].facts.type}", at=node)
        return name, tuple(arguments)


def _more(inner: exp.Expr) -> list[exp.Expr]:
    """How far LAG and LEAD look, and what they give where there is no row."""
    offset, default = inner.args.get("offset"), inner.args.get("default")
    if offset is None and default is None:
        return []
    return [offset or exp.Literal.number(1), *([default] if default is not None else [])]


def _whole(node: exp.Expr, value: exp.Expr | None, least: int = 0) -> None:
    known = None if value is None else literal(value)
    number = None if known is None else known.value
    if value is not None and (
        not isinstance(number, int) or isinstance(number, bool) or not least <= number <= MOST_OFFSET
    ):
        raise refused(shown(node), "how many rows it means must be a whole number in the query", at=node)


def _released_facts(
    node: exp.Expr, function: str, arguments: tuple[Expression, ...], frame: WindowFrame
) -> tuple[Facts, bool]:
    """Of a window over released values: its type. Noise has no bounds."""
    if function in ("row_number", "rank", "dense_rank", "ntile", "count"):
        return Facts(type=Type.INTEGER, low=0, nullable=False), False
    if function in ("percent_rank", "cume_dist", "avg"):
        return Facts(type=Type.NUMBER), False
    return Facts(type=arguments[0].facts.type), False


def _frame(spec: exp.Expr | None, ordered: bool, node: exp.Expr) -> WindowFrame:
    if spec is None:  # SQL's own: up to the row and those that stand equal with it
        return WindowFrame(last=0, peers=True) if ordered else WindowFrame()
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") is not None:
        raise refused(shown(node), "a frame is in ROWS, or a RANGE of whole partitions", "write ROWS", at=node)
    first, last = _edge(spec, "start", node), _edge(spec, "end", node)
    if kind == "RANGE" and ({first, last} - {None, 0} or not ordered):
        raise refused(shown(node), "a RANGE ends at the row itself or at the partition's", "write ROWS", at=node)
    if first is not None and last is not None and first > last:
        raise refused(shown(node), "its frame ends before it begins", at=node)
    return WindowFrame(first=first, last=last, peers=kind == "RANGE")


def _edge(spec: exp.Expr, which: str, node: exp.Expr) -> int | None:
    """How many rows after the row itself a frame begins or ends; None is at the partition's."""
    value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    if value is None or value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        return None
    known = literal(value) if isinstance(value, exp.Expr) else None
    number = None if known is None else known.value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_OFFSET:
        raise refused(shown(node), "the ends of a frame are whole numbers in the query", at=node)
    return -number if side == "PRECEDING" else number
