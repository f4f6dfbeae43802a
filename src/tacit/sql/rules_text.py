"""Rules for texts and for casts between types."""

from collections.abc import Mapping

from sqlglot import exp

from tacit.plan.expression import Constant, Expression, constant
from tacit.plan.facts import Type
from tacit.sql.constants import to_date, to_timestamp
from tacit.sql.expressions import Expressions, Rule, literal
from tacit.sql.refusals import refused, shown

__all__ = ["RULES"]

PARTS: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Lower: ("lower", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Substring: ("substr", ("this", "start", "length")),
    exp.Left: ("left", ("this", "expression")),
    exp.Right: ("right", ("this", "expression")),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.StartsWith: ("starts_with", ("this", "expression")),
    exp.EndsWith: ("ends_with", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")),
}
TRIMS = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
LIKES: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike"}
INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "INT128", "UTINYINT", "USMALLINT", "UINT", "UBIGINT")
TYPES = {
    **dict.fromkeys(INTEGERS, Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL"), Type.NUMBER),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR"), Type.TEXT),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), Type.TIMESTAMP),
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
}
MOST_DIGITS = 15


def _parts(lower: Expressions, node: exp.Expr) -> Expression:
    name, parts = PARTS[type(node)]
    given = [node.args[part] for part in parts if node.args.get(part) is not None]
    return lower.call(node, name, *(lower.lower(part) for part in given))


def _trim(lower: Expressions, node: exp.Expr) -> Expression:
    name = TRIMS.get(str(node.args.get("position") or "").upper())
    if name is None:
        raise refused(shown(node), "a trim is LEADING, TRAILING or BOTH", at=node)
    return lower.call(node, name, lower.lower(node.this))


def _joined(lower: Expressions, node: exp.Expr) -> Expression:
    """a || b || c, as one."""
    ahead, parts = [node], []
    while ahead:
        at = ahead.pop()
        if type(at) is exp.DPipe:
            ahead += [at.args["expression"], at.args["this"]]
        else:
            parts.append(lower.lower(at))
    return lower.call(node, "concat", *parts)


def _concat(lower: Expressions, node: exp.Expr) -> Expression:
    """CONCAT, which in most dialects takes NULL for an empty text."""
    parts = [lower.lower(part) for part in node.expressions]
    if node.args.get("coalesce"):
        parts = [lower.call(node, "coalesce", part, constant("")) if part.facts.nullable else part for part in parts]
    return lower.call(node, "concat", *parts)


def _like(lower: Expressions, node: exp.Expr) -> Expression:
    mark = None
    if type(node) is exp.Escape:
        mark, node = literal(node.args["expression"]), node.this
        if mark is None or type(node) not in LIKES:
            raise refused(shown(node), "ESCAPE belongs to LIKE and is one character", at=node)
    arguments = [lower.lower(node.this), lower.lower(node.args["expression"]), *([] if mark is None else [mark])]
    found = lower.call(node, LIKES[type(node)], *arguments)
    return lower.call(node, "not", found) if node.args.get("negate") else found


def _cast(lower: Expressions, node: exp.Expr) -> Expression:
    to = node.args["to"]
    kind = TYPES.get(getattr(to.this, "value", "")) if type(to) is exp.DataType else None
    if kind is None or to.args.get("nested"):
        raise refused(
            shown(node),
            "values are integers, numbers, texts, dates, timestamps and truth values",
            "cast to one of INTEGER, DOUBLE, VARCHAR, DATE, TIMESTAMP, BOOLEAN",
            at=node,
        )
    given = literal(node.this)
    if given is not None and isinstance(given.value, str) and kind.temporal:
        return constant(to_date(given.value) if kind is Type.DATE else to_timestamp(given.value))
    value = lower.lower(node.this)
    if isinstance(value, Constant) and value.value is None:
        return constant(None, kind)
    digits = _digits(node, to)
    if value.facts.type is kind and digits is None:
        return value
    if digits is not None and value.facts.type.numeric:
        return lower.call(node, "round", value, constant(digits))
    found = lower.call(node, f"to_{kind.value}", value)
    return found if digits is None else lower.call(node, "round", found, constant(digits))


def _digits(node: exp.Expr, to: exp.Expr) -> int | None:
    """The decimals of DECIMAL(p, s). Lengths of other types would cut values, which only SUBSTRING does openly."""
    given = to.expressions
    if not given:
        return None
    numbers = [literal(part.this) for part in given if type(part) is exp.DataTypeParam]
    scale = numbers[-1].value if len(numbers) == 2 and numbers[-1] is not None else 0
    if "DECIMAL" not in to.this.value or not isinstance(scale, int) or not 0 <= scale <= MOST_DIGITS:
        raise refused(
            shown(node),
            "a length or precision would cut values",
            "cast without it, and use SUBSTRING or ROUND",
            at=node,
        )
    return scale


RULES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(PARTS, _parts),
    **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), _like),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.Trim: _trim,
    exp.DPipe: _joined,
    exp.Concat: _concat,
}
