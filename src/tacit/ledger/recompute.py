"""Price what was charged again, with the proofs of today. For reading only: no balance ever changes by it.

Two numbers come out. Each charge's cost now beside what it was charged: a better proof may show that people paid less
than was counted, a mistake that was found may show that they paid more. And the ε of all programs composed as one,
which is smaller than any sum, but holds only if every parameter had been fixed before the first answer: an analyst
who picks the next question after seeing the last is not covered by it. So budgets go on adding costs
(docs/theory/additive-currencies.md).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from json import loads
from pathlib import Path
from typing import Any

from tacit.base import LedgerError, TacitError
from tacit.ledger.chain import REGISTRY
from tacit.ledger.reader import Reader, reading
from tacit.ledger.receipt import money
from tacit.ledger.replay import read_charge
from tacit.loss import Interval, Loss, composed
from tacit.policy.account import Amount, Currency
from tacit.program import Program

__all__ = ["CAVEAT", "Recomputation", "Repricing", "recompute"]

CAVEAT = (
    "for reading only, not a guarantee: it holds if all parameters had been fixed before the first answer, and "
    "analysts choose the next question after seeing the last"
)


@dataclass
class Repricing:
    """Charges of one program at one price. `now` is the price of one of them today, or `why` there is none."""

    program: str  # hash
    charged: Amount
    seqs: list[int] = field(default_factory=list)
    now: Amount | None = None
    loss: Loss | None = None
    why: str = ""

    @property
    def dearer(self) -> bool:
        """Whether these cost more than was charged: people paid more than was counted."""
        return self.now is not None and not self.now.fits(self.charged)


@dataclass(frozen=True, kw_only=True)
class Recomputation:
    """One account. `now` counts charges that have no price today at what they were charged.

    `whole` is ε at `delta` of everything composed as one program, under the caveat; or `why` there is none.
    """

    people: str
    currency: Currency
    delta: Fraction
    charged: Amount
    now: Amount
    charges: int
    priced: tuple[Repricing, ...]
    whole: Interval | None
    why: str

    def json(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "currency": self.currency.value,
            "charges": self.charges,
            "charged": money(self.charged),
            "now": money(self.now),
            "composed": {
                "epsilon": None if self.whole is None or self.whole.upper == float("inf") else self.whole.upper,
                "delta": float(self.delta),
                "guarantee": False,
                "caveat": CAVEAT,
                "why_not": self.why or None,
            },
            "programs": [
                {
                    "program": line.program,
                    "charged": money(line.charged),
                    "now": money(line.now),
                    "why_not": line.why or None,
                    "seqs": line.seqs,
                }
                for line in self.priced
            ],
        }


def recompute(where: str | Path, people: str | None = None) -> list[Recomputation]:
    """Price all charges again that were not voided; of one account, or of all."""
    with reading(where) as reader:
        rows = [row for row in reader.accounts() if row.people != REGISTRY and people in (None, row.people)]
        if people is not None and not rows:
            raise LedgerError(f'this ledger has no account for "{people}"')
        return [_account(reader, row) for row in rows]


def _account(reader: Reader, row: Any) -> Recomputation:
    currency, groups = Currency(row.currency), _charges(reader, row.id)
    priced, charged, now, count = [], Amount(0), Amount(0), 0
    for text, line in groups.items():
        if not line.seqs:
            continue
        _price(line, text[0], currency)
        times = len(line.seqs)
        charged, now = charged + _times(line.charged, times), now + _times(line.now or line.charged, times)
        count += times
        priced.append(line)
    whole, why = _composed(priced, Fraction(row.delta))
    return Recomputation(
        people=row.people,
        currency=currency,
        delta=Fraction(row.delta),
        charged=charged,
        now=now,
        charges=count,
        priced=tuple(priced),
        whole=whole,
        why=why,
    )


def _times(amount: Amount, times: int) -> Amount:
    return Amount(amount.spend * times, amount.delta * times)


def _charges(reader: Reader, account: int) -> dict[tuple[str, int, int], Repricing]:
    """The charges that stand, by program and price."""
    mentioned = reader.mentioned(account)
    groups: dict[tuple[str, int, int], Repricing] = {}
    later: dict[int, Repricing] = {}
    for _, seq, kind, _, _, _, body, _ in reader.entries(account):
        try:
            if kind == "charge":
                charge = read_charge(body)
                place = (charge.program, charge.spend, charge.delta)
                if place not in groups:
                    name = sha256(charge.program.encode()).hexdigest()
                    groups[place] = Repricing(name, Amount(charge.spend, charge.delta))
                groups[place].seqs.append(seq)
                if seq in mentioned:
                    later[seq] = groups[place]
            elif kind == "void":
                about = loads(body)["charge"]
                later[about].seqs.remove(about)
        except (ValueError, KeyError, TypeError):
            raise LedgerError(f"entry {seq} cannot be read: run `tacit ledger verify`") from None
    return groups


def _price(line: Repricing, text: str, currency: Currency) -> None:
    try:
        program = Program.from_json(loads(text))
        line.loss = program.loss
        line.now = Amount.of(program.cost, currency)
    except TacitError as problem:
        line.why = str(problem)
    except (ValueError, KeyError, TypeError, RecursionError):
        line.why = "its program cannot be read"


def _composed(priced: list[Repricing], delta: Fraction) -> tuple[Interval | None, str]:
    losses = [len(line.seqs) * line.loss for line in priced if line.loss is not None]
    if not priced:
        return Interval(0.0, 0.0), ""
    if len(losses) < len(priced):
        return None, "some programs cannot be priced today"
    try:
        return composed(losses).epsilon(delta), ""
    except TacitError as problem:
        return None, str(problem)
