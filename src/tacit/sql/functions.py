"""Functions that are made of operations: each is a rule that lowers its arguments and puts operations together.

What an engine computes is so the same in all of them, and facts follow by themselves.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.base import Mistake, RefusalKind
from tacit.plan.expression import Constant, Expression, constant
from tacit.plan.facts import Type
from tacit.sql.constants import literal, query_number
from tacit.sql.dates import DATE_RULES
from tacit.sql.mistake import place, refused, shown

if TYPE_CHECKING:
    from tacit.sql.expressions import Expressions

__all__ = ["FUNCTION_RULES", "NAMED_FUNCTIONS", "flag", "written"]

Rule = Callable[["Expressions", exp.Expr], Expression]

MISSING = RefusalKind.UNSUPPORTED
MOST_BUCKETS = 10_000
MOST_PADDED = 100
DEGREE = 57.29577951308232  # 180/π
PI = 3.141592653589793


def flag(value: Expression, other: Expression) -> Expression:
    """1 and 0 beside a truth value as TRUE and FALSE."""
    if other.facts.type is Type.BOOLEAN and isinstance(value, Constant) and value.facts.type is Type.INTEGER:
        return constant(bool(value.value)) if value.value in (0, 1) else value
    return value


def written(lower: "Expressions", node: exp.Expr, value: Expression) -> Expression:
    """A value beside texts that are put together: whole numbers and truth values become texts."""
    whole = value.facts.type in (Type.INTEGER, Type.BOOLEAN) and not (
        isinstance(value, Constant) and value.value is None
    )
    return lower.call(node, "to_text", value) if whole else value


# --- choices and numbers


def _nvl2(lower: "Expressions", node: exp.Expr) -> Expression:
    known = lower.call(node, "is_not_null", lower.lower(node.this))
    rest = node.args.get("false")
    outcomes = lower.lower(node.args["true"]), constant(None) if rest is None else lower.lower(rest)
    return lower.call(node, "case", known, *outcomes)


def _decode(lower: "Expressions", node: exp.Expr) -> Expression:
    """DECODE(x, a, 1, b, 2, rest)."""
    value, *others = node.expressions
    if len(others) < 2 or any(type(each.unnest()) is exp.Null for each in others[:-1:2]):
        why = "it is made of pairs of a value that is not NULL and an outcome"
        raise refused(shown(node), why, "write CASE WHEN … THEN …", MISSING, at=node)
    rest = constant(None) if len(others) % 2 == 0 else lower.lower(others.pop())
    return lower.call(node, "switch", lower.lower(value), *map(lower.lower, others), rest)


def _trunc(lower: "Expressions", node: exp.Expr) -> Expression:
    """Toward 0, to a constant number of digits: the rounded value, or a step nearer to 0 where that was farther."""
    value, given = lower.lower(node.this), node.args.get("decimals")
    digits = 0 if given is None else query_number(node, given, "a number of digits")
    if digits == 0:
        return lower.call(node, "trunc", value)
    near = lower.call(node, "round", value, constant(digits))
    size, far = lower.call(node, "abs", value), lower.call(node, "abs", near)
    step = lower.call(node, "multiply", lower.call(node, "sign", value), constant(10.0**-digits))
    nearer = lower.call(node, "round", lower.call(node, "subtract", near, step), constant(digits))
    return lower.call(node, "case", lower.call(node, "gt", far, size), nearer, near)


def _bucket(lower: "Expressions", node: exp.Expr) -> Expression:
    """WIDTH_BUCKET(x, low, high, n): from 1 to n between the ends, 0 below and n + 1 from the upper end on."""
    ends = [literal(node.args.get(name)) for name in ("min_value", "max_value")]
    many = query_number(node, node.args.get("num_buckets"), "the number of buckets")
    low, high = (each.value if each is not None else None for each in ends)
    if isinstance(low, str | bool | date | None) or isinstance(high, str | bool | date | None) or not low < high:
        raise Mistake(f"{place(node)}{shown(node)} is refused: its ends are numbers in the query, the lower one first")
    if not 1 <= many <= MOST_BUCKETS:
        raise Mistake(f"{place(node)}{shown(node)} is refused: it has from 1 to {MOST_BUCKETS:,} buckets")
    moved = lower.call(node, "subtract", lower.lower(node.this), constant(low))
    scaled = lower.call(node, "divide", lower.call(node, "multiply", moved, constant(many)), constant(high - low))
    place_of = lower.call(node, "add", lower.call(node, "floor", scaled), constant(1))
    return lower.call(node, "clamp", place_of, constant(0), constant(many + 1))


def _cube_root(lower: "Expressions", node: exp.Expr) -> Expression:
    value = lower.lower(node.this)
    root = lower.call(node, "power", lower.call(node, "abs", value), constant(1 / 3))
    return lower.call(node, "multiply", lower.call(node, "sign", value), root)


def _times(factor: float) -> Rule:
    return lambda lower, node: lower.call(node, "multiply", lower.lower(_only(node)), constant(factor))


def _only(node: exp.Expr) -> exp.Expr:
    found: exp.Expr = node.expressions[0] if type(node) is exp.Anonymous else node.this
    return found


def _square(lower: "Expressions", node: exp.Expr) -> Expression:
    return lower.call(node, "power", lower.lower(_only(node)), constant(2))


def _zero_if_null(lower: "Expressions", node: exp.Expr) -> Expression:
    return lower.call(node, "coalesce", lower.lower(_only(node)), constant(0))


def _null_if_zero(lower: "Expressions", node: exp.Expr) -> Expression:
    return lower.call(node, "nullif", lower.lower(_only(node)), constant(0))


def _is_null(lower: "Expressions", node: exp.Expr) -> Expression:
    """ISNULL(x), and ISNULL(x, instead) as SQL Server has it."""
    values = [lower.lower(each) for each in node.expressions]
    return lower.call(node, "is_null" if len(values) == 1 else "coalesce", *values)


def _div0(lower: "Expressions", node: exp.Expr) -> Expression:
    x, y = (lower.lower(each) for each in node.expressions)
    zero = lower.call(node, "eq", y, constant(0))
    return lower.call(node, "case", zero, constant(0), lower.call(node, "divide", x, y))


# --- texts


def _position(lower: "Expressions", node: exp.Expr) -> Expression:
    return lower.call(node, "position", lower.lower(node.this), lower.lower(node.args["substr"]))


def _split_part(lower: "Expressions", node: exp.Expr) -> Expression:
    parts = [node.this, node.args.get("delimiter"), node.args.get("part_index")]
    if None in parts:
        raise Mistake(f"{place(node)}{shown(node)} is unfinished: write SPLIT_PART(x, '-', 1)")
    return lower.call(node, "split_part", *map(lower.lower, parts))


def _with_separator(lower: "Expressions", node: exp.Expr) -> Expression:
    """CONCAT_WS, which leaves NULL out: each value with the separator before it, and the first separator cut off."""
    first, *others = node.expressions
    mark = literal(first)
    if mark is None or not isinstance(mark.value, str) or not others:
        raise refused(shown(node), "its separator is a text in the query", "", MISSING, at=node)
    parts = []
    for other in others:
        value = written(lower, node, lower.lower(other))
        joined = lower.call(node, "concat", mark, value) if mark.value else value
        parts.append(lower.call(node, "coalesce", joined, constant("")) if value.facts.nullable else joined)
    whole = lower.call(node, "concat", *parts)
    return lower.call(node, "substr", whole, constant(len(mark.value) + 1)) if mark.value else whole


def _padded(lower: "Expressions", node: exp.Expr) -> Expression:
    many = query_number(node, node.args["expression"], "the length")
    fill = literal(node.args.get("fill_pattern")) or constant(" ")
    if not isinstance(fill.value, str) or len(fill.value) != 1 or not 0 <= many <= MOST_PADDED:
        why = f"it fills up to {MOST_PADDED} characters with one character"
        raise refused(shown(node), why, "", MISSING, at=node)
    value, more = written(lower, node, lower.lower(node.this)), constant(fill.value * many)
    left = bool(node.args.get("is_left"))
    joined = lower.call(node, "concat", *((more, value) if left else (value, more)))
    cut = lower.call(node, "right" if left else "left", joined, constant(many))
    if not left:
        return cut
    long = lower.call(node, "ge", lower.call(node, "length", value), constant(many))
    return lower.call(node, "case", long, lower.call(node, "left", value, constant(many)), cut)


FOLDED = (exp.RegexpILike,)
WHOLE = (exp.RegexpFullMatch, exp.SimilarTo)


def _regex(lower: "Expressions", node: exp.Expr) -> Expression:
    pattern, flags = literal(node.args["expression"]), literal(node.args.get("flag") or node.args.get("options"))
    said = "" if flags is None else flags.value
    if pattern is None or not isinstance(pattern.value, str) or said not in ("", "i", "c"):
        why = "its pattern is a text in the query, with no option but 'i'"
        raise refused(shown(node), why, "", MISSING, at=node)
    text = _similar(pattern.value) if type(node) is exp.SimilarTo else pattern.value
    mode = ("whole" if type(node) in WHOLE else "search") + (" folded" if said == "i" or type(node) in FOLDED else "")
    return lower.call(node, "regex", lower.lower(node.this), constant(text), constant(mode))


def _similar(pattern: str) -> str:
    """A pattern of SQL's own as a regular expression: % and _ for any text and any character."""
    found, inside = "", False
    for sign in pattern:
        inside = sign == "[" or (inside and sign != "]")
        plain = {"%": r"[\s\S]*", "_": r"[\s\S]", ".": r"\.", "^": r"\^", "$": r"\$"}
        found += sign if inside else plain.get(sign, sign)
    return found


FUNCTION_RULES: Mapping[type[exp.Expr], Rule] = {
    **DATE_RULES,
    **dict.fromkeys((exp.RegexpLike, *FOLDED, *WHOLE), _regex),
    exp.Nvl2: _nvl2,
    exp.DecodeCase: _decode,
    exp.Trunc: _trunc,
    exp.WidthBucket: _bucket,
    exp.Cbrt: _cube_root,
    exp.Degrees: _times(DEGREE),
    exp.Radians: _times(1 / DEGREE),
    exp.StrPosition: _position,
    exp.SplitPart: _split_part,
    exp.ConcatWs: _with_separator,
    exp.Pad: _padded,
    exp.Pi: lambda lower, node: constant(PI),
}

NAMED_FUNCTIONS: Mapping[str, tuple[tuple[int, ...], Rule]] = {
    "square": ((1,), _square),
    "zeroifnull": ((1,), _zero_if_null),
    "nullifzero": ((1,), _null_if_zero),
    "isnull": ((1, 2), _is_null),
    "div0": ((2,), _div0),
}
"""Functions that the parser knows by name only, and how many arguments they take."""
