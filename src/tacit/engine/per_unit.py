"""The statement that looks at units.

`ug` adds up whole numbers per unit and group, `t` takes each unit's norms from that, `h` keeps the units that are over
some bound with their weights, and only those are joined back. There is one `ug` for all clips of a question.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tacit.base import InputError
from tacit.engine.clip import Whole
from tacit.engine.measure import Measured
from tacit.engine.presence import presence_proposal, presence_weight
from tacit.engine.rows import Rows
from tacit.plan.bounded import Clip, Measure

__all__ = ["PerUnit"]


@dataclass(frozen=True)
class PerUnit:
    """Measures over units, each with its clip; `wholes` are the clips that are not exempt, in whole numbers."""

    rows: Rows
    measures: tuple[Measure, ...]
    clips: Mapping[str, Clip]
    wholes: Mapping[Clip, Whole]

    @cached_property
    def columns(self) -> dict[str, str]:
        return {measure.name: f"m{i}" for i, measure in enumerate(self.measures)}

    def constant(self, measure: Measure) -> bool:
        """Whether a measure is the same for each unit in each group, so that it needs no column."""
        alone = self.clips[measure.name].names == (measure.name,)
        return measure.kind == "units" and measure.value is None and alone

    def sizes(self, clip: Clip) -> list[str | int]:
        """The columns of a clip's measures, or what stands for them."""
        named = {measure.name: measure for measure in self.measures}
        return [named[name].high if self.constant(named[name]) else self.columns[name] for name in clip.names]

    def source(self) -> str:
        """`ug`."""
        measured = Measured(self.rows, self.measures)
        by = ", ".join(("u", *self.rows.keys))
        summed = ((self._summed(measured, measure), measure) for measure in self.measures)
        chosen = "".join(f", {sql} AS {self.columns[m.name]}" for sql, m in summed if not self.constant(m))
        return f"SELECT {by}{chosen} FROM ({measured.select(unit=True)}) AS s GROUP BY {by}"

    def _summed(self, measured: Measured, measure: Measure) -> str:
        clip = self.clips[measure.name]
        limit = None if clip.exempt else self.wholes[clip].limits()[clip.names.index(measure.name)]
        if measure.kind == "units":
            if limit is not None and abs(measure.high) > limit:
                raise InputError(f"measure {measure.name!r} counts a unit as more than 2^32 steps: use a coarser step")
            return measured.present(measure)
        return measured.total(measure) if limit is None else measured.clamped(measure, limit)

    def sql(self) -> str:
        words, presence = self.rows.words, self.rows.bounded.presence
        wholes = list(self.wholes.items())
        by = f" GROUP BY {', '.join(f'ug.{key}' for key in self.rows.keys)}" if self.rows.keys else ""
        chosen = [*(f"ug.{key}" for key in self.rows.keys), *(self._total(measure) for measure in self.measures)]
        if not wholes and presence is None:
            return f"SELECT {', '.join(chosen)} FROM ({self.source()}) AS ug{by}"
        sizes = [f"{whole.size(self.sizes(clip), words)} AS n{i}" for i, (clip, whole) in enumerate(wholes)]
        weights = [f"{whole.weight(f'n{i}', words)} AS w{i}" for i, (_, whole) in enumerate(wholes)]
        over = [f"n{i} > {whole.threshold}" for i, (_, whole) in enumerate(wholes)]
        heavy = "t"
        if presence is not None:
            sizes.append("COUNT(*) AS k")
            over.append("k > 1")
            columns = "".join(f"n{i}, " for i in range(len(wholes)))
            heavy = f"(SELECT u, k, {columns}{presence_proposal(presence, 'k', words)} AS p FROM t) AS q"
            weights.append(f"{presence_weight(presence, 'k', 'p')} AS p")
            chosen.append(f"{words.sum(f'COALESCE(h.p, {presence.one})')} AS presence")
        return (
            f"WITH ug AS{words.materialized} ({self.source()}), "
            f"t AS (SELECT u, {', '.join(sizes)} FROM ug GROUP BY u), "
            f"h AS (SELECT u, {', '.join(weights)} FROM {heavy} WHERE {' OR '.join(over)}) "
            f"SELECT {', '.join(chosen)} FROM ug LEFT JOIN h ON ug.u = h.u{by}"
        )

    def _total(self, measure: Measure) -> str:
        words, name = self.rows.words, self.columns[measure.name]
        value = f"CAST({measure.high} AS BIGINT)" if self.constant(measure) else f"ug.{name}"
        clip = self.clips[measure.name]
        if clip.exempt:
            return f"COALESCE(SUM({value}), 0) AS {name}"
        weight = f"h.w{list(self.wholes).index(clip)}"
        scaled = words.truncated(f"{words.to_double(value)} * {weight}")
        return f"COALESCE({words.sum(f'CASE WHEN {weight} IS NULL THEN {value} ELSE {scaled} END')}, 0) AS {name}"
