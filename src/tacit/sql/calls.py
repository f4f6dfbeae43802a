"""Constructs of SQL that are calls of one operation each, and the names of types."""

from collections.abc import Mapping

from sqlglot import exp

from tacit.plan.facts import Type

__all__ = ["CALLS", "FIELDS", "LIKES", "MANY", "NAMED", "TRIMS", "TYPES"]

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
