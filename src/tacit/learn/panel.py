"""A panel: one charge opens at most so many noisy sums of a table, and each unit takes part while its own spend lasts.

A unit whose value in a sum is small spends little on it, and may be in many sums; one that is large is cut to what it
has left. The charge is the worst case, ρ in zCDP, paid once. How many units still take part, and what each has spent,
is secret: it is in a file for its owner alone, and on disk before the noise of a sum is drawn. Intervals cover the
noise only: what was cut off is missing. docs/theory/individual-budgets.md has the statement and its proof.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b
from math import isqrt
from typing import Any

import numpy as np

from tacit.base import ExhaustedError, InputError, LedgerError, Relation, whole
from tacit.base.number import Number, Ratio, default, frozen, positive
from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, Quote, Run, Spender
from tacit.desk.coverage import Coverage
from tacit.learn.made_of import own_delta
from tacit.learn.private_book import PrivateBook
from tacit.learn.resting import RestingJob
from tacit.loss import ZCDP, Loss
from tacit.noise import discrete_gaussian, rng_or_default
from tacit.plan.facts import Facts, Type
from tacit.policy.declaration import instead
from tacit.program import Adaptive, Program, Task

__all__ = ["Panel", "PanelJob", "PanelState", "PanelSum", "PanelSums", "unit_name"]

NORMAL = 1.959963984540054
LARGEST = 2**53
NAMES = (Type.INTEGER, Type.TEXT)


@dataclass(frozen=True, kw_only=True)
class PanelSum:
    """One released sum; the noise is within `margin` in 95 %. What units were cut by is missing from it."""

    number: int
    asked: str
    value: float
    margin: float

    @property
    def coverage(self) -> Coverage:
        """What the interval covers: the noise."""
        return Coverage(of="noise")

    def __str__(self) -> str:
        return f"{self.asked}: {self.value:,.4g} ± {self.margin:,.3g} noise only"


@frozen
class Panel:
    """A plan: at most `sums` sums over `table` with noise of `sigma`, in units of the column, and a worst case of `rho`
    for each unit, of all of them together. `step` is the lattice that values are rounded to, toward zero."""

    table: str
    rho: Ratio
    sigma: Ratio
    sums: int
    step: Ratio = default(Fraction(1))
    name: str = "panel"

    def __post_init__(self) -> None:
        for each in ("rho", "sigma", "step"):
            toward = "down" if each == "rho" else "decimal"
            object.__setattr__(self, each, positive(getattr(self, each), each, toward=toward))  # type: ignore[arg-type]
        object.__setattr__(self, "sums", whole(self.sums, "sums", least=1))
        if self.cap < 1:
            raise InputError("rho is so small, or step so coarse, that nobody could take part: change either")
        if self.cap >= LARGEST:
            raise InputError("step is too fine for this sigma and rho: take a coarser one")

    @property
    def cap(self) -> int:
        """The most Σ v² of one unit, in steps: Σ v²/2σ² ≤ ρ, with exact discrete Gaussian noise."""
        return int(2 * self.rho * (self.sigma / self.step) ** 2)

    @property
    def largest(self) -> float:
        """The largest value that one unit may have in a sum, if it spends all on it."""
        return isqrt(self.cap) * float(self.step)

    def loss(self, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """ρ, and 4ρ under replace: ‖x − x'‖² ≤ 2‖x‖² + 2‖x'‖²."""
        return ZCDP(self._limit(relation), relation=relation, unit=unit)

    def _limit(self, relation: Relation) -> Fraction:
        return self.rho * (4 if relation is Relation.REPLACE else 1)

    def quote(self, session: Spender) -> Quote:
        """What it would cost. Free."""
        return session.quote(self._job(session, None, None))

    def run(
        self, session: Spender, loop: "Callable[[PanelSums], Any]", *, delta: Number | None = None
    ) -> ContentRelease | None:
        """Charge it, once, and let `loop(sums)` ask: `sums.sum("amount", where={"kind": "visit"})`, `sums.count()`.
        When the loop returns the panel rests, and goes on when this is called again, until all sums were asked."""
        return self._job(session, loop, delta).spent_by(session, self.name)

    def _job(self, session: Any, loop: "Callable[[PanelSums], Any] | None", delta: Number | None) -> "PanelJob":
        policy = session.policy
        privacy = policy.privacy
        if privacy.relation not in (Relation.ADD_REMOVE, Relation.REPLACE):
            raise InputError(f"individual budgets are for add_remove or replace, not for {privacy.relation.value}")
        if privacy.deadline is not None:
            raise InputError("this dataset tells every answer at a deadline, and a panel tells each sum at once")
        scan = session.scan(self.table)
        if scan.unit_name is None or scan.path is not None or scan.schema[scan.unit_name].type not in NAMES:
            raise InputError(
                f'a panel keeps a book for each unit of "{self.table}", by its name: the table needs a unit_column of '
                "its own, of whole numbers or text"
            )
        program = Program(
            steps=(Adaptive(name=self.name, limit=self._limit(privacy.relation), task=Task(kind="panel")),),
            tables=(self.table,),
            relation=privacy.relation,
            unit=privacy.unit,
            query={"panel": self.json()},
            delta=own_delta(policy, delta),
        )
        return PanelJob(panel=self, session=session, loop=loop, priced=program)

    def json(self) -> dict[str, Any]:
        """The plan as plain data."""
        numbers = {each: fraction_to_text(getattr(self, each), each) for each in ("rho", "sigma", "step")}
        return {"name": self.name, "table": self.table, "sums": self.sums, **numbers}


class PanelState(PrivateBook):
    """What each unit has spent, and what was released."""

    tables = """
