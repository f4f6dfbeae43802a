"""A synthetic table as a job of the desk: priced as a whole, charged once, then chosen, measured and fitted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from typing import Any

import numpy as np

from tacit.base import InputError, cached_property
from tacit.desk import ContentRelease, Expected, Job, Release, Run
from tacit.desk.release import release_from_bytes
from tacit.desk.show import number
from tacit.engine.result import Result
from tacit.plan.bounded import Bounded
from tacit.plan.describe import describe
from tacit.plan.node import Node
from tacit.program import Program
from tacit.synth.counts import ExactCounts, Reach, marginal_question
from tacit.synth.domain import Domain
from tacit.synth.method import Method, Selected
from tacit.synth.open import OpenStep, filled
from tacit.synth.tree import Clique
from tacit.synth.workload import Workload
from tacit.synth.zeros import Rules

__all__ = ["FORMAT", "MEDIA", "SynthesisJob", "TablePart", "packed", "unpacked"]

FORMAT = "tacit synthetic table 1"
MEDIA = "application/x-npz"


@dataclass(frozen=True, kw_only=True, eq=False)
class TablePart:
    """One table of a synthesis: its rows, cells and rules, how it is measured, and its share of ρ."""

    name: str
    source: Node
    domain: Domain
    opens: tuple[OpenStep, ...]
    method: Method
    workload: Workload
    rules: Rules
    reach: Reach
    rho: Fraction  # of the method, without what finds cells

    @cached_property
    def steps(self) -> tuple[Any, ...]:
        return (*(each.step for each in self.opens), *self.method.steps(len(self.domain.columns), self.rho, self.reach))

    def query(self) -> dict[str, Any]:
        """All that is asked, as plain data."""
        return {
            "table": self.name,
            "source": describe(self.source),
            "domain": json.loads(json.dumps(self.domain.json())),
            "open": [each.column.json() for each in self.opens],
            "method": self.method.name,
            "limit": getattr(self.method, "most_cells", None),
            "workload": self.workload.json(),
            "rules": self.rules.json(),
            "one": self.reach.one,
        }

    def made(self, run: Run, told: Any) -> tuple[Domain, Selected]:
        """Measure and fit, under the receipt."""

        def ask(question: Bounded) -> Result:
            return run.open(run.engine.run(question, run.watch))

        domain = filled(self.domain, self.opens, ask)

        def count(clique: Clique) -> Result:
            return ask(marginal_question(self.source, domain, clique, self.reach))

        counts = ExactCounts(domain, count, told=lambda share: told(share / 2))
        steps = self.steps[len(self.opens) :]
        selected = self.method.run(
            counts,
            domain.sizes,
            steps,
            reach=self.reach,
            workload=self.workload.candidates(),
            zeros=self.rules.zeros(domain),
            told=lambda share: told(0.5 + share / 2),
        )
        return domain, selected


class SynthesisJob(Job):
    """A synthetic table, or a parent's with its children's."""

    def __init__(self, parts: Sequence[TablePart], *, program: Program, about: Mapping[str, Any]) -> None:
        self.parts, self._program, self.about = tuple(parts), program, dict(about)

    @property
    def program(self) -> Program:
        return self._program

    def run(self, run: Run) -> bytes:
        found = []
        for place, part in enumerate(self.parts):
            found.append(part.made(run, lambda share, at=place: run.progress((at + share) / len(self.parts))))
        heads: list[dict[str, Any]] = []
        arrays: dict[str, Any] = {}
        for place, ((domain, selected), part) in enumerate(zip(found, self.parts, strict=True)):
            head, own = packed(domain, selected, prefix=f"{place}.")
            heads.append({"name": part.name, "method": part.method.name, **head})
            arrays |= own
        told = {"format": FORMAT, "parts": heads, "about": self.about}
        out = BytesIO()
        text = np.frombuffer(json.dumps(told, allow_nan=False).encode(), np.uint8)
        np.savez_compressed(out, head=text, **arrays)
        release = ContentRelease(kind="rows", content=out.getvalue(), media=MEDIA, facts=run.facts, notes=self.notes)
        return release.to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)

    @property
    def expected(self) -> tuple[Expected, ...]:
        found = []
        for part in self.parts:
            columns, one = len(part.domain.columns), part.reach.one
            factor = float(part.reach.l2) / one
            sigma = part.method.expected_sigma(columns, part.rho, factor)
            words = f"about ± {number(round(1.96 * sigma, 1))} units in each cell of a pair that is measured"
            found.append(Expected(column=part.name, error=1.96 * sigma, words=words))
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        told = []
        for part in self.parts:
            cells = sum(part.domain.sizes)
            limit = getattr(part.method, "most_cells", None)
            most = "" if limit is None else f", a model of at most {limit:,} cells"
            told.append(
                f"{part.name}: {len(part.domain.columns)} columns with {cells:,} cells, method {part.method.name}{most}"
            )
            if part.opens:
                names = ", ".join(each.column.name for each in part.opens)
                told.append(f"a tenth of the price finds the cells of {names}")
        told.append("intervals come from the measurements: rows that are drawn are no data, and their own error bars "
                    "are too short")  # fmt: skip
        return tuple(told)


def packed(domain: Domain, selected: Selected, *, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model with its measurements as plain data and arrays, without pickle."""
    model = selected.model
    head = {
        "domain": domain.json(),
        "cliques": [list(each) for each in model.tree.cliques],
        "parents": list(model.tree.parents),
        "sizes": list(model.tree.sizes),
        "total": model.total,
        "loss": model.loss,
        "gap": model.gap,
        "rounds": [each.json() for each in selected.rounds],
        "measured": [list(each.clique) for each in selected.tables],
        "merges": sorted(selected.merges),
    }
    arrays: dict[str, Any] = {f"{prefix}potential.{i}": each for i, each in enumerate(model.potentials)}
    for i, each in enumerate(selected.tables):
        arrays[f"{prefix}counts.{i}"] = each.counts
        arrays[f"{prefix}sigma.{i}"] = np.asarray(each.sigma, np.float64)
    arrays |= {f"{prefix}merge.{place}": merge for place, merge in selected.merges.items()}
    return head, arrays


def unpacked(content: bytes) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The inverse: what `packed` made of all parts."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        head = json.loads(arrays.pop("head").tobytes())
        if head["format"] != FORMAT:
            raise InputError(f"this synthetic table has format {head['format']!r}, and this tacit reads {FORMAT!r}")
    except InputError:
        raise
    except Exception:
        raise InputError("these bytes are not a synthetic table: they come from plan.release()") from None
    return head, arrays
