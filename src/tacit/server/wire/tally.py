"""What this door counts together with the other one: statements of a person, failures of an address, and metrics."""

from dataclasses import dataclass

from tacit.base import TacitError
from tacit.server.http.rate import RateLimit
from tacit.server.ops.log import Metrics
from tacit.server.problem import HttpProblem, kind_of
from tacit.server.wire.copying import Copy
from tacit.server.wire.cursor import Declare
from tacit.server.wire.fault import Fault
from tacit.server.wire.statement import Ask, Browse, Explain, Statement

__all__ = ["WireTally"]

LABELS: dict[type, str] = {Ask: "question", Browse: "catalogued"}  # in metrics, where they are not the class's name
QUESTIONS: dict[type, str] = {Ask: "asked", Copy: "asked", Declare: "asked", Explain: "quoted"}


@dataclass(frozen=True)
class WireTally:
    """The counters of the service. Nothing in them depends on data."""

    rate: RateLimit
    failures: RateLimit
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
        kind = type(statement)
        self.metrics.request("WIRE", LABELS.get(kind) or kind.__name__.lower(), status)

    def refused(self, address: str) -> None:
        """Somebody at this address could not say who they are."""
        _take(self.failures, address, fatal=True)


def _take(rate: RateLimit, caller: str, *, fatal: bool) -> None:
    try:
        rate.take(caller)
    except HttpProblem as problem:
        raise Fault("53400", str(problem), fatal=fatal) from None
