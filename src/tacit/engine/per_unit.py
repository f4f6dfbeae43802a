"""The statement that looks at units.

`ug` adds up whole numbers per unit and group, `t` takes each unit's norms from that, `h` keeps the units that are over
some bound with their weights, and only those are joined back. There is one `ug` for all clips of a question.

A unit with few rows cannot be over any bound (`WholeClip.rows`). Where each row just adds up, all such units of a group
are one line of `ug`, whose unit is NULL and whose totals `a0 a1 …` are as wide as sums are; how many rows each unit has
is counted first. That changes no answer, and whether it is worthwhile follows from the bounds alone.

Where all that matters of a unit is how many groups it is in (units by group, or keys that nobody listed), lines of `ug`
are counted by group and that number `k`, and weights are worked out once for each such pair.

Where an engine works a table of WITH out anew at each place (Spark), rows would be read and exchanged once more for
`t`: there norms stand beside the lines of `ug`, as windows over the lines of a unit. Nor are rows exchanged to join
them with busy units: every task holds those. Where there are more than `MOST_BUSY`, the longer way is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.base import InputError, cached_property
from tacit.engine.clip import WholeClip
from tacit.engine.dialect import Dialect
from tacit.engine.measure import MeasureSums, PartSums, presence_proposal, presence_weight
from tacit.engine.owner import OWNER_KEY, UNIT
from tacit.engine.rows import WORTHWHILE, KeyedRows, Rows
from tacit.plan.bounded import Clip, Measure

__all__ = ["PerUnit"]

MANY = 3  # measures that are worth a count of rows by key
MOST_BUSY = 2**20  # keys of units that are looked at on the shorter way: engines hold them in memory
OVER_UNIT = " OVER (PARTITION BY u)"


@dataclass(frozen=True)
class PerUnit:
    """Measures over units, each with its clip; `wholes` are the clips that are not exempt, in whole numbers."""

    rows: Rows
    measures: tuple[Measure, ...]
    clips: Mapping[str, Clip]
    wholes: Mapping[Clip, WholeClip]

    @cached_property
    def columns(self) -> dict[str, str]:
        return {measure.name: f"m{i}" for i, measure in enumerate(self.measures)}

    @cached_property
    def keys(self) -> list[str]:
        return [f"ug.{key}" for key in self.rows.keys]

    @cached_property
    def kept(self) -> bool:
        """Whether the engine keeps a table of WITH that is named twice."""
        return bool(self.rows.dialect.materialized)

    @cached_property
    def named(self) -> dict[str, Measure]:
        return {measure.name: measure for measure in self.measures}

    def constant(self, measure: Measure) -> bool:
        """Whether a measure is the same for each unit in each group, so that it needs no column."""
        alone = self.clips[measure.name].names == (measure.name,)
        return measure.kind == "units" and measure.value is None and alone

    def sizes(self, clip: Clip) -> list[str | int]:
        """The columns of a clip's measures, or what stands for them."""
        return [self.named[name].high if self.constant(self.named[name]) else self.columns[name] for name in clip.names]

    def source(self) -> str:
        """`ug`."""
        by = ", ".join(("u", *self.rows.keys))
        measured, rows = MeasureSums(self.rows, self.measures), ""
        if self.rows.keyed is None:
            rows = measured.select(unit=True)
        else:
            measured, rows = PartSums(self.rows, self.measures), self._of_owners(self.rows.keyed)
        summed = [(self._sum(measured, measure), measure) for measure in self.measures]
        chosen = "".join(f", {sql} AS {self.columns[m.name]}" for sql, m in summed if not self.constant(m))
        return f"SELECT {by}{chosen} FROM ({rows}) AS s GROUP BY {by}"

    def _of_owners(self, keyed: KeyedRows) -> str:
        """Rows that were added up by the key of their link, once for each unit that it leads to."""
        measured, name = MeasureSums(keyed.rows, self.measures), self.rows.dialect.identifier
        by = ", ".join(("u", *self.rows.keys))
        parts = [f"p{i}" for i, measure in enumerate(self.measures) if not self.constant(measure)]
        chosen = "".join(f", {measured.part(self.measures[int(part[1:])])} AS {part}" for part in parts)
        added = f"SELECT {by}{chosen} FROM ({measured.select(unit=True)}) AS l GROUP BY {by}"
        columns = ", ".join((f"o.{name(UNIT)} AS u", *(f"a.{each}" for each in (*self.rows.keys, *parts))))
        return f"SELECT {columns} FROM ({added}) AS a JOIN ({keyed.owners}) AS o ON a.u = o.{name(OWNER_KEY)}"

    def _sum(self, measured: MeasureSums, measure: Measure) -> str:
        clip = self.clips[measure.name]
        limit = None if clip.exempt else self.wholes[clip].limits()[clip.names.index(measure.name)]
        if measure.kind == "units":
            if limit is not None and abs(measure.high) > limit:
                raise InputError(f"measure {measure.name!r} counts a unit as more than 2^32 steps: use a coarser step")
            return measured.present(measure)
        return measured.total(measure) if limit is None else measured.clamped(measure, limit)

    def few(self) -> int:
        """So many rows of a unit need no look; zero where units must be told apart anyway."""
        told_apart = self.rows.bounded.presence is not None or any(m.kind != "sum" for m in self.measures)
        if told_apart or not self.wholes:
            return 0
        sizes = {m.name: max(abs(m.low), abs(m.high)) for m in self.measures}
        return min(whole.rows([sizes[name] for name in clip.names]) for clip, whole in self.wholes.items())

    def sql(self) -> str:
        if all(map(self.constant, self.measures)) and (self.wholes or self.rows.bounded.presence is not None):
            return self._of_alike()
        busy = self.rows.busy(self.few()) if self.kept and self.rows.keyed is None else ""
        return "WITH {} {}".format(*self._of_busy(busy)) if busy else self._of_all()

    def light(self) -> str:
        """A shorter way to the same totals; nothing where it is not shorter. It holds where the last column, `odd`, is
        zero."""
        if len(self.measures) < len(self.rows.bounded.measures):
            return ""  # others stand beside these
        if self.rows.keyed is not None:
            return self._light_by_key(self.rows.keyed)
        busy = "" if self.kept else self.rows.busy(self.few())
        if not busy:
            return ""
        parts = self._of_busy("SELECT u FROM d", f"{_too_many()} AS odd")
        return "WITH d AS ({} LIMIT {}), {} {}".format(busy, MOST_BUSY + 1, *parts)

    def _light_by_key(self, keyed: KeyedRows) -> str:
        """Where a link leads each row to one unit.

        Rows are added up without their units, and those of busy units once more by unit, from the counts of rows by
        key alone. Each key of a row has to lead to one unit: `odd` is how many rows lead to nobody, and how many to one
        more than one; and one more where too many keys are of busy units.
        """
        few, name = self.few(), self.rows.dialect.identifier
        if few < WORTHWHILE or len(self.measures) < MANY:
            return ""
        dialect, unit, key = self.rows.dialect, f"o.{name(UNIT)}", f"o.{name(OWNER_KEY)}"
        loose, inside = keyed.rows.loosened("n")
        every, measured = MeasureSums(loose, self.measures), MeasureSums(keyed.rows, self.measures)
        columns, keys, shared = list(self.columns.values()), self.rows.keys, dialect.materialized
        totals = [f"{every.total(measure)} AS {self.columns[measure.name]}" for measure in self.measures]
        plain = f"SELECT {', '.join((*keys, *totals))}, COUNT(*) AS n FROM ({every.select(unit=False)}) AS s{_by(keys)}"
        counted = f"SELECT {name(UNIT)} AS k, COUNT(*) AS n FROM ({loose.source}) AS r GROUP BY {name(UNIT)}"
        by_unit = (
            f"SELECT {unit} AS u, SUM(c.n) AS n FROM ({counted}) AS c LEFT JOIN ({keyed.owners}) AS o ON c.k = {key} "
            f"GROUP BY {unit}"
        )
        busy = (
            f"SELECT {key} AS k, b.u FROM ({keyed.owners}) AS o JOIN b ON {unit} = b.u WHERE b.n > {few} "
            f"LIMIT {MOST_BUSY + 1}"
        )
        by = ", ".join(("d.u", *(f"s.{each}" for each in keys)))
        sums = [f"{self._sum(measured, measure)} AS {self.columns[measure.name]}" for measure in self.measures]
        sums += [f"{measured.total(measure)} AS a{i}" for i, measure in enumerate(self.measures)]
        source = (
            f"SELECT {by}, {', '.join(sums)} FROM ({measured.select(unit=True)}) AS s JOIN d ON s.u = d.k GROUP BY {by}"
        )
        told = [
            f"{self._total(measure)} - COALESCE(SUM(ug.a{i}), 0) AS {self.columns[measure.name]}"
            for i, measure in enumerate(self.measures)
        ]
        tables, changed = self._weighted(source, told)
        where = f" WHERE {inside}" if inside else ""
        both = f"SELECT {', '.join((*keys, *columns))} FROM p{where} UNION ALL {changed}"
        odd = (
            "(SELECT COUNT(*) FROM b WHERE u IS NULL) + "
            f"COALESCE((SELECT SUM(n) FROM b), 0) - COALESCE((SELECT SUM(n) FROM p), 0) + {_too_many()}"
        )
        return (
            f"WITH p AS{shared} ({plain}), b AS{shared} ({by_unit}), d AS{shared} ({dialect.few(busy, ('k', 'u'))}), "
            f"{tables} SELECT {', '.join((*keys, *(f'SUM({each}) AS {each}' for each in columns)))}, {odd} AS odd "
            f"FROM ({both}) AS e{_by(keys)}"
        )

    def _of_alike(self) -> str:
        """Where units differ in nothing but their number of groups: `c` units of a group are in `k` groups each."""
        dialect, presence, keys = self.rows.dialect, self.rows.bounded.presence, self.rows.keys
        made, told, read = ["c"], [], ["*"]
        for measure, column in self.columns.items():
            high, clip = self.named[measure].high, self.clips[measure]
            value = f"CAST({high} AS BIGINT)"
            if not clip.exempt:
                read.append(f"{self.wholes[clip].size_of(high, 'k', dialect)} AS n{column}")
                value = _scaled(value, f"({self.wholes[clip].weight(f'n{column}', dialect)})", dialect)
            made.append(f"{value} AS v{column}")
            told.append(f"COALESCE(SUM({dialect.product('c', f'v{column}')}), 0) AS {column}")
        if presence is not None:
            read.append(f"{presence_proposal(presence, 'k', dialect)} AS p")
            made.append(f"{presence_weight(presence, 'k', 'p')} AS v")
            told.append(f"COALESCE(SUM({dialect.product('c', 'v')}), 0) AS presence")
        by = "".join(f", {key}" for key in self.keys)
        if self.kept:
            tables = f"ug AS{dialect.materialized} ({self.source()}), t AS (SELECT u, COUNT(*) AS k FROM ug GROUP BY u)"
            counted = f"SELECT t.k{by}, COUNT(*) AS c FROM ug JOIN t ON ug.u = t.u GROUP BY t.k{by}"
        else:
            tables = f"ug AS (SELECT *, COUNT(*){OVER_UNIT} AS k FROM ({self.source()}) AS g)"
            counted = f"SELECT ug.k{by}, COUNT(*) AS c FROM ug GROUP BY ug.k{by}"
        weighted = f"SELECT {', '.join((*keys, *made))} FROM (SELECT {', '.join(read)} FROM ({counted}) AS g) AS q"
        return f"WITH {tables} SELECT {', '.join((*keys, *told))} FROM ({weighted}) AS w{_by(keys)}"

    def _of_busy(self, busy: str, *more: str) -> tuple[str, str]:
        """Where only these units are looked at; `more` columns stand behind the totals."""
        rows, having = self.rows.loosened()
        measured = MeasureSums(rows, self.measures)
        chosen = ["c.u AS u", *(f"s.{key}" for key in rows.keys)]
        for i, measure in enumerate(self.measures):
            chosen.append(f"{self._sum(measured, measure)} AS {self.columns[measure.name]}")
            chosen.append(f"CASE WHEN c.u IS NULL THEN {measured.total(measure)} ELSE 0 END AS a{i}")
        by = ", ".join(("c.u", *(f"s.{key}" for key in rows.keys)))
        source = (
            f"SELECT {self.rows.dialect.held}{', '.join(chosen)} "
            f"FROM ({measured.select(unit=True)}) AS s LEFT JOIN ({busy}) AS c ON s.u = c.u "
            f"GROUP BY {by}{f' HAVING {having}' if having else ''}"
        )
        told = [
            f"{self._total(measure, 'ug.u IS NOT NULL')} + COALESCE(SUM(ug.a{i}), 0) AS {self.columns[measure.name]}"
            for i, measure in enumerate(self.measures)
        ]
        return self._weighted(source, [*told, *more])  # no weight is asked of the line whose unit is NULL

    def _of_all(self) -> str:
        told = [f"{self._total(measure)} AS {self.columns[measure.name]}" for measure in self.measures]
        if not self.wholes and self.rows.bounded.presence is None:
            return f"SELECT {', '.join((*self.keys, *told))} FROM ({self.source()}) AS ug{_by(self.keys)}"
        return "WITH {} {}".format(*self._weighted(self.source(), told))

    def _weighted(self, source: str, told: list[str]) -> tuple[str, str]:
        """`ug`, the norms of its units, and its totals `told` beside the weights of those that are over a bound."""
        dialect, presence, over = self.rows.dialect, self.rows.bounded.presence, "" if self.kept else OVER_UNIT
        wholes = list(self.wholes.items())
        chosen = [*self.keys, *told]
        sizes = [f"{whole.size(self.sizes(clip), dialect, over)} AS n{i}" for i, (clip, whole) in enumerate(wholes)]
        weights = [f"{whole.weight(f'n{i}', dialect)} AS w{i}" for i, (_, whole) in enumerate(wholes)]
        heavy = [f"n{i} > {whole.threshold}" for i, (_, whole) in enumerate(wholes)]
        sized = "t"
        if presence is not None:
            sizes.append(f"COUNT(*){over} AS k")
            heavy.append("k > 1")
            sized = f"(SELECT *, {presence_proposal(presence, 'k', dialect)} AS q FROM t) AS q"
            weights.append(f"{presence_weight(presence, 'k', 'q')} AS p")
            chosen.append(f"{dialect.sum(f'COALESCE({self._weights}.p, {presence.one})')} AS presence")
        if self.kept:
            tables = (
                f"ug AS{dialect.materialized} ({source}), t AS (SELECT u, {', '.join(sizes)} FROM ug GROUP BY u), "
                f"h AS (SELECT u, {', '.join(weights)} FROM {sized} WHERE {' OR '.join(heavy)})"
            )
            return tables, f"SELECT {', '.join(chosen)} FROM ug LEFT JOIN h ON ug.u = h.u{_by(self.keys)}"
        beside = f"t AS (SELECT *, {', '.join(sizes)} FROM ({source}) AS g)"
        tables = f"{beside}, ug AS (SELECT *, {', '.join(weights)} FROM {sized})"
        return tables, f"SELECT {', '.join(chosen)} FROM ug{_by(self.keys)}"

    @property
    def _weights(self) -> str:
        """The table that has weights."""
        return "h" if self.kept else "ug"

    def _total(self, measure: Measure, where: str = "") -> str:
        """The sum over the units of a group, weighted; of those that `where` says."""
        dialect = self.rows.dialect
        value = f"CAST({measure.high} AS BIGINT)" if self.constant(measure) else f"ug.{self.columns[measure.name]}"
        clip = self.clips[measure.name]
        if not clip.exempt:
            value = _scaled(value, f"{self._weights}.w{list(self.wholes).index(clip)}", dialect)
        if where:
            value = f"CASE WHEN {where} THEN {value} END"
        return f"COALESCE({f'SUM({value})' if clip.exempt else dialect.sum(value)}, 0)"


def _too_many() -> str:
    """One where `d` has more keys than are held."""
    return f"(SELECT CASE WHEN COUNT(*) > {MOST_BUSY} THEN 1 ELSE 0 END FROM d)"


def _by(keys: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _scaled(value: str, weight: str, dialect: Dialect) -> str:
    """A whole number times its weight toward zero, or as it is where there is no weight."""
    times = dialect.truncated.format(f"{dialect.to_double(value)} * {weight}")
    return f"CASE WHEN {weight} IS NULL THEN {value} ELSE {times} END"
