"""A synthetic table that was released: rows as often as one likes, tables with intervals, and its measurements.

All of it follows from the release alone, and costs nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tacit.base import InputError, cached_property
from tacit.desk import ContentRelease, Release
from tacit.synth.domain import Domain
from tacit.synth.fit import FittedModel, NoisyTable
from tacit.synth.job import unpacked
from tacit.synth.marginal import FittedMarginal, estimate_of, spread_back
from tacit.synth.method import Round
from tacit.synth.rows import SyntheticRows
from tacit.synth.sample import Codes, sampled, uniforms
from tacit.synth.tree import Clique, Floats, JunctionTree, expanded

if TYPE_CHECKING:
    from tacit.desk.certificate.certificate import Certificate
    from tacit.synth.report import SynthesisReport

__all__ = ["SyntheticTable", "table_of_release"]

MOST_ROWS = 100_000_000
MOST_CELLS = 1_000_000  # of a table that is shown


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SyntheticTable:
    """One table of a release. `where` gives the same table under a condition."""

    name: str
    method: str
    release: Release
    domain: Domain
    model: FittedModel
    tables: tuple[NoisyTable, ...]
    rounds: tuple[Round, ...]
    merges: Mapping[int, Codes]
    told: Mapping[str, Any] = field(default_factory=dict)  # what the plan said beside the program
    certificate: "Certificate | None" = None
    kept: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # cells that a condition leaves, by column

    @classmethod
    def of(cls, release: Release, *, part: int = 0, certificate: "Certificate | None" = None) -> "SyntheticTable":
        """What is in a release, or in the bytes that were kept of one."""
        if not isinstance(release, ContentRelease) or release.kind != "rows":
            raise InputError("this release is not a synthetic table")
        head, arrays = unpacked(release.content)
        return table_of_release(release, head, arrays, part, certificate)

    @property
    def cached(self) -> bool:
        """Whether the release was known already, and nothing was paid now."""
        return self.release.cached

    @property
    def units(self) -> int:
        """The noisy number of units, or the one that was declared."""
        declared: int | None = self.told.get("rows")
        return declared if declared is not None else max(0, round(self.model.total))

    # --- rows

    def rows(self, count: int | None = None) -> SyntheticRows:
        """So many rows, by default as many as there are units; of a table under a condition, as many as fit it."""
        return self.shown(self.drawn(count))

    def drawn(self, count: int | None = None) -> list[Codes]:
        """The cells of so many rows, column by column."""
        wanted = round(self.units * self.share) if count is None else count
        if type(wanted) is not int or not 0 < wanted <= MOST_ROWS:
            told = "" if count is not None else ": the noisy number of units is 0, so say how many rows you want"
            raise InputError(f"rows must be a whole number from 1 to {MOST_ROWS:,}, not {wanted!r}{told}")
        codes = sampled(self.model.tree, self._beliefs, wanted)
        return [self.unmerged(place, codes[place]) for place in range(len(self.domain.columns))]

    def shown(
        self, codes: Sequence[Codes], keys: Mapping[str, Any] | None = None, *, without: Sequence[str] = ()
    ) -> SyntheticRows:
        """Drawn cells as rows, with columns of keys before them."""
        columns: dict[str, Any] = {name: pa.array(values) for name, values in (keys or {}).items()}
        for each, own in zip(self.domain.columns, codes, strict=True):
            if each.name not in without:
                columns[each.name] = each.arrow(own)
        return SyntheticRows(table=pa.table(columns), about=self.about, certificate=self.certificate)

    def unmerged(self, place: int, codes: Codes) -> Codes:
        """Cells that were measured together are drawn apart, evenly among those that the condition leaves."""
        merge = self.merges.get(place)
        if merge is None:
            return codes
        left = self._allowed(place)
        order = np.argsort(merge, kind="stable")
        order = order[left[order]]
        sizes = np.bincount(merge[order], minlength=int(merge.max()) + 1)
        starts = np.cumsum(sizes) - sizes
        drawn = np.floor(uniforms(len(codes)) * sizes[codes]).astype(np.int64)
        return np.asarray(order[starts[codes] + drawn])

    def _allowed(self, place: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        left = np.ones(self.domain.sizes[place], np.bool_)
        if place in self.kept:
            left[:] = False
            left[list(self.kept[place])] = True
        return left

    # --- conditions

    def where(self, **conditions: Any) -> "SyntheticTable":
        """The same under a condition: a value, a list of values, or for a number or a date a pair of ends."""
        kept = dict(self.kept)
        for name, wanted in conditions.items():
            place = self.domain.place(name)
            found = self.domain.columns[place].find(wanted)
            kept[place] = tuple(sorted(set(found) & set(kept.get(place, found))))
        made = replace(self, kept=kept)
        if made.share <= 0:
            raise InputError("no row of the model fits these conditions: take one of them away")
        return made

    @cached_property
    def _conditioned(self) -> tuple[list[Floats], float]:
        """The beliefs under the conditions, and how likely these are."""
        if not self.kept:
            return self.model.beliefs, 1.0
        tree, potentials = self.model.tree, list(self.model.potentials)
        for place in self.kept:
            left = self._allowed(place).astype(np.float64)
            merge = self.merges.get(place)
            part = left if merge is None else np.bincount(merge, weights=left) / np.bincount(merge)
            home = tree.home((place,))
            assert home is not None
            with np.errstate(divide="ignore"):
                potentials[home] = potentials[home] + expanded(np.log(part), (place,), tree.cliques[home])
        if any(float(each.max()) == -np.inf for each in potentials):
            return self.model.beliefs, 0.0
        _, whole = tree.beliefs(self.model.potentials)
        beliefs, some = tree.beliefs(potentials)
        return beliefs, float(np.exp(some - whole))

    @property
    def _beliefs(self) -> list[Floats]:
        return self._conditioned[0]

    @property
    def share(self) -> float:
        """The part of the units that fits the conditions, by the model."""
        return self._conditioned[1]

    # --- tables

    def marginal(self, *names: str, confidence: float = 0.95) -> FittedMarginal:
        """How many units have each combination of some columns: the model's counts, and intervals from the
        measurements."""
        if self.kept:
            raise InputError("intervals are of the whole table: ask for a marginal with the condition's columns in it")
        if not names or len(set(names)) < len(names):
            raise InputError("name at least one column, and each of them once")
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie between 0 and 1, not {confidence}")
        clique = self.domain.clique(names)
        if prod(self.domain.sizes[place] for place in clique) > MOST_CELLS:
            raise InputError(f"a table of {', '.join(names)} has more than {MOST_CELLS:,} cells: name fewer columns")
        estimate, error = estimate_of(clique, self.tables, self.merges, self.domain)
        order = [clique.index(self.domain.place(name)) for name in names]
        fitted = self.fitted(clique)
        return FittedMarginal(
            names=tuple(names),
            labels=tuple(self.domain.columns[clique[axis]].labels for axis in order),
            fitted=np.transpose(fitted, order),
            estimate=np.transpose(estimate, order),
            error=np.transpose(error, order),
            confidence=confidence,
        )

    def fitted(self, clique: Clique) -> Floats:
        """The model's counts over all cells of some columns."""
        return spread_back(self.model.counts(clique), clique, self.merges)

    @property
    def measurements(self) -> tuple[FittedMarginal, ...]:
        """The noisy tables themselves, in the order in which they were measured; each with its own noise."""
        found = []
        for each in self.tables:
            labels = tuple(
                self._labels(place, size) for place, size in zip(each.clique, each.counts.shape, strict=True)
            )
            error = np.broadcast_to(np.asarray(each.sigma, np.float64), each.counts.shape)
            found.append(
                FittedMarginal(
                    names=tuple(self.domain.names[place] for place in each.clique), labels=labels, fitted=each.counts,
                    estimate=each.counts, error=error, confidence=0.95,
                )
            )  # fmt: skip
        return tuple(found)

    def _labels(self, place: int, size: int) -> tuple[str, ...]:
        labels, merge = self.domain.columns[place].labels, self.merges.get(place)
        if merge is None or size == len(labels):
            return labels
        return tuple(
            " or ".join(labels[cell] for cell in np.flatnonzero(merge == each).tolist()) for each in range(size)
        )

    def measurements_json(self) -> list[dict[str, Any]]:
        """The same as plain data: columns, noise, and every noisy count."""
        return [
            {
                "columns": list(each.names), "labels": [list(labels) for labels in each.labels],
                "sigma": np.broadcast_to(each.error, each.fitted.shape).ravel().tolist(),
                "counts": each.fitted.ravel().tolist(),
            }
            for each in self.measurements
        ]  # fmt: skip

    # --- what it says of itself

    @property
    def rho(self) -> Fraction:
        """What the measurements cost."""
        return sum((each.rho for each in self.rounds), Fraction(0))

    @property
    def about(self) -> dict[str, Any]:
        """What a file of rows says of where it is from."""
        facts = self.release.facts
        told = {
            name: facts[name] for name in ("dataset", "unit", "relation", "cost", "ledger", "time") if name in facts
        }
        return {"table": self.name, "method": self.method, **told}

    def report(self) -> "SynthesisReport":
        """What was measured and how well the model fits it, with pictures. Needs the extra `plot` to be saved."""
        from tacit.synth.report import SynthesisReport

        return SynthesisReport(made=self)

    def __repr__(self) -> str:
        chosen = sum(each.chosen for each in self.rounds)
        under = " under a condition" if self.kept else ""
        return (
            f"<synthetic table {self.name!r}{under}: {len(self.domain.columns)} columns, about {self.units:,} units, "
            f"{chosen} tables chosen by {self.method}>"
        )


