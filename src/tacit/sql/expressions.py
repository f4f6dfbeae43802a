"""Expressions of the query become expressions of the plan, or are refused. Each construct has one rule."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from tacit.base import InputError, Mistake, RefusalKind, Refused
from tacit.plan.describe import SIGNS
from tacit.plan.expression import Constant, Expression, constant
from tacit.plan.facts import Type
from tacit.plan.node import MOST_PARTS
from tacit.plan.operation import canonical_call
from tacit.sql.allow import FUNCTIONS, SUBQUERY, Reason
from tacit.sql.constants import interval_amount, interval_unit, literal, to_date, to_timestamp
from tacit.sql.dates import EPOCH, micros_between
from tacit.sql.functions import FUNCTION_RULES, NAMED_FUNCTIONS, flag, written
from tacit.sql.mistake import place, quoted, refused, shown
from tacit.sql.scope import Scope

__all__ = ["Expressions", "chain"]

Rule = Callable[["Expressions", exp.Expr], Expression]
Special = Callable[[exp.Expr], Expression | None]

# the operation of a construct, and the parts that are its arguments: those with a question mark may be missing
CALLS: Mapping[type[exp.Expr], str] = {
    exp.Abs: "abs this", exp.Sign: "sign this", exp.Sqrt: "sqrt this", exp.Ln: "ln this", exp.Exp: "exp this",
    exp.Floor: "floor this", exp.Ceil: "ceil this", exp.Round: "round this decimals?",
    exp.Mul: "multiply this expression", exp.SafeDivide: "divide this expression", exp.IntDiv: "div this expression",
    exp.Mod: "modulo this expression", exp.Pow: "power this expression",
    exp.EQ: "eq this expression", exp.NEQ: "ne this expression", exp.LT: "lt this expression",
    exp.LTE: "le this expression", exp.GT: "gt this expression", exp.GTE: "ge this expression",
    exp.NullSafeEQ: "is_not_distinct this expression", exp.NullSafeNEQ: "is_distinct this expression",
    exp.Between: "between this low high", exp.Nullif: "nullif this expression",
    exp.Lower: "lower this?", exp.Upper: "upper this?", exp.Length: "length this?",
    exp.Substring: "substr this? start? length?", exp.Left: "left this? expression?",
    exp.Right: "right this? expression?", exp.Replace: "replace this? expression? replacement?",
    exp.StartsWith: "starts_with this? expression?", exp.EndsWith: "ends_with this? expression?",
    exp.Contains: "contains this? expression?",
}  # fmt: skip
MANY: Mapping[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}
NAMED = {"clamp": ("clamp", 3), "ends_with": ("ends_with", 2), "suffix": ("ends_with", 2), "prefix": ("starts_with", 2)}
TRIMS = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
LIKES: Mapping[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike"}
FIELDS = (exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second)
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
EQUALITIES = ("eq", "ne", "is_distinct", "is_not_distinct")
MISTAKE, MISSING = RefusalKind.MISTAKE, RefusalKind.UNSUPPORTED
REFUSED: Mapping[type[exp.Expr], Reason] = {
    exp.Star: Reason("* in an expression", "a value is one column", "name it", MISTAKE),
    exp.Interval: Reason("", "an interval is no value by itself", "add it to a date", MISSING),
    exp.Subquery: SUBQUERY,
    exp.Select: SUBQUERY,
}


class Expressions:
    """Lowers expressions over the names of one scope. `special` may answer for a node before its rule does."""

    def __init__(self, scope: Scope, special: Special | None = None) -> None:
        self.scope, self.special = scope, special
        self.known: dict[int, tuple[exp.Expr, Expression]] = {}  # the node is kept, so that its id stays its own

    def lower(self, node: exp.Expr) -> Expression:
        """The expression of the plan. Equal nodes give equal expressions."""
        found = self.known.get(id(node))
        if found is None:
            made = (self.special(node) if self.special is not None else None) or self._ruled(node)
            found = self.known[id(node)] = (node, made)
        return found[1]

    def _ruled(self, node: exp.Expr) -> Expression:
        if not isinstance(node, exp.Expr):  # the parser leaves out what it did not find
            raise Mistake("a value is missing in this question: complete it")
        rule = RULES.get(type(node))
        if rule is None:
            raise refused(shown(node), "it has no meaning as a value of one row", "", MISSING, at=node)
        return rule(self, node)

    def call(self, node: exp.Expr, name: str, *arguments: Expression) -> Expression:
        """The operation on arguments that are lowered; what it does not take is refused at the node's place."""
        try:
            made = canonical_call(name, *arguments)
        except InputError as error:
            told = str(error)
            if name in SIGNS and told.startswith(f"{name} "):  # as it is written in SQL
                told = f"{SIGNS[name]}{told.removeprefix(name)}"
            raise Mistake(f"{place(node)}{shown(node)} is refused: {told}") from None
        if made.size > MOST_PARTS:
            raise Refused(
                f"{place(node)}this is refused, since it has more than {MOST_PARTS:,} parts when names are written out"
                ": compute less of it at once",
                kind=RefusalKind.LIMIT,
            )
        return made

    def condition(self, node: exp.Expr, where: str) -> Expression:
        """A truth value."""
        found = self.lower(node)
        if found.facts.type is not Type.BOOLEAN and not (isinstance(found, Constant) and found.value is None):
            raise refused(
                f"{where} {shown(node)}", f"it is a {found.facts.type} and no condition", "compare it", MISTAKE, at=node
            )
        return found


