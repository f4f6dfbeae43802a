"""A declared table as questions read it: its columns with their facts, and its unit."""

from tacit.base import Refused
from tacit.base.problem import declare
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.sql.catalog import AskableTable
from tacit.sql.mistake import quoted
from tacit.sql.scope import Context, Derived, Field

__all__ = ["read_table"]


def read_table(name: str, table: AskableTable, context: Context) -> Derived:
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
    named = table.unit is not None or table.path is not None
    unit = context.names.column("unit", number) if named and table.private else None
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
        part = (table.parts.index(column), len(table.parts)) if column in table.parts else None
        fields.append(Field(name=column, value=Column(name=source.name, facts=facts), is_unit=is_unit, part=part))
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
        path=table.path if table.private else None,
    )
    return Derived(node=node, fields=tuple(fields))