CREATE TABLE spent (unit BLOB PRIMARY KEY, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE sums (number INTEGER PRIMARY KEY, asked TEXT NOT NULL, noisy TEXT);
"""

    def name(self, unit: str) -> bytes:
        """What the unit is called here."""
        return blake2b(unit.encode(), key=self.salt, digest_size=16).digest()

    def take(self, number: int, asked: str, values: Mapping[bytes, int], cap: int) -> int:
        """Each unit's value, cut to what it has left, added up. The spends are on disk when this returns."""
        total = 0
        with self.book:
            used = dict(self.book.execute("SELECT unit, used FROM spent"))
            changed = []
            for unit, value in values.items():
                before = used.get(unit, 0)
                room = isqrt(cap - before)
                kept = max(-room, min(room, value))
                if kept:
                    total += kept
                    changed.append((unit, before + kept * kept))
            self.book.executemany("INSERT OR REPLACE INTO spent VALUES (?, ?)", changed)
            self.book.execute("INSERT INTO sums VALUES (?, ?, NULL)", (number, asked))
        return total

    def release(self, number: int, noisy: int) -> None:
        with self.book:
            changed = self.book.execute(
                "UPDATE sums SET noisy = ? WHERE number = ? AND noisy IS NULL", (str(noisy), number)
            )
            if changed.rowcount != 1:
                raise LedgerError(f"sum {number} of this panel was released before")

    def sums(self) -> list[tuple[int, str, int | None]]:
        """All that were begun: a sum without a number died with its process, and is spent."""
        rows = self.book.execute("SELECT number, asked, noisy FROM sums ORDER BY number")
        return [(number, asked, None if noisy is None else int(noisy)) for number, asked, noisy in rows]

    def spends(self) -> dict[bytes, int]:
        """Secret."""
        return dict(self.book.execute("SELECT unit, used FROM spent"))


@dataclass(kw_only=True, eq=False)
class PanelJob(RestingJob):
    """A panel under its charge."""

    panel: Panel
    session: Any

    book = PanelState
    kind = "panel"

    @property
    def notes(self) -> tuple[str, ...]:
        p = self.panel
        return (f"at most {p.sums:,} sums, each ± {NORMAL * float(p.sigma):,.3g} noise only in 95 %",)

    def advance(self, book: PanelState, run: Run) -> Any:
        assert self.loop is not None
        sums = PanelSums(self.panel, book, run, self.session)
        self.loop(sums)
        told = [{"asked": each.asked, "value": each.value, "margin": each.margin} for each in sums.released]
        return None if sums.left else {"sums": told}


def unit_name(value: Any) -> str | None:
    """The name of a unit as an engine reads it: whole numbers come as doubles. Beyond 2^53 two people would have one
    name, so nobody has: such rows do not count."""
    if isinstance(value, str):
        return "text " + value
    if value is None or abs(value) >= LARGEST:
        return None
    return f"number {int(value)}"


def _constant(name: str, wanted: Any, facts: Facts) -> Any:
    """A value that the column may have: another would spend a sum on nobody."""
    if facts.type is Type.DATE and isinstance(wanted, str):
        with suppress(ValueError):
            wanted = date.fromisoformat(wanted)
    kinds = {Type.TEXT: str, Type.BOOLEAN: bool | np.bool_, Type.DATE: date, Type.TIMESTAMP: datetime}
    number = int | float | Fraction | np.number
    if not isinstance(wanted, kinds.get(facts.type, number)) or (facts.type.numeric and isinstance(wanted, bool)):
        raise InputError(f'column "{name}" holds {facts.type}, and is compared with {wanted!r}')
    if facts.type is Type.TEXT and facts.domain is not None and wanted not in facts.domain:
        other = instead(str(wanted), map(str, facts.domain), those="values")
        raise InputError(f'column "{name}" has no value {wanted!r}: {other}')
    return wanted


class PanelSums:
    """What a loop is given. `released` are the sums so far."""

    def __init__(self, panel: Panel, state: PanelState, run: Run, session: Any) -> None:
        self.panel, self._state, self._run, self._session = panel, state, run, session
        self._rng = rng_or_default(None)
        begun = state.sums()
        self._begun = len(begun)
        self.released = [self._shown(number, asked, noisy) for number, asked, noisy in begun if noisy is not None]

    @property
    def left(self) -> int:
        """How many sums may still be asked."""
        return self.panel.sums - self._begun

    def count(self, where: Mapping[str, Any] | None = None) -> PanelSum:
        """How many rows there are where columns have these values."""
        return self._ask(None, where or {})

    def sum(self, column: str, where: Mapping[str, Any] | None = None) -> PanelSum:
        """The sum of a column over the rows where other columns have these values."""
        return self._ask(column, where or {})

    def spent(self, unit: Any) -> float:
        """The share of its budget that one unit has spent: for the curator and for that person, for nobody else."""
        name = unit_name(unit)
        return 0.0 if name is None else self._state.spends().get(self._state.name(name), 0) / self.panel.cap

    def _ask(self, column: str | None, where: Mapping[str, Any]) -> PanelSum:
        if not self.left:
            raise ExhaustedError(f"all {self.panel.sums} sums of this panel were asked: a new one is a new charge")
        scan = self._session.scan(self.panel.table, [*dict.fromkeys([*([column] if column else []), *where])])
        facts: Mapping[str, Facts] = scan.schema
        if column is not None and facts[column].type not in (Type.INTEGER, Type.NUMBER, Type.BOOLEAN):
            raise InputError(f'column "{column}" holds {facts[column].type}, and only numbers are added up')
        unit = self._session.policy.tables[self.panel.table].unit_column
        if unit in where or column == unit:
            raise InputError(f'"{unit}" names the unit: it is neither added up nor compared')
        told = f"SUM({column})" if column is not None else "COUNT(*)"
        if where:
            told += " WHERE " + " AND ".join(f"{name} = {value!r}" for name, value in where.items())
        values = self._values(scan, column, {name: _constant(name, each, facts[name]) for name, each in where.items()})
        number, self._begun = self._begun, self._begun + 1
        exact = self._state.take(number, told, values, self.panel.cap)
        noisy = exact + discrete_gaussian((self.panel.sigma / self.panel.step) ** 2, self._rng)
        self._state.release(number, noisy)
        found = self._shown(number, told, noisy)
        self.released.append(found)
        self._run.save(f"{self._begun} sums".encode(), self._begun / self.panel.sums)
        return found

    def _values(self, scan: Any, column: str | None, where: Mapping[str, Any]) -> dict[bytes, int]:
        """Each unit's own sum in whole steps, cut toward zero. One unit's follows from its own rows alone."""
        found: dict[bytes, int] = {}
        with self._run.open(self._run.engine.rows(scan, self._run.watch)) as rows:
            here = np.ones(int(rows.offsets[-1]), dtype=bool)
            for name, wanted in where.items():
                here &= np.array([value == wanted for value in rows.columns[name].to_pylist()], dtype=bool)
            names = rows.columns[scan.unit_name].to_pylist()
            values = None if column is None else rows.columns[column].to_pylist()
            for start, end in zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True):
                unit = unit_name(names[start])
                if unit is None:
                    continue
                mine = [at for at in range(start, end) if here[at]]
                given = [1] * len(mine) if values is None else [values[at] for at in mine if values[at] is not None]
                total = sum((Fraction(value) for value in given), Fraction(0)) / self.panel.step
                found[self._state.name(unit)] = int(total)
        return found

    def _shown(self, number: int, asked: str, noisy: int) -> PanelSum:
        value = float(noisy * self.panel.step)
        return PanelSum(number=number, asked=asked, value=value, margin=NORMAL * float(self.panel.sigma))