def table_of_release(
    release: Release, head: Mapping[str, Any], arrays: Mapping[str, Any], part: int, certificate: "Certificate | None"
) -> SyntheticTable:
    """One part of what was stored."""
    own, prefix = head["parts"][part], f"{part}."
    tree = JunctionTree(tuple(own["sizes"]), tuple(tuple(each) for each in own["cliques"]), tuple(own["parents"]))
    potentials = [arrays[f"{prefix}potential.{place}"] for place in range(len(tree.cliques))]
    model = FittedModel.of(tree, potentials, total=own["total"], loss=own["loss"], gap=own["gap"])
    tables = tuple(
        NoisyTable(clique=tuple(clique), counts=arrays[f"{prefix}counts.{i}"], sigma=arrays[f"{prefix}sigma.{i}"])
        for i, clique in enumerate(own["measured"])
    )
    rounds = tuple(
        Round(clique=tuple(each["clique"]), sigma=each["sigma"], rho=Fraction(each["rho"]), chosen=each["chosen"])
        for each in own["rounds"]
    )
    return SyntheticTable(
        name=own["name"], method=own["method"], release=release, domain=Domain.from_json(own["domain"]), model=model,
        tables=tables, rounds=rounds, merges={int(place): arrays[f"{prefix}merge.{place}"] for place in own["merges"]},
        told=head["about"], certificate=certificate,
    )  # fmt: skip
