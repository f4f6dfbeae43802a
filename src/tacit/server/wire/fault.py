"""What goes wrong, as PostgreSQL's clients understand it: a SQLSTATE, a sentence, and a hint."""

from tacit.base import EngineError, OutcomeUnknown, OverBudget, PolicyError, Refused, TacitError
from tacit.server.problem import kind_of

__all__ = ["HINTS", "Fault", "fault_of"]


class Fault(Exception):  # noqa: N818 - the tree of our own errors is another one
    """An ErrorResponse. `fatal` ends the connection."""

    def __init__(self, state: str, message: str, hint: str = "", *, fatal: bool = False) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal = state, message, hint, fatal


HINTS: dict[type[TacitError], str] = {
    OverBudget: "nothing was charged; SHOW tacit.budget says what is left, and EXPLAIN what a question costs",
    PolicyError: "nothing was charged; the curator has to declare what is missing",
    EngineError: "why is not said, since it may depend on the data",
    OutcomeUnknown: "the same question again finds the charge or makes it, and never pays twice",
}
"""By class, beside the SQLSTATE that the service's own table of problems has."""

UNREADABLE = "this cannot be read as SQL"
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
    if isinstance(error, Refused):
        if message.startswith(UNREADABLE):
            return Fault("42601", message)
        if message.startswith(UNPRICED):
            hint = "SET tacit.epsilon = 0.5, or SET tacit.rho = 0.01; then EXPLAIN a question to see its price"
            return Fault("22023", message, hint)
    return Fault(kind.sqlstate, message, hint)
