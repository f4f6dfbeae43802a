"""FROM: declared tables, WITH queries and subqueries as relations, joined one after the other."""

from dataclasses import replace

from sqlglot import exp

from tacit.base import Mistake, Refused
from tacit.base.declare import declare
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Node, Scan, Source
from tacit.sql.catalog import AskableTable, nearest
from tacit.sql.joins import join
from tacit.sql.refusals import place, quoted, refused
from tacit.sql.scope import Context, Derived, Field, NamedRelation, Scope

__all__ = ["read_from"]


def read_from(select: exp.Select, context: Context) -> tuple[Node, Scope]:
    """The rows that FROM and JOIN give, and the names in them."""
    given = select.args.get("from_")
    if given is None:
        raise refused("a SELECT without FROM", "there is nothing to protect in it", "name a table in FROM", at=select)
    node, relation = _item(given.this, context)
    scope = Scope(relations=(relation,))
    for each in select.args.get("joins") or ():
        right, relation = _item(each.this, context)
        node, scope = join(each, (node, scope), (right, relation), context.catalog)
    return node, scope


def _item(item: exp.Expr, context: Context) -> tuple[Node, NamedRelation]:
    if type(item) is exp.Table and type(item.this) is exp.Identifier:
        found = _table(item, context)
    elif type(item) is exp.Subquery and type(item.this) is exp.Select:
        found = context.nested(item.this, context)
    elif type(item) is exp.Table:
        raise refused("a table function", "questions read declared tables only", "name a table of the policy", at=item)
    else:
        raise refused(
            "this item of FROM", "it is neither a table nor a subquery", "name a table of the policy", at=item
        )
    alias = item.args.get("alias")
    fields = found.fields if alias is None else _renamed(found.fields, alias)
    name = alias.name if alias is not None and alias.name else item.name
    # a subquery without a name has one that cannot be written
    return found.node, NamedRelation(alias=name or f" subquery {context.names.relations}", fields=fields)


def _renamed(fields: tuple[Field, ...], alias: exp.Expr) -> tuple[Field, ...]:
    columns = alias.args.get("columns") or []
    if not columns:
        return fields
    shown = [field for field in fields if not field.hidden]
    if len(columns) != len(shown):
        raise Mistake(
            f"{place(alias)}{quoted(alias.name)} names {len(columns)} columns and has {len(shown)}: name each once"
        )
    return tuple(replace(field, name=column.name) for field, column in zip(shown, columns, strict=True))


def _table(item: exp.Table, context: Context) -> Derived:
    name = item.name
    query = context.queries.get(name.casefold())
    if query is not None:
        given, around = query
        if type(given.this) is not exp.Select:
            raise refused(f"WITH {quoted(name)}", "it is not one SELECT", at=given)
        found = context.nested(given.this, around)
        return Derived(node=found.node, fields=_renamed(found.fields, given.args["alias"]))
    declared = context.catalog.find(name)
    if declared is None:
        looks_like_file = any(c in name for c in "./\\:*?")
        hint = "files are not read: ask the curator to declare a table" if looks_like_file else None
        raise Mistake(
            f"{place(item)}there is no table {quoted(name)}: "
            f"{hint or nearest(name, list(context.catalog.tables), 'tables')}"
        )
    return _scan(*declared, context)


def _scan(name: str, table: AskableTable, context: Context) -> Derived:
    """A Scan of all columns; what is not used is left out in the end.

    The unit is read once more under a name of its own and without bounds or domain, so that nothing that is enforced on
    its values can make two units one.
    """
    if not table.owned:
        raise Refused(
            f"table {quoted(name)} does not say whose rows they are, so nobody would be protected: the curator must "
            "declare unit, each_row_is_a_unit or public for it"
        )
    number = context.names.relation()
    unit = None if table.unit is None or not table.private else context.names.column("unit", number)
    sources: list[Source] = []
    fields: list[Field] = []
    unit_type = table.unit_type
    if unit is not None and table.unit is not None:
        if unit_type is None and table.unit in table.columns:
            unit_type = table.columns[table.unit].type
        sources.append(Source(name=unit, column=table.unit, facts=Facts(type=unit_type or Type.TEXT)))
    for column, facts in table.columns.items():
        source = Source(name=context.names.column(column, number), column=column, facts=facts)
        sources.append(source)
        is_unit = table.private and column == table.unit
        fields.append(Field(name=column, value=Column(name=source.name, facts=facts), is_unit=is_unit))
    untyped = table.untyped | ({table.unit} if table.private and table.unit is not None else set())
    for column in sorted(untyped - table.columns.keys() - table.hidden):
        where = declare(" in the policy", f' (types={{"{column}": …}})')
        why = f"column {quoted(column)} has no type{where}, so it cannot be computed with"
        fields.append(Field(name=column, value=None, is_unit=column == table.unit and table.private, missing=why))
    fields += [Field(name=column, value=None, hidden=True) for column in sorted(table.hidden)]
    node = Scan(
        table=name,
        columns=tuple(sources),
        is_private=table.private,
        unit_name=unit,
        rows_per_unit=table.rows_per_unit,
        rows=table.rows,
        unit_type=unit_type,
    )
    return Derived(node=node, fields=tuple(fields))
