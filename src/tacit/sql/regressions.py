"""REGR_SLOPE and its like, as aggregates of the rows in which both values are there."""

from sqlglot import exp

__all__ = ["REGRESSIONS", "regression"]


def regression(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """REGR_SLOPE(y, x) and its like, from sums over the rows in which both are there."""
    y, x = node.this, node.args.get("expression")
    if x is None:
        return None

    def with_y(value: exp.Expr) -> exp.Expr:
        there = exp.Not(this=exp.Is(this=y.copy(), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=there, true=value.copy())])

    def with_x(value: exp.Expr) -> exp.Expr:
        there = exp.Not(this=exp.Is(this=x.copy(), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=there, true=value.copy())])

    both = exp.CovarPop(this=y.copy(), expression=x.copy())
    slope = exp.Div(this=both, expression=exp.Nullif(this=exp.VariancePop(this=with_y(x)),
                    expression=exp.Literal.number(0)), typed=False, safe=True)  # fmt: skip
    match type(node).__name__:
        case "RegrSlope":
            return exp.Paren(this=slope)
        case "RegrCount":
            return exp.Count(this=with_y(x), big_int=True)
        case "RegrAvgx":
            return exp.Avg(this=with_y(x))
        case "RegrAvgy":
            return exp.Avg(this=with_x(y))
        case "RegrR2":
            found = exp.Corr(this=y.copy(), expression=x.copy())
            return exp.Pow(this=found, expression=exp.Literal.number(2))
        case "RegrIntercept":
            times = exp.Mul(this=exp.Paren(this=slope), expression=exp.Avg(this=with_y(x)))
            return exp.Paren(this=exp.Sub(this=exp.Avg(this=with_x(y)), expression=times))
    return None


REGRESSIONS = [getattr(exp, name) for name in ("RegrSlope", "RegrCount", "RegrAvgx", "RegrAvgy", "RegrR2",
               "RegrIntercept") if hasattr(exp, name)]  # fmt: skip