def chain(node: exp.Expr, kind: type[exp.Expr] = exp.And) -> list[exp.Expr]:
    """What AND joins, or OR, in order, however long the chain is."""
    ahead, found = [node], []
    while ahead:
        at = ahead.pop()
        plain = at.unnest()
        if type(plain) is kind:
            ahead += [plain.args["expression"], plain.args["this"]]
        else:
            found.append(at)
    return found


def _column(lower: Expressions, node: exp.Expr) -> Expression:
    """A name: the value of the one column it means."""
    assert isinstance(node, exp.Column)  # as the table of rules has it
    if isinstance(node.this, exp.Star):
        raise refused("* in an expression", "a value is one column", "name it", MISTAKE, at=node)
    field = lower.scope.resolve(node)
    if field.value is None:
        raise Refused(f"{place(node)}{field.missing or f'column {quoted(field.name)} cannot be computed with'}")
    return field.value


def _call(lower: Expressions, node: exp.Expr) -> Expression:
    name, *parts = CALLS[type(node)].split()
    given: list[tuple[str, Any]] = [(part, node.args.get(part.rstrip("?"))) for part in parts]
    asked = [lower.lower(value) for part, value in given if value is not None or not part.endswith("?")]
    if name in EQUALITIES:
        asked = [flag(asked[0], asked[1]), flag(asked[1], asked[0])]
    return lower.call(node, name, *asked)


def _constant(lower: Expressions, node: exp.Expr) -> Expression:
    try:
        found = literal(node)
    except InputError as error:
        raise Refused(f"{place(node)}{error}", kind=RefusalKind.LIMIT) from None
    if found is None:
        raise refused(shown(node), "it is not a constant", "", MISTAKE, at=node)
    return found


def _many(lower: Expressions, node: exp.Expr) -> Expression:
    arguments = [lower.lower(part) for part in (node.this, *node.expressions)]
    return arguments[0] if len(arguments) == 1 else lower.call(node, MANY[type(node)], *arguments)


def _logic(lower: Expressions, node: exp.Expr) -> Expression:
    name = "and" if type(node) is exp.And else "or"
    return lower.call(node, name, *(lower.condition(part, name.upper()) for part in chain(node, type(node))))


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
    raise refused(shown(node), "IS is followed by NULL, TRUE, FALSE or [NOT] DISTINCT FROM", "", MISTAKE, at=node)


