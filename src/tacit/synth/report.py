"""A synthetic table as a page: what was measured and what it cost, and how the model fits it. Nothing is read for it.

Everything is compared with the noisy measurements, which are released anyway. A comparison with the true rows would be
one more question about them, to be asked and paid as such.
"""

from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from tacit.base import TacitError
from tacit.desk.show import number
from tacit.synth.made import SyntheticTable
from tacit.synth.marginal import estimate_of
from tacit.synth.tree import Clique

__all__ = ["PairFit", "SynthesisReport"]

WARNING = (
    "These rows are drawn from a model. An interval that is computed from them as if they were data is too short: at a "
    "nominal 95 % it covers in about 83 % of cases even where no noise was added, and less where noise was. Use "
    "marginal(…), whose intervals come from the measurements."
)
PROTECTED = {"add_remove": "is in the table or not", "replace": "has these values or others"}
COLUMNS, CELLS = 12, 24  # that are drawn


@dataclass(frozen=True, kw_only=True)
class PairFit:
    """A pair of columns: how far the model is from its measurement, as a share of all units, and how far noise alone
    would be; None where it was not measured."""

    clique: Clique
    apart: float | None
    noise: float | None


@dataclass(frozen=True, kw_only=True)
class SynthesisReport:
    """What there is to say of a synthetic table."""

    made: SyntheticTable
    more: tuple[str, ...] = ()

    def pairs(self) -> list[PairFit]:
        """Every pair of columns."""
        found = []
        made, total = self.made, max(1.0, self.made.model.total)
        for clique in combinations(range(len(made.domain.columns)), 2):
            estimate, error = estimate_of(clique, made.tables, made.merges, made.domain)
            known = ~np.isnan(error)
            if not known.any():
                found.append(PairFit(clique=clique, apart=None, noise=None))
                continue
            apart = float(np.abs(estimate - made.fitted(clique))[known].sum()) / 2 / total
            noise = float(error[known].sum()) * sqrt(2 / pi) / 2 / total
            found.append(PairFit(clique=clique, apart=apart, noise=noise))
        return found

    def json(self) -> dict[str, Any]:
        """The same as plain data."""
        made, names = self.made, self.made.domain.names
        return {
            **made.about,
            "units": made.units,
            "gap": made.model.gap,
            "cells": made.model.tree.cells,
            "rounds": [each.json() | {"columns": [names[at] for at in each.clique]} for each in made.rounds],
            "pairs": [
                {"columns": [names[at] for at in each.clique], "apart": each.apart, "noise": each.noise}
                for each in self.pairs()
            ],
            "warning": WARNING,
            "more": list(self.more),
        }

    def html(self) -> str:
        """The page. Needs the extra `plot`."""
        try:
            from tacit.plot.report import ReportTable, Section, pictured, report
            from tacit.plot.synthesis import JoinedPair, column_bars, heat, joined, round_costs
        except ImportError as missing:
            raise TacitError(f"a report needs {missing.name}: pip install 'tacit[plot]'") from missing
        made, names, fits = self.made, self.made.domain.names, self.pairs()
        shown = [JoinedPair(names[each.clique[0]], names[each.clique[1]], each.apart) for each in fits]
        told = [each for each in shown if each.error is not None]
        noise = [each.noise for each in fits if each.noise is not None]
        usual = f"{float(np.median(noise)):.1%}" if noise else "–"
        sections = [
            Section(
                title="What was measured together",
                lines=(
                    f"{len(told)} of {len(fits)} pairs were measured; what joins the others is inferred from these.",
                ),
                picture=pictured(
                    joined(names, told, title=("Pairs that were measured", "a line says how far the model is from it")),
                    "columns on a circle, with lines between those that were measured together",
                ),
                remarks=(
                    "The share at a line is half of the sum of all differences between the synthetic table and the "
                    f"noisy one. Noise alone makes about {usual} of difference: less than that is no error.",
                ),
            ),
            Section(
                title="Columns",
                lines=("Noisy counts with their 95 % intervals, and the synthetic table beside them.",),
                picture=pictured(
                    column_bars(self._bars(), title=("Columns",)), "counts of each cell, column by column"
                ),
                remarks=self._left_out(),
            ),
            Section(
                title="Pairs",
                lines=("Grey pairs were not measured: there is nothing to compare them with, and no interval.",),
                picture=pictured(
                    heat(names, shown, title=("How far pairs are from their measurement", "as a share of all units")),
                    "a square for each pair of columns",
                ),
            ),
            Section(
                title="What it cost",
                lines=(f"ρ = {float(made.rho):.4g} in {len(made.rounds)} measurements.",),
                picture=pictured(round_costs(self._costs(), title=("ρ of each measurement",)), "a bar a measurement"),
                table=ReportTable(
                    ("measured", "noise (σ, units)", "ρ"),
                    tuple(
                        (" × ".join(names[at] for at in each.clique), f"{each.sigma:,.1f}", f"{float(each.rho):.3g}")
                        for each in made.rounds
                    ),
                ),
            ),
        ]
        facts = made.release.facts
        unit = facts.get("unit", "unit")
        lead = (
            f"About {number(made.units)} units, {len(names)} columns, method {made.method}.",
            f"What is protected is one {unit}, whether it {PROTECTED[facts.get('relation', 'add_remove')]}.",
            WARNING,
            *self.more,
            "Nothing here was compared with the true rows: that would be a question about them, to be paid for.",
        )
        return report(f"Synthetic table {made.name}", lead=lead, sections=sections)

    def save(self, path: Path | str) -> None:
        """Write the page."""
        try:
            from tacit.plot.report import report_path, write_report
        except ImportError as missing:
            raise TacitError(f"a report needs {missing.name}: pip install 'tacit[plot]'") from missing
        place = report_path(Path(path))
        write_report(self.html(), place)

    def _bars(self) -> list[Any]:
        from tacit.plot.synthesis import CellBar

        bars = []
        for name in self.made.domain.names[:COLUMNS]:
            table = self.made.marginal(name)
            rows = zip(table.labels[0], table.estimate, table.low, table.high, table.fitted, strict=True)
            bars += [CellBar(name, cell, *(float(each) for each in numbers)) for cell, *numbers in list(rows)[:CELLS]]
        return bars

    def _left_out(self) -> tuple[str, ...]:
        columns = len(self.made.domain.columns)
        told = (f"{columns - COLUMNS} more columns are not drawn.",) if columns > COLUMNS else ()
        if max(self.made.domain.sizes) > CELLS:
            told = (*told, f"Of a column with more than {CELLS} cells the first {CELLS} are drawn.")
        return told

    def _costs(self) -> list[Any]:
        from tacit.plot.synthesis import RoundCost

        names = self.made.domain.names
        return [
            RoundCost(place + 1, " × ".join(names[at] for at in each.clique), float(each.rho), each.chosen)
            for place, each in enumerate(self.made.rounds)
        ]
