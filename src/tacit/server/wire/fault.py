"""What goes wrong, as PostgreSQL's clients understand it: a SQLSTATE, a sentence, and a hint."""

from tacit.base import EngineError, OverBudget, PolicyError, Refused, TacitError
from tacit.server.problem import kind_of

__all__ = ["HINTS", "Fault", "fault_of", "keyed"]


class Fault(Exception):  # noqa: N818 - the tree of our own errors is another one
    """An ErrorResponse. `fatal` ends the connection; `status` is how HTTP would say it, for the metrics."""

    def __init__(self, state: str, message: str, hint: str = "", *, fatal: bool = False, status: int = 400) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal, self.status = state, message, hint, fatal, status


HINTS: dict[type[TacitError], str] = {
    OverBudget: "nothing was charged; SHOW tacit.budget says what is left, and EXPLAIN what a question costs",
    PolicyError: "nothing was charged; the curator has to declare what is missing",
    EngineError: "why is not said, since it may depend on the data",
}
"""By class, beside the SQLSTATE that the service's own table of problems has."""

UNPRICED = "say how much to spend"


def fault_of(error: BaseException) -> Fault:
    """The ErrorResponse for an error. Of what is not raised on purpose nothing is said: it might hold data."""
    if isinstance(error, Fault):
        return error
    if not isinstance(error, TacitError):
        return Fault("XX000", "something went wrong inside the server; if a question was running, its charge stands")
    kind = kind_of(error)
    message = kind.text or str(error)
    hint = next((HINTS[each] for each in type(error).__mro__ if each in HINTS), "")
    if isinstance(error, Refused) and message.startswith(UNPRICED):
        hint = "SET tacit.epsilon = 0.5, or SET tacit.rho = 0.01; then EXPLAIN a question to see its price"
        return Fault("22023", message, hint)
    return Fault(kind.sqlstate, message, hint)


def keyed(error: TacitError, key: str) -> Fault:
    """The same for a question that may have been charged and has no answer yet, with the way to it."""
    found = fault_of(error)
    quoted = key.replace("'", "''")
    hint = f"SET tacit.key = '{quoted}' and ask the same again: it is not paid for twice; then RESET tacit.key"
    return Fault(found.state, found.message, found.hint or hint, status=kind_of(error).status)
