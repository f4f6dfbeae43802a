"""How many rows lie in each cell of a range, for quantiles; a unit's coordinates are its groups, its rows in each.

Each row counts `one`; each row of a unit over the bound counts trunc(one · w), w the weight of the clip. That needs no
count per unit and cell. The unit's coordinate in a group with c rows is then c · trunc(one · w) ≤ w · (one · c), so
the clip's theorem holds for it. A unit with so many rows in a group that its coordinate passes 2^b counts nothing.
"""

from fractions import Fraction
from math import floor

from tacit.base import InputError
from tacit.engine.clip import Whole, whole_clip
from tacit.engine.rows import Rows
from tacit.engine.steps import divided_sql, factor
from tacit.plan.bounded import Clip, Ranks

__all__ = ["counts_sql", "ranks_sql"]

LARGEST_ONE = 2**20


def ranks_sql(rows: Rows, ranks: Ranks, clip: Clip) -> str:
    """SELECT of the keys, `cell` and the weighted count of rows `n`."""
    dialect = rows.dialect
    loose, having = rows.loosened()
    seen = loose.select((_cell(rows, ranks),), where=rows.there(ranks.value), unit=not clip.exempt)
    names = ", ".join(f"s.{name}" for name in (*rows.keys, "x0"))
    having = f" HAVING {having}" if having else ""
    if clip.exempt:
        count = "COUNT(*)" if ranks.one == 1 else f"{dialect.factor('COUNT(*)')} * {ranks.one}"
        return f"SELECT {names} AS cell, {count} AS n FROM ({seen}) AS s GROUP BY {names}{having}"
    if clip.bound is None:
        raise InputError(f"the bound of {ranks.name!r} was not chosen yet")
    whole = whole_clip(clip, clip.bound)
    most = _most(whole, ranks)
    weight = dialect.truncated(f"{dialect.number(float(ranks.one))} * ({whole.weight('n0', dialect)})")
    busy = rows.busy(whole.rows([ranks.one]))
    return (
        f"WITH c AS ({counts_sql(rows, ranks, whole, busy)}), "
        f"t AS (SELECT u, {whole.size(('m0',), dialect)} AS n0, MAX(m0) AS most FROM c GROUP BY u), "
        f"h AS (SELECT u, CASE WHEN most > {most * ranks.one} THEN 0 ELSE {weight} END AS w "
        f"FROM t WHERE n0 > {whole.threshold}) "
        f"SELECT {names} AS cell, {dialect.sum(f'COALESCE(h.w, {ranks.one})')} AS n "
        f"FROM ({seen}) AS s LEFT JOIN h ON s.u = h.u GROUP BY {names}{having}"
    )


def counts_sql(rows: Rows, ranks: Ranks, whole: Whole, units: str = "") -> str:
    """The coordinates: per unit and group, `one` for each row that has a value, as `m0`. `units` selects some units."""
    if not 1 <= ranks.one <= LARGEST_ONE:
        raise InputError(f"a row counts from 1 to 2^20 steps in {ranks.name!r}, not {ranks.one}")
    if not rows.has_unit:
        raise InputError("rows do not name their unit here, so each is a unit: this clip must be exempt")
    seen = rows.select((), where=rows.there(ranks.value))
    if units:
        seen = f"SELECT f.* FROM ({seen}) AS f JOIN ({units}) AS b ON f.u = b.u"
    columns = ", ".join(("u", *rows.keys))
    count = f"CAST(LEAST(COUNT(*), {_most(whole, ranks) + 1}) AS BIGINT) * {ranks.one}"
    return f"SELECT {columns}, {count} AS m0 FROM ({seen}) AS s GROUP BY {columns}"


def _most(whole: Whole, ranks: Ranks) -> int:
    return whole.limits()[0] // ranks.one


def _cell(rows: Rows, ranks: Ranks) -> str:
    """floor((value − low)/width) in 0..cells−1. A range the value is known to lie in may need no look at the ends."""
    value, dialect = rows.value(ranks.value), rows.dialect
    if ranks.cells < 1 or ranks.cells > 2**24 or ranks.width <= 0:
        raise InputError(f"{ranks.name!r} needs from 1 to 2^24 cells of a positive width")
    facts = ranks.value.facts
    if not facts.type.numeric or not facts.bounded:
        raise InputError(f"{ranks.name!r} ranks a value without bounds: {facts.why or 'declare them'}")
    shifted = value if ranks.low == 0 else f"({value} - {dialect.number(float(ranks.low))})"
    place = f"FLOOR({divided_sql(shifted, Fraction(ranks.width), dialect)})"
    last = ranks.cells - 1
    within = rows.ends(ranks.value)
    if within is not None and all(0 <= _cell_of(end, ranks) <= last for end in within):
        return f"CAST({place} AS INTEGER)"
    first, most = dialect.number(0.0), dialect.number(float(last))
    return (
        f"CASE WHEN {place} BETWEEN {first} AND {most} THEN CAST({place} AS INTEGER) "
        f"WHEN {place} < {first} THEN 0 ELSE {last} END"
    )


def _cell_of(value: float, ranks: Ranks) -> int:
    """What `_cell` makes of a double, in the same IEEE operations, which keep the order of doubles."""
    inverse, by = factor(Fraction(ranks.width))
    shifted = value - float(ranks.low) if ranks.low else value
    return floor(shifted * by if inverse else shifted / by)