def _in(lower: Expressions, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise Mistake(f"{place(node)}{shown(node)} is refused: its list is empty")
    value = lower.lower(node.this)
    return lower.call(node, "in", value, *(flag(lower.lower(part), value) for part in node.expressions))


def _case(lower: Expressions, node: exp.Expr) -> Expression:
    value = node.args.get("this")
    arguments: list[Expression] = [] if value is None else [lower.lower(value)]
    for branch in node.args["ifs"]:
        if type(branch) is not exp.If or branch.args.get("false") is not None:
            raise refused(shown(node), "CASE is made of WHEN … THEN …", "", MISTAKE, at=node)
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
        return _later(lower, node, left, right.unnest(), minus=minus)
    if type(left.unnest()) is exp.Interval and not minus:
        return _later(lower, node, right, left.unnest(), minus=False)
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
    wholes = node.args.get("typed") and all(argument.facts.type is Type.INTEGER for argument in arguments)
    return lower.call(node, "div" if wholes else "divide", *arguments)


def _log(lower: Expressions, node: exp.Expr) -> Expression:
    value = node.args.get("expression")
    if value is None:
        return lower.call(node, "log10", lower.lower(node.this))
    known = literal(node.this)
    name = {10: "log10", 2: "log2"}.get(known.value if known is not None and isinstance(known.value, int) else 0)
    if name is None:
        raise refused(shown(node), "its base is neither 2 nor 10", "write LN(x) / LN(base)", MISSING, at=node)
    return lower.call(node, name, lower.lower(value))


def _named(lower: Expressions, node: exp.Expr) -> Expression:
    """Functions that the parser knows by name only."""
    name = node.this.lower() if isinstance(node.this, str) else ""
    arguments = list(node.expressions)
    if name == "date_part" and len(arguments) == 2:
        return _extract(lower, node)
    if name in NAMED_FUNCTIONS and len(arguments) in NAMED_FUNCTIONS[name][0]:
        return NAMED_FUNCTIONS[name][1](lower, node)
    if name in NAMED and len(arguments) == NAMED[name][1]:
        return lower.call(node, NAMED[name][0], *(lower.lower(argument) for argument in arguments))
    if name in FUNCTIONS:
        what, why, instead, kind = FUNCTIONS[name]
        raise refused(f"{what} ({name.upper()})", why, instead, kind, at=node)
    called = f"the function {quoted(name or shown(node))}"
    way = "see the SQL reference for those there are"
    raise refused(called, "it is not among the known functions", way, MISSING, at=node)


def _trim(lower: Expressions, node: exp.Expr) -> Expression:
    name = TRIMS.get(str(node.args.get("position") or "").upper())
    if name is None:
        raise refused(shown(node), "a trim is LEADING, TRAILING or BOTH", "", MISTAKE, at=node)
    return lower.call(node, name, lower.lower(node.this))


def _joined(lower: Expressions, node: exp.Expr) -> Expression:
    """a || b || c, as one."""
    ahead, parts = [node], []
    while ahead:
        at = ahead.pop()
        if type(at) is exp.DPipe:
            ahead += [at.args["expression"], at.args["this"]]
        else:
            parts.append(written(lower, node, lower.lower(at)))
    return lower.call(node, "concat", *parts)


def _concat(lower: Expressions, node: exp.Expr) -> Expression:
    """CONCAT, which in most dialects takes NULL for an empty text."""
    parts = [written(lower, node, lower.lower(part)) for part in node.expressions]
    if node.args.get("coalesce"):
        parts = [lower.call(node, "coalesce", part, constant("")) if part.facts.nullable else part for part in parts]
    return lower.call(node, "concat", *parts)


def _like(lower: Expressions, node: exp.Expr) -> Expression:
    mark = None
    if type(node) is exp.Escape:
        mark, node = literal(node.args["expression"]), node.this
        if mark is None or type(node) not in LIKES:
            raise refused(shown(node), "ESCAPE belongs to LIKE and is one character", "", MISTAKE, at=node)
    arguments = [lower.lower(node.this), lower.lower(node.args["expression"]), *([] if mark is None else [mark])]
    found = lower.call(node, LIKES[type(node)], *arguments)
    return lower.call(node, "not", found) if node.args.get("negate") else found


def _cast(lower: Expressions, node: exp.Expr) -> Expression:
    to = node.args["to"]
    kind = TYPES.get(getattr(to.this, "value", "")) if type(to) is exp.DataType else None
    if kind is None or to.args.get("nested"):
        why = "values are integers, numbers, texts, dates, timestamps and truth values"
        way = "cast to one of INTEGER, DOUBLE, VARCHAR, DATE, TIMESTAMP, BOOLEAN"
        raise refused(shown(node), why, way, MISSING, at=node)
    given = literal(node.this)
    if given is not None and isinstance(given.value, str) and kind.temporal:
        return constant(to_date(given.value) if kind is Type.DATE else to_timestamp(given.value))
    value = lower.lower(node.this)
    if isinstance(value, Constant) and value.value is None:
        return constant(None, kind)
    digits = _digits(node, to)
    if value.facts.type is kind and digits is None:
        return value
    if digits is None or not value.facts.type.numeric:
        value = lower.call(node, f"to_{kind.value}", value)
    return value if digits is None else lower.call(node, "round", value, constant(digits))


def _digits(node: exp.Expr, to: exp.Expr) -> int | None:
    """The decimals of DECIMAL(p, s). Lengths of other types would cut values, which only SUBSTRING does openly."""
    given = to.expressions
    if not given:
        return None
    numbers = [literal(part.this) for part in given if type(part) is exp.DataTypeParam]
    scale = numbers[-1].value if len(numbers) == 2 and numbers[-1] is not None else 0
    if "DECIMAL" not in to.this.value or not isinstance(scale, int) or not 0 <= scale <= MOST_DIGITS:
        why, instead = "a length or precision would cut values", "cast without it, and use SUBSTRING or ROUND"
        raise refused(shown(node), why, instead, MISSING, at=node)
    return scale


def _trunc(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, "date_trunc", constant(interval_unit(node, node.args.get("unit"))), lower.lower(node.this))


def _extract(lower: Expressions, node: exp.Expr) -> Expression:
    """EXTRACT(field FROM value), and DATE_PART(field, value)."""
    field, value = node.expressions if type(node) is exp.Anonymous else (node.this, node.args["expression"])
    if interval_unit(node, field) == "epoch":
        return _seconds(lower, node, value.unnest())
    return lower.call(node, "extract", constant(interval_unit(node, field)), lower.lower(value))


def _field(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.call(node, "extract", constant(type(node).__name__.lower()), lower.lower(node.this))


def _seconds(lower: Expressions, node: exp.Expr, value: exp.Expr) -> Expression:
    """EXTRACT(EPOCH FROM x), since 1970, and EXTRACT(EPOCH FROM (x - y)), between two timestamps."""
    ends = (value.this, value.args["expression"]) if type(value) is exp.Sub else (value, None)
    x, y = (EPOCH if end is None else lower.lower(end) for end in ends)
    return lower.call(node, "divide", micros_between(lower, node, x, y), constant(10**6))


def _moved(lower: Expressions, node: exp.Expr) -> Expression:
    """DATE_ADD and DATE_SUB."""
    amount, minus = node.args["expression"], type(node) is exp.DateSub
    if type(amount) is not exp.Interval:
        amount = exp.Interval(this=amount.copy(), unit=node.args.get("unit") or exp.Var(this="day"))
    return _later(lower, node, node.this, amount, minus=minus)


def _later(lower: Expressions, node: exp.Expr, moment: exp.Expr, interval: exp.Expr, *, minus: bool) -> Expression:
    """A date and a constant number of units later, or earlier."""
    amount = interval_amount(node, interval.args.get("this"))
    unit = constant(interval_unit(node, interval.args.get("unit")))
    return lower.call(node, "date_add", lower.lower(moment), constant(-amount if minus else amount), unit)


def _paren(lower: Expressions, node: exp.Expr) -> Expression:
    return lower.lower(node.this)


def _refused(lower: Expressions, node: exp.Expr) -> Expression:
    found = REFUSED[type(node)]
    raise refused(found.what or shown(node), found.why, found.instead, found.kind, at=node)


RULES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(CALLS, _call), **dict.fromkeys(MANY, _many), **dict.fromkeys(FIELDS, _field),
    **dict.fromkeys((exp.Literal, exp.Boolean, exp.Null), _constant), **dict.fromkeys((exp.And, exp.Or), _logic),
    **dict.fromkeys((exp.Add, exp.Sub), _sum), **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), _like),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast), **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _trunc),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _moved), **dict.fromkeys(REFUSED, _refused),
    exp.Column: _column, exp.Paren: _paren, exp.Not: _not, exp.Is: _is,
    exp.In: _in, exp.Case: _case, exp.If: _if, exp.Neg: _negate, exp.Div: _divide, exp.Log: _log, exp.Trim: _trim,
    exp.DPipe: _joined, exp.Concat: _concat, exp.Anonymous: _named, exp.Extract: _extract, **FUNCTION_RULES,
}  # fmt: skip
