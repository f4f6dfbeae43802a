"""A bounded question as SQL: one statement for the groups and their measures, one for each Ranks.

Where no unit needs to be looked at (every clip is exempt, keys are known, nobody is counted once) it is one GROUP BY
over the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.base import InputError
from tacit.engine.clip import Whole, thresholds, whole_clip
from tacit.engine.dialect import Dialect
from tacit.engine.measure import Measured, distinct_sql
from tacit.engine.per_unit import PerUnit
from tacit.engine.ranks import counts_sql, ranks_sql
from tacit.engine.rows import Rows
from tacit.engine.unit import StoredTable
from tacit.plan.bounded import Bounded, Clip, Measure

__all__ = ["Statements", "norms_sql", "statements"]


@dataclass(frozen=True, kw_only=True)
class Statements:
    """`groups` gives keys, then measures in their order, then presence; each of `ranks` keys, cell and count.

    There is no `groups` where it would tell nothing: every key is known in advance, and nothing is measured.
    """

    groups: str | None
    ranks: tuple[str, ...]


def statements(bounded: Bounded, dialect: Dialect, tables: Mapping[str, StoredTable]) -> Statements:
    """The SQL for one engine; `tables` says how declared tables are stored there."""
    rows = Rows(bounded, dialect, tables)
    clips = _clips(bounded)
    for name, clip in clips.items():
        if not clip.exempt and not rows.has_unit:
            raise InputError(f"rows do not name their unit, so each is one: the clip of {name!r} must be exempt")
    ranks = tuple(ranks_sql(rows, ranks, clips[ranks.name]) for ranks in bounded.ranks)
    told = bounded.measures or bounded.presence is not None or not ranks
    return Statements(groups=_groups(rows, clips) if told else None, ranks=ranks)


def norms_sql(
    bounded: Bounded, clip: int, edges: Sequence[int], dialect: Dialect, tables: Mapping[str, StoredTable]
) -> str:
    """How many units have a norm in each cell: (…, e₀], (e₀, e₁], …, (eₙ, ∞), as `cell` and `n`."""
    _clips(bounded)
    rows = Rows(bounded, dialect, tables)
    chosen = bounded.clips[clip]
    whole, ends = thresholds(chosen, edges)
    ranked = [ranks for ranks in bounded.ranks if ranks.name in chosen.names]
    if not rows.has_unit:
        raise InputError("rows do not name their unit here: there is no bound to choose")
    columns: tuple[str | int, ...]
    if ranked:
        source, columns = counts_sql(rows, ranked[0], whole), ("m0",)
    else:
        measures = {measure.name: measure for measure in bounded.measures}
        named = tuple(measures[name] for name in chosen.names)
        per_unit = PerUnit(rows, named, dict.fromkeys(chosen.names, chosen), {chosen: whole})
        source, columns = per_unit.source(), tuple(per_unit.sizes(chosen))
    cases = " ".join(f"WHEN n0 <= {end} THEN {i}" for i, end in enumerate(ends))
    sizes = f"SELECT u, {whole.size(columns, rows.dialect)} AS n0 FROM ({source}) AS g GROUP BY u"
    cells = f"SELECT CASE {cases} ELSE {len(ends)} END AS cell FROM ({sizes}) AS t"
    return f"SELECT cell, COUNT(*) AS n FROM ({cells}) AS c GROUP BY cell"


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
    units = bounded.presence is not None or any(measure.kind == "units" for measure in added)
    clipped = any(not clips[measure.name].exempt for measure in added)
    if rows.has_unit and (units or clipped):
        wholes = {clip: _whole(clip) for clip in map(clips.__getitem__, (m.name for m in added)) if not clip.exempt}
        per_unit = PerUnit(rows, added, clips, wholes)
        groups = per_unit.sql()
    else:
        groups = _plain(rows, added)
    columns = [f"m{i}" for i in range(len(added))]
    if distinct:
        groups = _beside(rows, groups, columns, [distinct_sql(rows, measure) for measure in distinct])
    names = {m.name: column for m, column in zip(added, columns, strict=True)}
    names |= {measure.name: f"d{i}" for i, measure in enumerate(distinct)}
    chosen = [*rows.keys, *(names[measure.name] for measure in bounded.measures)]
    if bounded.presence is not None:
        return f"SELECT {', '.join((*chosen, 'presence'))} FROM ({groups}) AS a WHERE presence > 0"
    return f"SELECT {', '.join(chosen) or '1 AS one'} FROM ({groups}) AS a" if distinct else groups


def _whole(clip: Clip) -> Whole:
    if clip.bound is None:
        raise InputError(f"the bound of {', '.join(clip.names)} was not chosen yet")
    return whole_clip(clip, clip.bound)


def _plain(rows: Rows, measures: tuple[Measure, ...]) -> str:
    """One GROUP BY over the rows, each of which is its own unit, or needs no bounding."""
    rows, having = rows.loosened()
    measured = Measured(rows, measures)
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
