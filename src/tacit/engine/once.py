"""Whether public rows are there once for each key, looked up before a question reads them.

A key that is declared unique may be there twice all the same, and then its rows are left out, so that no private row
has two matches. To find them in the question itself is a wall between its parts: engines move no condition and no join
through it. So they are counted first, in the same reading of the same data. Where there are none, and that is nearly
always, the join needs no care. What is counted is public, and what an engine saw of one version of its tables it need
not count again.
"""

from collections.abc import Mapping
from dataclasses import replace

from tacit.engine.dialect import Dialect
from tacit.engine.keys import twice_sql
from tacit.engine.push import over
from tacit.engine.relation import relation_sql
from tacit.engine.result import Fetch, whole_numbers
from tacit.engine.unit import StoredTable
from tacit.plan.node import Join, Node

__all__ = ["looked_up"]


def looked_up(
    node: Node, fetch: Fetch, dialect: Dialect, tables: Mapping[str, StoredTable], once: set[str] | None = None
) -> Node:
    """The node, whose joins are `unique` only where some key is there twice. `once` are statements that are known to
    find none in this version of the data; those that are seen to find none are added."""
    once = set() if once is None else once

    def twice(join: Join) -> str:
        return twice_sql(join, relation_sql(join.right, dialect, tables), dialect)

    joins = [each for each in node.walk() if isinstance(each, Join) and each.unique]
    if not joins:
        return node
    asked = [sql for sql in dict.fromkeys(map(twice, joins)) if sql not in once]
    if asked:
        counted = ", ".join(f"(SELECT COUNT(*) FROM ({sql}) AS t{i}) AS n{i}" for i, sql in enumerate(asked))
        counts = [whole_numbers(column).tolist() for column in fetch(f"SELECT {counted}")]
        once |= {sql for sql, count in zip(asked, counts, strict=True) if count == [0]}

    def eased(each: Node) -> Node:
        each = over(each, eased)
        return replace(each, unique=False) if isinstance(each, Join) and each.unique and twice(each) in once else each

    return eased(node)
