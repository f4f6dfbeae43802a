"""What this door counts together with the other one: statements of a person, failures of an address, and metrics."""

from dataclasses import dataclass

from tacit.base import TacitError
from tacit.server.http.rate import Rate
from tacit.server.ops.log import Metrics
from tacit.server.problem import Problem, kind_of
from tacit.server.wire.copying import Copy
from tacit.server.wire.cursor import Declare
from tacit.server.wire.fault import Fault
from tacit.server.wire.statement import Explain, Question, Statement

__all__ = ["Tally"]

QUESTIONS: dict[type, str] = {Question: "asked", Copy: "asked", Declare: "asked", Explain: "quoted"}


@dataclass(frozen=True)
class Tally:
    """The counters of the service. Nothing in them depends on data."""

    rate: Rate
    failures: Rate
    metrics: Metrics

    def statement(self, who: str, dataset: str, statement: Statement) -> None:
        """One more of this person's; a `Fault` if there were too many."""
        _take(self.rate, who, fatal=False)
        kind = QUESTIONS.get(type(statement))
        if kind is not None:
            self.metrics.question(dataset, kind)

    def ended(self, statement: Statement, error: BaseException | None) -> None:
        """How a statement ended."""
        if isinstance(error, Fault):
            status = error.status
        else:
            status = 200 if error is None else kind_of(error).status if isinstance(error, TacitError) else 500
        self.metrics.request("WIRE", type(statement).__name__.lower(), status)

    def refused(self, address: str) -> None:
        """Somebody at this address could not say who they are."""
        _take(self.failures, address, fatal=True)


def _take(rate: Rate, caller: str, *, fatal: bool) -> None:
    try:
        rate.take(caller)
    except Problem as problem:
        raise Fault("53400", str(problem), fatal=fatal) from None
