"""Functions that a parser knows by name only, with what they are elsewhere."""

from collections.abc import Callable, Mapping
from functools import partial

from sqlglot import exp

__all__ = ["ANONYMOUS", "counted_apart"]


def _renamed(kind: type[exp.Expr], *names: str) -> Callable[[list[exp.Expr]], exp.Expr | None]:
    """A node with the arguments under these names, where there are as many."""

    def made(arguments: list[exp.Expr]) -> exp.Expr | None:
        return kind(**dict(zip(names, arguments, strict=True))) if len(arguments) == len(names) else None

    return made


def _counted(arguments: list[exp.Expr]) -> exp.Expr | None:
    return exp.Count(this=arguments[0], big_int=True) if len(arguments) == 1 else None


def counted_apart(value: exp.Expr) -> exp.Expr:
    """COUNT(DISTINCT x)."""
    return exp.Count(this=exp.Distinct(expressions=[value]), big_int=True)


def _counted_apart(arguments: list[exp.Expr]) -> exp.Expr | None:
    return counted_apart(arguments[0]) if len(arguments) == 1 else None


def _part(arguments: list[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 2 or type(arguments[0]) not in (exp.Column, exp.Literal, exp.Var) or not arguments[0].name:
        return None
    return exp.Extract(this=exp.var(arguments[0].name.upper()), expression=arguments[1])


def _moved(kind: type[exp.Expr], arguments: list[exp.Expr]) -> exp.Expr | None:
    """DATEADD(day, 3, x), and DATE_SUB(x, INTERVAL 3 DAY)."""
    if len(arguments) == 3 and type(arguments[0]) in (exp.Column, exp.Literal, exp.Var):
        unit, amount, value = arguments
        return kind(this=value, expression=amount, unit=exp.var(unit.name.upper()))
    if len(arguments) == 2 and type(arguments[1]) is exp.Interval:
        return kind(this=arguments[0], expression=arguments[1])
    return None


def _between_moments(arguments: list[exp.Expr]) -> exp.Expr | None:
    """TIMESTAMPDIFF(HOUR, from, to)."""
    if len(arguments) != 3 or type(arguments[0]) not in (exp.Column, exp.Literal, exp.Var):
        return None
    return exp.TimestampDiff(this=arguments[2], expression=arguments[1], unit=exp.var(arguments[0].name.upper()))


def _formats(arguments: list[exp.Expr]) -> exp.Expr | None:
    """DATE_FORMAT(x, 'yyyy-MM'), as Spark has it; MySQL's signs only where strftime has the same."""
    if len(arguments) != 2 or type(arguments[1]) is not exp.Literal:
        return None
    text = arguments[1].name
    for sign in ("%Y", "%m", "%d", "%H"):
        text = text.replace(sign, "")
    return exp.TimeToStr(this=arguments[0], format=arguments[1]) if "%" not in text else None


def _choose(arguments: list[exp.Expr]) -> exp.Expr | None:
    """CHOOSE(n, 'a', 'b'), SQL Server's."""
    if len(arguments) < 2:
        return None
    first, *others = arguments
    pairs = [exp.If(this=exp.Literal.number(n), true=each) for n, each in enumerate(others, 1)]
    return exp.Case(this=first, ifs=pairs)


def _geometric(arguments: list[exp.Expr]) -> exp.Expr | None:
    return exp.Exp(this=exp.Avg(this=exp.Ln(this=arguments[0]))) if len(arguments) == 1 else None


def _trimmed(arguments: list[exp.Expr]) -> exp.Expr | None:
    return exp.Trim(this=arguments[0]) if len(arguments) == 1 else None


def _from_monday(arguments: list[exp.Expr]) -> exp.Expr | None:
    """WEEKDAY(x), 0 on Monday."""
    if len(arguments) != 1:
        return None
    day = exp.Extract(this=exp.var("ISODOW"), expression=arguments[0])
    return exp.Paren(this=exp.Sub(this=day, expression=exp.Literal.number(1)))


def _seconds(arguments: list[exp.Expr]) -> exp.Expr | None:
    return exp.Extract(this=exp.var("EPOCH"), expression=arguments[0]) if len(arguments) == 1 else None


ANONYMOUS: Mapping[str, Callable[[list[exp.Expr]], exp.Expr | None]] = {
    "var": _renamed(exp.Variance, "this"),
    "varp": _renamed(exp.VariancePop, "this"),
    "std": _renamed(exp.Stddev, "this"),
    "stdev": _renamed(exp.Stddev, "this"),
    "stddevp": _renamed(exp.StddevPop, "this"),
    "stdevp": _renamed(exp.StddevPop, "this"),
    "stdev_pop": _renamed(exp.StddevPop, "this"),
    "count": _counted,
    "sum": _renamed(exp.Sum, "this"),
    "avg": _renamed(exp.Avg, "this"),
    "var_pop": _renamed(exp.VariancePop, "this"),
    "stddev_pop": _renamed(exp.StddevPop, "this"),
    "percentile_cont": _renamed(exp.PercentileCont, "this", "expression"),
    "quantiles": _renamed(exp.ApproxQuantiles, "this", "expression"),
    "percentile": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "percentile_approx": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "approx_percentile": _renamed(exp.ApproxQuantile, "this", "quantile"),
    "approx_median": _renamed(exp.Median, "this"),
    "approx_top_count": _renamed(exp.ApproxTopK, "this", "expression"),
    "count_distinct": _counted_apart,
    "approx_count_distinct": _counted_apart,
    "iff": _renamed(exp.If, "this", "true", "false"),
    "datepart": _part,
    "dateadd": partial(_moved, exp.DateAdd),
    "date_add": partial(_moved, exp.DateAdd),
    "date_sub": partial(_moved, exp.DateSub),
    "timestampdiff": _between_moments,
    "format_date": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "format_datetime": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "format_timestamp": lambda given: exp.TimeToStr(this=given[1], format=given[0]) if len(given) == 2 else None,
    "date_format": _formats,
    "to_date": _renamed(exp.Date, "this"),
    "countif": _renamed(exp.CountIf, "this"),
    "choose": _choose,
    "geomean": _geometric,
    "geometric_mean": _geometric,
    "btrim": _trimmed,
    "weekday": _from_monday,
    "unix_seconds": _seconds,
    "dow": _renamed(exp.DayOfWeek, "this"),
    "regexp_contains": _renamed(exp.RegexpLike, "this", "expression"),
}
