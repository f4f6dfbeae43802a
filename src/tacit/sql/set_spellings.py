"""UNION, INTERSECT and EXCEPT as what they are made of."""

from sqlglot import exp

__all__ = ["set_operation"]


def set_operation(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """UNION as the different rows of UNION ALL; INTERSECT and EXCEPT of one column as rows with a match or none."""
    if any(node.args.get(name) for name in ("order", "limit", "offset", "with_", "by_name", "on")):
        return None
    if type(node) is exp.Union:
        if not node.args.get("distinct"):
            return None
        whole = node.copy()
        whole.set("distinct", False)
        return _different(whole, "together")
    names = [side.unnest().named_selects for side in (node.this, node.args["expression"])]
    if node.args.get("distinct") is False or any(len(each) != 1 or each[0] in ("", "*") for each in names):
        return None
    left, right = (exp.column(exp.to_identifier(each[0], quoted=True), table=table) for each, table in
                   zip(names, ("one", "other"), strict=True))  # fmt: skip
    other = exp.Subquery(this=node.args["expression"].unnest().copy(), alias=_named_as("other"))
    inner = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=other),
        where=exp.Where(this=exp.EQ(this=left, expression=right)),
    )
    match: exp.Expr = exp.Exists(this=inner)
    found = _different(node.this.unnest().copy(), "one")
    found.set("where", exp.Where(this=exp.Not(this=match) if type(node) is exp.Except else match))
    return found


def _different(rows: exp.Expr, alias: str) -> exp.Select:
    inner = exp.From(this=exp.Subquery(this=rows, alias=_named_as(alias)))
    return exp.Select(expressions=[exp.Star()], distinct=exp.Distinct(), from_=inner)


def _named_as(alias: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(alias))
