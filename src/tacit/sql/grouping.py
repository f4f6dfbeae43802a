"""ROLLUP, CUBE and GROUPING SETS: several groupings of the same rows, asked at once."""

from itertools import combinations

from sqlglot import exp

from tacit.sql.mistake import refused

__all__ = ["SETS", "grouping_sets"]

SETS = ("rollup", "cube", "grouping_sets")
MOST_SETS = 64
Nodes = tuple[exp.Expr, ...]


def grouping_sets(select: exp.Select) -> list[Nodes] | None:
    """The keys of each grouping, as they stand; None for a plain GROUP BY."""
    given = select.args.get("group")
    if given is None:
        return None
    trailing = [each for name in SETS for each in given.args.get(name) or ()]
    bare = [each for each in trailing if isinstance(each, exp.Expr) and not each.expressions]  # GROUP BY a WITH ROLLUP
    elements = [*given.expressions, *(each for each in trailing if each not in bare)]
    if bare:
        elements = [type(bare[0])(expressions=list(given.expressions))]
    if not any(_several(each) for each in elements):
        return None
    found: list[Nodes] = [()]
    for each in elements:
        found = [(*before, *after) for before in found for after in _sets(each)]
        if len(found) > MOST_SETS:
            raise refused(f"more than {MOST_SETS} groupings at once", "each is measured", "ask for fewer", at=select)
    return list(dict.fromkeys(found))


def _several(node: exp.Expr) -> bool:
    return type(node) in (exp.Rollup, exp.Cube, exp.GroupingSets)


def _sets(node: exp.Expr) -> list[Nodes]:
    """The groupings that one element of GROUP BY stands for."""
    inside = [_together(each) for each in node.expressions] if _several(node) else []
    if type(node) is exp.Rollup:
        return [_flat(inside[:size]) for size in range(len(inside), -1, -1)]
    if type(node) is exp.Cube:
        if len(inside) > 6:
            raise refused("CUBE of more than 6 keys", "each subset of them is measured", "use fewer", at=node)
        return [_flat(some) for size in range(len(inside), -1, -1) for some in combinations(inside, size)]
    if type(node) is exp.GroupingSets:
        return [each for element in node.expressions for each in (_sets(element) if _several(element) else
                                                                  [_together(element)])]  # fmt: skip
    return [_together(node)]


def _flat(some: "list[Nodes] | tuple[Nodes, ...]") -> Nodes:
    return tuple(node for each in some for node in each)


def _together(node: exp.Expr) -> Nodes:
    """(a, b) in parentheses is taken or left as one."""
    plain = node.unnest()
    return tuple(plain.expressions) if type(plain) is exp.Tuple else (plain,)
