"""Stage 2: a syntax tree becomes a question, or is refused. Deny by default; nothing of the text goes further."""

from dataclasses import replace

from sqlglot import exp

from tacit.base import RefusalKind, Refused
from tacit.plan.node import Node, scans_of
from tacit.plan.question import LoweredQuestion
from tacit.plan.released import ReleasedTable, is_released
from tacit.sql.allow import check
from tacit.sql.catalog import Catalog
from tacit.sql.measured import Measured
from tacit.sql.mistake import quoted, refused
from tacit.sql.parse import CLAUSE, Clause
from tacit.sql.prune import prune, used
from tacit.sql.released import released_rows, released_table
from tacit.sql.scope import Context, Scope
from tacit.sql.sources import read_from
from tacit.sql.subquery import check_released, items_written_out, nested, where

__all__ = ["lower", "prune", "used"]


PUBLIC_ALONE = (
    "a question about public tables alone",
    "there is nobody to protect in it",
    "ask them without tacit, or join them with a private table",
)


def lower(tree: exp.Select, catalog: Catalog) -> LoweredQuestion:
    """The question that a tree of `parse` asks of the tables in `catalog`; what is not understood is `Refused`."""
    if type(tree) is not exp.Select:
        raise Refused("a question is one SELECT, or WITH … SELECT")
    try:
        check(tree)
        return _lowered(tree, Context(catalog=catalog, nested=nested))
    except RecursionError:
        raise Refused("this is nested too deeply to be understood: take parts of it out into WITH") from None


def _lowered(select: exp.Select, context: Context) -> LoweredQuestion:
    """The outermost SELECT: over private rows it is measured, over released tables it comes after the noise."""
    context.names.read(select)
    context = context.within(select)
    node, scope = read_from(select, context)
    source = where(select, node, scope, context)
    if is_released(source):
        check_released(source, select)
        items = items_written_out(select, scope, context)
        after = released_rows(select, source, scope, items, context, outermost=True).node
        options = _clause(select, None, context).options
        if options.min_units is not None:
            why, way = "it would be of several answers", "write HAVING COUNT(DISTINCT unit) >= … where it is meant"
            raise refused("min_privacy_units_per_group here", why, way, RefusalKind.UNSUPPORTED, at=select)
        return replace(_needed(after, context), options=options)
    if not source.private:
        raise refused(*PUBLIC_ALONE, at=select)
    options = _clause(select, scope).options
    number = context.number(select)  # the first: nothing that was measured is in FROM
    measured = Measured(select, source, scope, context=context)
    measured.min_units = options.min_units
    question, tail = measured.question()
    if tail is None:
        return replace(question, options=options)
    own = tuple(name for name, _ in question.output)
    after = tail.over(released_table(number, question, own))
    if not tail.scalars:
        return replace(question, options=options, after=after)
    context.questions[id(select)] = (number, question, tail)
    return replace(_needed(after, context), options=options)


def _needed(after: Node, context: Context) -> LoweredQuestion:
    """The measured questions without what nothing is made of: it would be paid for."""
    if not context.questions:
        raise refused(*PUBLIC_ALONE)
    names = used(each for node in after.walk() for each in node.expressions)
    tables = [node for node in after.walk() if isinstance(node, ReleasedTable)]
    found = []
    for number, question, _ in sorted(context.questions.values(), key=lambda each: each[0]):
        wanted = {
            source.column
            for table in tables
            if table.number == number
            for source in table.columns
            if source.name in names
        }
        found.append(_fewer(question, wanted))
    return replace(found[0], beside=tuple(found[1:]), after=after)


def _fewer(question: LoweredQuestion, columns: set[str]) -> LoweredQuestion:
    output = tuple((name, value) for name, value in question.output if name in columns)
    made = [value for _, value in output] + [by.expression for by in question.order]
    if question.having is not None:
        made.append(question.having)
    aggregates = tuple(each for each in question.aggregates if each.name in used(made))
    if question.distinct or question.present or not output or not aggregates:
        return question
    arguments = [argument for aggregate in aggregates for argument in aggregate.arguments]
    source = prune(question.source, used([*arguments, *(key.expression for key in question.keys)]))
    return replace(question, source=source, output=output, aggregates=aggregates)


def _named_as_unit(column: str, context: Context | None) -> bool:
    """Whether every private table that is read names its unit so, where it stands in a subquery."""
    tables = {} if context is None else context.catalog.tables
    questions = [] if context is None else [question for _, question, _ in context.questions.values()]
    read = {scan.table for question in questions for scan in scans_of(question.source) if scan.private}
    return bool(read) and all(str(tables[name].unit).casefold() == column.casefold() for name in read)


def _clause(select: exp.Select, scope: Scope | None, context: Context | None = None) -> Clause:
    """What WITH DIFFERENTIAL_PRIVACY said. Over released tables its column is compared with what was read for them."""
    clause = select.meta.get(CLAUSE)
    found = clause if isinstance(clause, Clause) else Clause()
    if found.unit is not None and scope is None and _named_as_unit(found.unit, context):
        return found
    if found.unit is not None and (
        scope is None or not scope.unit(exp.Column(this=exp.to_identifier(found.unit, quoted=True)))
    ):
        raise refused(
            f"privacy_unit_column = {quoted(found.unit)}",
            "the policy names another unit for these tables",
            "leave it out, or name that one",
            at=select,
        )
    return found
