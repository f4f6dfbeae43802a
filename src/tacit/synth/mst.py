"""MST: a tree of pairs. Columns are measured, pairs are chosen that join them into a tree, and these are measured.

After McKenna, Miklau and Sheldon (2021), with other shares of ρ and a score that knows of noise. The score of a pair is
how far its table is from that of independent columns, in l1, less half of what noise will leave of it; it moves by 1
where a unit comes or goes, and by 2 where one is replaced (docs/theory/synth-mst.md). Categories with a noisy count
below two standard deviations are measured together from then on.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.program import Adaptive, Step
from tacit.synth.counts import Reach
from tacit.synth.fit import CellZeros, NoisyTable, fit, total_of
from tacit.synth.method import (
    NOISE,
    Counts,
    Merges,
    Method,
    Round,
    Selected,
    Told,
    measured,
    measuring_step,
    selecting_step,
    worth,
)
from tacit.synth.sample import Codes
from tacit.synth.tree import Clique

__all__ = ["MST", "MergedCounts", "merged_table", "merges_of", "pair_scores"]

COLUMNS, CHOICE, PAIRS = Fraction(7, 20), Fraction(1, 20), Fraction(12, 20)  # of ρ; to choose needs little
LEFT = 0.5  # of the noise of a pair, after the fit
FEW = 2  # standard deviations


class MST(Method):
    """A tree over the columns."""

    name: ClassVar[str] = "mst"

    def steps(self, columns: int, rho: Fraction, reach: Reach) -> tuple[Step | Adaptive, ...]:
        if columns == 1:
            return (measuring_step("each column", rho, reach),)
        edges = columns - 1
        return (
            measuring_step("each column", rho * COLUMNS / columns, reach, times=columns),
            selecting_step("which pairs", rho * CHOICE / edges, reach, times=edges),
            measuring_step("each chosen pair", rho * PAIRS / edges, reach, times=edges),
        )

    def run(
        self,
        counts: Counts,
        sizes: Sequence[int],
        steps: Sequence[Step | Adaptive],
        *,
        reach: Reach,
        workload: Mapping[Clique, int],
        zeros: Sequence[CellZeros],
        told: Told,
    ) -> Selected:
        fixed = [step for step in steps if isinstance(step, Step)]
        columns = range(len(sizes))
        counts.prepare([*((place,) for place in columns), *combinations(columns, 2)])
        rhos = [(step.loss(relation=reach.relation, unit="unit").cost().rho or Fraction(0)) / step.times
                for step in fixed]  # fmt: skip
        singles = [measured(counts[(place,)], (place,), fixed[0], reach) for place in columns]
        rounds = [Round(clique=each.clique, sigma=float(each.sigma), rho=rhos[0], chosen=False) for each in singles]
        held = {place for each in zeros for place in each.clique}  # whose cells are named by declarations
        merges = {place: merge for place, merge in merges_of(singles).items() if place not in held}
        tables = [merged_table(each, merges) for each in singles]
        fewer = [int(merges[place].max()) + 1 if place in merges else sizes[place] for place in columns]
        seen = MergedCounts(counts, sizes, merges)
        if len(sizes) > 1:
            scores = pair_scores(seen, tables, total_of(singles), fixed[2], reach)
            for place, pair in enumerate(_tree(scores, len(sizes), fixed[1])):
                table = measured(seen[pair], pair, fixed[2], reach)
                tables.append(table)
                rounds.append(Round(clique=pair, sigma=float(table.sigma), rho=rhos[1] + rhos[2], chosen=True))
                told((place + 1) / len(sizes))
        model = fit(fewer, tables, zeros=zeros)
        return Selected(tables=(*singles, *tables[len(singles) :]), model=model, rounds=tuple(rounds), merges=merges)

    def expected_sigma(self, columns: int, rho: Fraction, relation_factor: float) -> float:
        return relation_factor * sqrt(max(1, columns - 1) / float(2 * PAIRS * rho))


def pair_scores(
    counts: "MergedCounts", columns: Sequence[NoisyTable], total: float, measuring: Step, reach: Reach
) -> dict[Clique, int]:
    """What each pair would be worth, beside columns that are independent of each other."""
    sigma = float(getattr(measuring.mechanism, "sigma", 0)) / reach.one
    kept = [np.maximum(each.counts, 0) for each in columns]
    alone = [each / max(1.0, float(each.sum())) for each in kept]
    return {
        (a, b): worth(
            counts[(a, b)],
            total * np.outer(alone[a], alone[b]),
            reach,
            noise=LEFT * NOISE * sigma * alone[a].size * alone[b].size,
        )
        for a, b in combinations(range(len(columns)), 2)
    }


def _tree(scores: Mapping[Clique, int], columns: int, step: Step) -> list[Clique]:
    """Pair after pair, each drawn among those that join two parts of what is joined already."""
    part = list(range(columns))
    found: list[Clique] = []
    while len(found) < columns - 1:
        joining = [(a, b) for a, b in scores if part[a] != part[b]]
        a, b = joining[step.mechanism.sample([scores[each] for each in joining])]
        part = [part[a] if each == part[b] else each for each in part]
        found.append((a, b))
    return found


def merges_of(singles: Sequence[NoisyTable]) -> dict[int, Codes]:
    """The rare cells of each column go into one, where there are two of them or more."""
    found = {}
    for each in singles:
        rare = each.counts < FEW * np.sqrt(each.variance)
        if rare.sum() < 2:
            continue
        merge = np.cumsum(~rare) - 1
        merge[rare] = int((~rare).sum())
        found[each.clique[0]] = merge.astype(np.int64)
    return found


def merged_table(single: NoisyTable, merges: Merges) -> NoisyTable:
    """The measured column after the merge: the merged cell has the noise of all that are in it."""
    merge = merges.get(single.clique[0])
    if merge is None:
        return single
    counts = np.bincount(merge, weights=single.counts).astype(np.float64)
    sigma = np.sqrt(np.bincount(merge, weights=single.variance))
    return NoisyTable(clique=single.clique, counts=counts, sigma=sigma)


class MergedCounts:
    """True marginals after the merge, which is public by then."""

    def __init__(self, counts: Counts, sizes: Sequence[int], merges: Merges) -> None:
        self._counts, self._sizes, self._merges = counts, sizes, merges

    def __getitem__(self, clique: Clique) -> Codes:
        table = self._counts[clique]
        for axis, place in enumerate(clique):
            merge = self._merges.get(place)
            if merge is not None:
                kept = np.zeros((*table.shape[:axis], int(merge.max()) + 1, *table.shape[axis + 1 :]), np.int64)
                place_of: Any = (*[slice(None)] * axis, merge)
                np.add.at(kept, place_of, table)
                table = kept
        return table
