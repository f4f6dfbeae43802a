"""The rule of each construct that is a value: which operation of the plan it becomes."""

from collections.abc import Mapping

from sqlglot import exp

from tacit.base import InputError, Mistake, Refused
from tacit.plan.expression import Expression, constant
from tacit.plan.facts import Type
from tacit.sql.expressions import Expressions, Rule, alternatives, column, conjuncts, literal
from tacit.sql.refusals import FUNCTIONS, SUBQUERY, place, quoted, refused, shown
from tacit.sql.rules_text import RULES as TEXT
from tacit.sql.rules_time import RULES as TIME
from tacit.sql.rules_time import part_of, shifted

__all__ = ["RULES"]

ONE: dict[type[exp.Expr], str] = {
    exp.Abs: "abs",
    exp.Sign: "sign",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Trunc: "trunc",
}
TWO: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "is_not_distinct",
    exp.NullSafeNEQ: "is_distinct",
    exp.Mul: "multiply",
    exp.SafeDivide: "divide",
    exp.IntDiv: "div",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.Nullif: "nullif",
}
MANY: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}
NAMED = {
    "clamp": ("clamp", 3),
    "ends_with": ("ends_with", 2),
    "suffix": ("ends_with", 2),
    "prefix": ("starts_with", 2),
}


def _constant(lower: Expressions, node: exp.Expr) -> Expression:
    try:
        found = literal(node)
    except InputError as error:
        raise Refused(f"{place(node)}{error}") from None
    if found is None:
        raise refused(shown(node), "it is not a constant", at=node)
    return found


def _one(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, ONE[type(node)], lower.lower(node.this))


def _two(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, TWO[type(node)], lower.lower(node.this), lower.lower(node.args["expression"]))


def _many(lower: Expressions, node: exp.Expr) -> Expression:
    arguments = [lower.lower(part) for part in (node.this, *node.expressions)]
    return arguments[0] if len(arguments) == 1 else lower.call(node, MANY[type(node)], *arguments)


def _logic(lower: Expressions, node: exp.Expr) -> Expression:
    parts, name = (conjuncts(node), "and") if type(node) is exp.And else (alternatives(node), "or")
    return lower.call(node, name, *(lower.condition(part, name.upper()) for part in parts))


def _not(lower: Expressions, node: exp.Expr) -> Expression:
    inner = node.this.unnest()
    if type(inner) is exp.Is and type(inner.args["expression"]) is exp.Null and not inner.args.get("negate"):
        return lower.call(node, "is_not_null", lower.lower(inner.this))
    return lower.call(node, "not", lower.condition(node.this, "NOT"))


def _is(lower: Expressions, node: exp.Expr) -> Expression:
    what, negate = node.args["expression"], bool(node.args.get("negate"))
    value = lower.lower(node.this)
    if type(what) is exp.Null:
        return lower.call(node, "is_not_null" if negate else "is_null", value)
    if type(what) is exp.Boolean:
        found = lower.call(node, "is_true" if what.this else "is_false", value)
        return lower.call(node, "not", found) if negate else found
    raise refused(shown(node), "IS is followed by NULL, TRUE, FALSE or [NOT] DISTINCT FROM", at=node)


