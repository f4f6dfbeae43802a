"""The fields of two relations after a join."""

from collections.abc import Mapping
from dataclasses import replace

from tacit.plan.expression import Column
from tacit.plan.facts import Facts
from tacit.plan.node import Node
from tacit.sql.scope import Field, NamedRelation, Scope

__all__ = ["joined_fields"]


def joined_fields(scope: Scope, first: int, node: Node, side: str) -> tuple[NamedRelation, ...]:
    """The fields as they are after the join, `first` being those of the left: those of a side that is not kept can be
    NULL, and then name no unit."""
    schema = node.schema
    every = range(len(scope.relations))
    optional = {"": range(0), "LEFT": every[first:], "RIGHT": every[:first], "FULL": every}[side]
    return tuple(
        replace(relation, fields=tuple(_field(field, schema, i in optional) for field in relation.fields))
        for i, relation in enumerate(scope.relations)
    )


def _field(field: Field, schema: Mapping[str, Facts], optional: bool) -> Field:
    value = field.value
    if isinstance(value, Column):
        value = Column(name=value.name, facts=schema[value.name])
    return replace(field, value=value, is_unit=field.is_unit and not optional, part=None if optional else field.part)
