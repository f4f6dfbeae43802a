"""A bounded question as SQL: one statement for the groups and their measures, one for each Ranks.

Where no unit needs to be looked at (every clip is exempt, keys are known, nobody is counted once) it is one GROUP BY
over the rows.

Ranks are how many rows lie in each cell of a range, for quantiles; a unit's coordinates are its groups, its rows in
each. Each row counts `one`; each row of a unit over the bound counts trunc(one · w), w the weight of the clip. That
needs no count per unit and cell. The unit's coordinate in a group with c rows is then c · trunc(one · w), at most
w · (one · c), so the clip's theorem holds for it. A unit with so many rows in a group that its coordinate passes 2^b
counts nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor

from tacit.base import InputError
from tacit.engine.clip import WholeClip, thresholds, whole_clip
from tacit.engine.dialect import Dialect
from tacit.engine.measure import MeasureSums, distinct_sql
from tacit.engine.per_unit import PerUnit
from tacit.engine.push import pushed
from tacit.engine.relation import has_unit
from tacit.engine.rows import Rows
from tacit.engine.scan import UNIT, scan_sql
from tacit.engine.steps import divided_sql, factor
from tacit.engine.unit import StoredTable
from tacit.plan.bounded import Bounded, Clip, Measure, Ranks
from tacit.plan.cells import Piece
from tacit.plan.node import Scan

__all__ = ["NormCounts", "Statements", "norms_sql", "rows_sql", "statements"]


LARGEST_ONE = 2**20
COUNT = "tacit rows"  # how many rows a row's unit has


@dataclass(frozen=True, kw_only=True)
class Statements:
    """`groups` gives keys, then measures in their order, then presence; each of `ranks` keys, cell and count.

    There is no `groups` where it would tell nothing: every key is known in advance, and nothing is measured. `light` is
    quicker, and gives the same and one more column: where that is not zero in every row, it does not hold.
    """

    groups: str | None
    ranks: tuple[str, ...]
    light: str | None = None


@dataclass(frozen=True, kw_only=True)
class NormCounts:
    """A statement that gives `cell` and `n`: cells of the first of these clips, then those of the next."""

    clips: tuple[int, ...]
    sql: str


def statements(bounded: Bounded, dialect: Dialect, tables: Mapping[str, StoredTable]) -> Statements:
    """The SQL for one engine; `tables` says how declared tables are stored there."""
    rows = Rows(replace(bounded, source=pushed(bounded.source)), dialect, tables)
    clips = _clips(bounded)
    for name, clip in clips.items():
        if not clip.exempt and not rows.has_unit:
            raise InputError(f"rows do not name their unit, so each is one: the clip of {name!r} must be exempt")
    ranks = tuple(_ranks(rows, ranks, clips[ranks.name]) for ranks in bounded.ranks)
    told = bounded.measures or bounded.presence is not None or not ranks
    light = None if bounded.presence is not None else _per_unit(rows, clips)
    return Statements(
        groups=_groups(rows, clips) if told else None, ranks=ranks, light=(light.light() or None) if light else None
    )


def norms_sql(
    bounded: Bounded, edges: Mapping[int, Sequence[int]], dialect: Dialect, tables: Mapping[str, StoredTable]
) -> tuple[NormCounts, ...]:
    """How many units have a norm in each cell (…, e₀], (e₀, e₁], …, (eₙ, ∞) of these clips. Clips of measures are
    looked at together, so that rows are grouped by unit once; ranks have rows of their own."""
    _clips(bounded)
    rows = Rows(replace(bounded, source=pushed(bounded.source)), dialect, tables)
    if not rows.has_unit:
        raise InputError("rows do not name their unit here: there is no bound to choose")
    chosen = {bounded.clips[place]: (place, *thresholds(bounded.clips[place], ends)) for place, ends in edges.items()}
    ranked = {clip: ranks for ranks in bounded.ranks for clip in chosen if ranks.name in clip.names}
    found = []
    for clip, ranks in ranked.items():
        place, whole, ends = chosen.pop(clip)
        size = whole.size(("m0",), dialect)
        found.append(NormCounts(clips=(place,), sql=_by_norm(_counts(rows, ranks, whole), [size], [ends])))
    if chosen:
        clips = {name: clip for clip in chosen for name in clip.names}
        measures = tuple(measure for measure in bounded.measures if measure.name in clips)
        places, wholes, reaches = zip(*chosen.values(), strict=True)
        per_unit = PerUnit(rows, measures, clips, dict(zip(chosen, wholes, strict=True)))
        sizes = [whole.size(per_unit.sizes(clip), dialect) for clip, whole in per_unit.wholes.items()]
        found.append(NormCounts(clips=places, sql=_by_norm(per_unit.source(), sizes, reaches)))
    return tuple(found)


def _by_norm(source: str, sizes: Sequence[str], ends: Sequence[Sequence[int]]) -> str:
    """Units of `source` by each of these sizes: `cell`, those of the second after those of the first, and `n`."""
    cells, numbered, first = [], [], 0
    for i, (_, reached) in enumerate(zip(sizes, ends, strict=True)):
        cases = " ".join(f"WHEN n{i} <= {end} THEN {first + cell}" for cell, end in enumerate(reached))
        cells.append(f"CASE {cases} ELSE {first + len(reached)} END AS c{i}")
        numbered.append(f"c{i}")
        first += len(reached) + 1
    norms = ", ".join(f"{size} AS n{i}" for i, size in enumerate(sizes))
    by_unit = f"SELECT u, {norms} FROM ({source}) AS g GROUP BY u"
    cell, by = (f"COALESCE({', '.join(numbered)})", ", ".join(f"({each})" for each in numbered))
    return (
        f"SELECT {cell} AS cell, COUNT(*) AS n FROM (SELECT {', '.join(cells)} FROM ({by_unit}) AS t) AS c "
        f"GROUP BY GROUPING SETS ({by})"
    )


def rows_sql(scan: Scan, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """SELECT of the columns in the order of units, and beside each row how many rows its unit has.

    That tells where units begin, and needs no number of units, for which an engine would bring all rows to one place.
    The engine compares units as it does in every question, and none is turned into a value here.
    """
    if not scan.private:
        raise InputError(f"table {scan.table!r} is public: rows are read by unit, of a private table")
    names = [dialect.identifier(source.name) for source in scan.columns]
    unit, order = dialect.identifier(UNIT), ""
    if has_unit(scan):
        names.append(f"COUNT(*) OVER (PARTITION BY {unit}) AS {dialect.identifier(COUNT)}")
        order = f" ORDER BY {unit}"
    return f"SELECT {', '.join(names) or '1 AS one'} FROM ({scan_sql(scan, dialect, tables)}) AS r{order}"


def _clips(bounded: Bounded) -> dict[str, Clip]:
    """The clip of each measure and each Ranks: every one has exactly one, since what has none has no sensitivity."""
    found: dict[str, Clip] = {}
    for clip in bounded.clips:
        for name in clip.names:
            if name in found:
                raise InputError(f"{name!r} is in two clips")
            found[name] = clip
    kinds = {measure.name: measure.kind for measure in bounded.measures}
    ranks = {ranks.name for ranks in bounded.ranks}
    if len(kinds) + len(ranks) != len(bounded.measures) + len(bounded.ranks) or kinds.keys() & ranks:
        raise InputError("measures and ranks need names of their own")
    for name in (*kinds, *ranks):
        if name not in found:
            raise InputError(f"{name!r} is in no clip, so its sensitivity is not known")
        if kinds.get(name) == "distinct" and not found[name].exempt:
            raise InputError(f"{name!r} counts different values, which cannot be scaled: its clip must be exempt")
        if name in ranks and len(found[name].names) > 1:
            raise InputError(f"{name!r} has a clip of its own: ranks share none")
    if found.keys() - kinds.keys() - ranks:
        raise InputError(f"a clip is of something unknown: {', '.join(sorted(found.keys() - kinds.keys() - ranks))}")
    return found


def _groups(rows: Rows, clips: Mapping[str, Clip]) -> str:
    bounded = rows.bounded
    added = tuple(measure for measure in bounded.measures if measure.kind != "distinct")
    distinct = tuple(measure for measure in bounded.measures if measure.kind == "distinct")
    per_unit = _per_unit(rows, clips)
    groups = _plain(rows, added) if per_unit is None else per_unit.sql()
    columns = [f"m{i}" for i in range(len(added))]
    if distinct:
        groups = _beside(rows, groups, columns, [distinct_sql(rows, measure) for measure in distinct])
    names = {m.name: column for m, column in zip(added, columns, strict=True)}
    names |= {measure.name: f"d{i}" for i, measure in enumerate(distinct)}
    chosen = [*rows.keys, *(names[measure.name] for measure in bounded.measures)]
    if bounded.presence is not None:
        return f"SELECT {', '.join((*chosen, 'presence'))} FROM ({groups}) AS a WHERE presence > 0"
    return f"SELECT {', '.join(chosen) or '1 AS one'} FROM ({groups}) AS a" if distinct else groups


def _per_unit(rows: Rows, clips: Mapping[str, Clip]) -> PerUnit | None:
    """None where no unit needs to be looked at."""
    bounded = rows.bounded
    added = tuple(measure for measure in bounded.measures if measure.kind != "distinct")
    units = bounded.presence is not None or any(measure.kind == "units" for measure in added)
    if not rows.has_unit or not (units or any(not clips[measure.name].exempt for measure in added)):
        return None
    used = dict.fromkeys(clips[measure.name] for measure in added)
    return PerUnit(rows, added, clips, {clip: whole_clip(clip, clip.bound) for clip in used if not clip.exempt})


def _plain(rows: Rows, measures: tuple[Measure, ...]) -> str:
    """One GROUP BY over the rows, each of which is its own unit, or needs no bounding."""
    rows, having = rows.loosened()
    measured = MeasureSums(rows, measures)
    columns = [*rows.keys, *(f"{measured.total(measure)} AS m{i}" for i, measure in enumerate(measures))]
    presence = rows.bounded.presence
    if presence is not None:
        columns.append(f"COUNT(*) * {presence.one} AS presence")
    by = f" GROUP BY {', '.join(rows.keys)}" if rows.keys else ""
    by += f" HAVING {having}" if having else ""
    return f"SELECT {', '.join(columns) or 'COUNT(*) AS one'} FROM ({measured.select(unit=False)}) AS s{by}"


def _beside(rows: Rows, groups: str, columns: list[str], distinct: list[str]) -> str:
    """Counts of different values beside the other measures, zero where a group has none."""
    presence = ["presence"] if rows.bounded.presence is not None else []
    counts = [f"d{i}" for i in range(len(distinct))]
    parts = []
    for i, sql in enumerate((groups, *distinct)):
        shown = [column if i == 0 else f"0 AS {column}" for column in (*columns, *presence)]
        shown += [f"{'n' if i == j else '0'} AS {column}" for j, column in enumerate(counts, 1)]
        parts.append(f"SELECT {', '.join((*rows.keys, *shown))} FROM ({sql}) AS b{i}")
    sums = [f"SUM({column}) AS {column}" for column in (*columns, *presence, *counts)]
    by = f" GROUP BY {', '.join(rows.keys)}" if rows.keys else ""
    return f"SELECT {', '.join((*rows.keys, *sums))} FROM ({' UNION ALL '.join(parts)}) AS e{by}"


def _ranks(rows: Rows, ranks: Ranks, clip: Clip) -> str:
    """SELECT of the keys, `cell` and the weighted count of rows `n`."""
    dialect = rows.dialect
    loose, having = rows.loosened()
    seen = _placed(loose, ranks, unit=not clip.exempt)
    names = ", ".join(f"s.{name}" for name in (*rows.keys, "x0"))
    having = f" HAVING {having}" if having else ""
    if clip.exempt:
        count = "COUNT(*)" if ranks.one == 1 else f"{dialect.factor('COUNT(*)')} * {ranks.one}"
        return f"SELECT {names} AS cell, {count} AS n FROM ({seen}) AS s GROUP BY {names}{having}"
    whole = whole_clip(clip, clip.bound)
    most = whole.limits()[0] // ranks.one
    weight = dialect.truncated.format(f"{dialect.number(float(ranks.one))} * ({whole.weight('n0', dialect)})")
    busy = rows.busy(whole.rows([ranks.one]))
    return (
        f"WITH c AS ({_counts(rows, ranks, whole, busy)}), "
        f"t AS (SELECT u, {whole.size(('m0',), dialect)} AS n0, MAX(m0) AS most FROM c GROUP BY u), "
        f"h AS (SELECT u, CASE WHEN most > {most * ranks.one} THEN 0 ELSE {weight} END AS w "
        f"FROM t WHERE n0 > {whole.threshold}) "
        f"SELECT {names} AS cell, {dialect.sum(f'COALESCE(h.w, {ranks.one})')} AS n "
        f"FROM ({seen}) AS s LEFT JOIN h ON s.u = h.u GROUP BY {names}{having}"
    )


def _counts(rows: Rows, ranks: Ranks, whole: WholeClip, units: str = "") -> str:
    """The coordinates: per unit and group, `one` for each row that has a value, as `m0`. `units` selects some units."""
    if not 1 <= ranks.one <= LARGEST_ONE:
        raise InputError(f"a row counts from 1 to 2^20 steps in {ranks.name!r}, not {ranks.one}")
    if not rows.has_unit:
        raise InputError("rows do not name their unit here, so each is a unit: this clip must be exempt")
    seen = rows.select((), where=rows.there(ranks.value))
    if units:
        seen = f"SELECT f.* FROM ({seen}) AS f JOIN ({units}) AS b ON f.u = b.u"
    columns = ", ".join(("u", *rows.keys))
    count = f"CAST(LEAST(COUNT(*), {whole.limits()[0] // ranks.one + 1}) AS BIGINT) * {ranks.one}"
    return f"SELECT {columns}, {count} AS m0 FROM ({seen}) AS s GROUP BY {columns}"


def _placed(rows: Rows, ranks: Ranks, *, unit: bool) -> str:
    """Rows that have a value, with its cell as `x0`."""
    if not ranks.pieces or ranks.cells > 2**24 or any(p.cells < 1 or p.width <= 0 for p in ranks.pieces):
        raise InputError(f"{ranks.name!r} needs from 1 to 2^24 cells of a positive width")
    facts = ranks.value.facts
    if not facts.type.numeric or not facts.bounded:
        raise InputError(f"{ranks.name!r} ranks a value without bounds: {facts.why or 'declare them'}")
    value, there, last = rows.value(ranks.value), rows.there(ranks.value), ranks.pieces[-1]
    if len(ranks.pieces) == 1:
        return rows.select((_cell(value, last, rows, rows.ends(ranks.value)),), where=there, unit=unit)
    cases, before = [], 0
    for piece in ranks.pieces:
        place = f"{before} + {_cell('x0', piece, rows)}"
        end = rows.dialect.number(float(piece.high))
        cases.append(f"ELSE {place}" if piece is last else f"WHEN x0 < {end} THEN {place}")
        before += piece.cells
    names = [*(["u"] if unit and rows.has_unit else []), *rows.keys]
    read = rows.select((value,), where=there, unit=unit)  # once: it may be long
    cell = f"CASE {' '.join(cases)} END AS x0"
    return f"SELECT {', '.join((*names, cell))} FROM ({read}) AS v"


def _cell(value: str, piece: Piece, rows: Rows, within: tuple[float, float] | None = None) -> str:
    """floor((value − low)/width) in 0..cells−1, where there is a value. A range it is known to lie in may need no look
    at the ends."""
    dialect = rows.dialect
    shifted = value if piece.low == 0 else f"({value} - {dialect.number(float(piece.low))})"
    place = f"FLOOR({divided_sql(shifted, piece.width, dialect)})"
    last = piece.cells - 1
    if within is not None and all(0 <= _cell_of(end, piece) <= last for end in within):
        return f"CAST({place} AS INTEGER)"
    first, most = dialect.number(0.0), dialect.number(float(last))
    return f"CAST(LEAST(GREATEST({place}, {first}), {most}) AS INTEGER)"


def _cell_of(value: float, piece: Piece) -> int:
    """What `_cell` makes of a double, in the same IEEE operations, which keep the order of doubles."""
    inverse, by = factor(piece.width)
    shifted = value - float(piece.low) if piece.low else value
    return floor(shifted * by if inverse else shifted / by)