def _in(lower: Expressions, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise Mistake(f"{place(node)}{shown(node)} is refused: its list is empty")
    return lower.call(node, "in", lower.lower(node.this), *(lower.lower(part) for part in node.expressions))


def _between(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, "between", *(lower.lower(node.args[name]) for name in ("this", "low", "high")))


def _case(lower: Expressions, node: exp.Expr) -> Expression:
    value = node.args.get("this")
    arguments: list[Expression] = [] if value is None else [lower.lower(value)]
    for branch in node.args["ifs"]:
        if type(branch) is not exp.If or branch.args.get("false") is not None:
            raise refused(shown(node), "CASE is made of WHEN … THEN …", at=node)
        arguments.append(lower.condition(branch.this, "WHEN") if value is None else lower.lower(branch.this))
        arguments.append(lower.lower(branch.args["true"]))
    rest = node.args.get("default")
    name = "case" if value is None else "switch"
    return lower.call(node, name, *arguments, constant(None) if rest is None else lower.lower(rest))


def _if(lower: Expressions, node: exp.Expr) -> Expression:
    rest = node.args.get("false")
    outcomes = lower.lower(node.args["true"]), constant(None) if rest is None else lower.lower(rest)
    return lower.call(node, "case", lower.condition(node.this, "IF"), *outcomes)


def _negate(lower: Expressions, node: exp.Expr) -> Expression:
    return _constant(lower, node) if literal(node) is not None else lower.call(node, "negate", lower.lower(node.this))


def _sum(lower: Expressions, node: exp.Expr) -> Expression:
    """+ and −, of numbers, or of a date and an interval."""
    minus = type(node) is exp.Sub
    left, right = node.this, node.args["expression"]
    if type(right.unnest()) is exp.Interval:
        return shifted(lower, node, left, right.unnest(), minus=minus)
    if type(left.unnest()) is exp.Interval and not minus:
        return shifted(lower, node, right, left.unnest(), minus=False)
    a, b = lower.lower(left), lower.lower(right)
    if a.facts.type is Type.DATE and b.facts.type is Type.DATE and minus:
        return lower.call(node, "date_diff", a, b)
    if a.facts.type is Type.DATE and b.facts.type is Type.INTEGER and (days := literal(right)) is not None:
        value = days.value
        assert isinstance(value, int)  # the facts say so
        return lower.call(node, "date_add", a, constant(-value if minus else value), constant("day"))
    return lower.call(node, "subtract" if minus else "add", a, b)


def _divide(lower: Expressions, node: exp.Expr) -> Expression:
    """Real division, but whole division of whole numbers where the dialect has it so (PostgreSQL)."""
    arguments = lower.lower(node.this), lower.lower(node.args["expression"])
    whole = node.args.get("typed") and all(argument.facts.type is Type.INTEGER for argument in arguments)
    return lower.call(node, "div" if whole else "divide", *arguments)


def _round(lower: Expressions, node: exp.Expr) -> Expression:
    digits = node.args.get("decimals")
    return lower.call(node, "round", lower.lower(node.this), *([] if digits is None else [lower.lower(digits)]))


def _log(lower: Expressions, node: exp.Expr) -> Expression:
    value = node.args.get("expression")
    if value is None:
        return lower.call(node, "log10", lower.lower(node.this))
    known = literal(node.this)
    name = {10: "log10", 2: "log2"}.get(known.value if known is not None and isinstance(known.value, int) else 0)
    if name is None:
        raise refused(shown(node), "its base is neither 2 nor 10", "write LN(x) / LN(base)", at=node)
    return lower.call(node, name, lower.lower(value))


def _named(lower: Expressions, node: exp.Expr) -> Expression:
    """Functions that the parser knows by name only."""
    name = node.this.lower() if isinstance(node.this, str) else ""
    arguments = list(node.expressions)
    if name == "date_part" and len(arguments) == 2:
        return part_of(lower, node, arguments[0], arguments[1])
    if name in NAMED and len(arguments) == NAMED[name][1]:
        return lower.call(node, NAMED[name][0], *(lower.lower(argument) for argument in arguments))
    if name in FUNCTIONS:
        what, why, instead = FUNCTIONS[name]
        raise refused(f"{what} ({name.upper()})", why, instead, at=node)
    raise refused(
        f"the function {quoted(name or shown(node))}",
        "it is not among the known functions",
        "see the SQL reference for those there are",
        at=node,
    )


def _paren(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.lower(node.this)


def _star(lower: Expressions, node: exp.Expr) -> Expression:
    raise refused("* in an expression", "a value is one column", "name it", at=node)


def _subquery(lower: Expressions, node: exp.Expr) -> Expression:
    what, why, instead = SUBQUERY
    raise refused(what, why, instead, at=node)


def _interval(lower: Expressions, node: exp.Expr) -> Expression:
    raise refused(shown(node), "an interval is no value by itself", "add it to a date", at=node)


RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Column: column,
    exp.Paren: _paren,
    exp.Star: _star,
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    exp.Interval: _interval,
    **dict.fromkeys((exp.Literal, exp.Boolean, exp.Null), _constant),
    **dict.fromkeys(ONE, _one),
    **dict.fromkeys(TWO, _two),
    **dict.fromkeys(MANY, _many),
    **dict.fromkeys((exp.And, exp.Or), _logic),
    **dict.fromkeys((exp.Add, exp.Sub), _sum),
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.If: _if,
    exp.Neg: _negate,
    exp.Div: _divide,
    exp.Round: _round,
    exp.Log: _log,
    exp.Anonymous: _named,
    **TEXT,
    **TIME,
}
