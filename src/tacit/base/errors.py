"""Every error tacit raises on purpose, as one tree.

TacitError
├── InputError           an argument is wrong (also a ValueError); names the argument, the cause and the fix
│   ├── SensitivityError a guarantee was asked for without the sensitivity it rests on
│   ├── LatticeError     a value does not lie on the declared lattice
│   ├── SettingsError    settings of a job are wrong; names each key, the cause and the fix
│   │   └── PolicyError  a declaration is missing or wrong; names the file, the table, the column, the cause and the fix
│   └── SourceError      a table's data is missing, has changed, or cannot be read as declared; names it, never a value
├── RelationError        two guarantees were combined that speak of different relations or units
├── LossError            a conversion that this kind of guarantee does not have
├── ExhaustedError       an interactive mechanism has given all the answers it was built for
├── Refused              a question is not answered as it stands; says where, why and what to write, and of what `kind`
│   ├── Unpriced         a question was asked without saying what may be spent on it; says what can be offered
│   └── Mistake          a question cannot be read, or names what is not there: a slip of the pen; says where
├── Denied               the policy does not allow this analyst this program; says why
│   └── OverBudget       a limit would be passed; says which one and what is left
├── Aborted              a secure sum was broken off: too few are left, or somebody lied; nothing is released
├── EngineError          the engine could not answer; one constant text, since the reason may depend on the data
├── LedgerError          the ledger cannot be used now: busy, out of disk, not reachable; nothing was charged
│   ├── KeyUsed          the key of a charge is another question's, or its charge was voided: choose a new one
│   ├── OutcomeUnknown   whether a charge was made cannot be told: ask again with the same key, which never pays twice
│   └── CorruptLedger    the ledger is damaged, cut short or altered: it refuses to open and says what to do
└── RandomnessError      the random source was misused (copied, pickled) or ran dry

PrivacyWarning           legal, but probably not what you want (for example delta >= 1/n)
"""

from tacit.base.problem import Problem
from tacit.base.refusal import RefusalKind

__all__ = [
    "Aborted",
    "CorruptLedger",
    "Denied",
    "EngineError",
    "ExhaustedError",
    "InputError",
    "KeyUsed",
    "LatticeError",
    "LedgerError",
    "LossError",
    "Mistake",
    "OutcomeUnknown",
    "OverBudget",
    "PolicyError",
    "PrivacyWarning",
    "RandomnessError",
    "Refused",
    "RelationError",
    "SensitivityError",
    "SettingsError",
    "SourceError",
    "TacitError",
    "Unpriced",
]


class TacitError(Exception):
    """Root of everything tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """An argument is wrong. The message names it, says why, and what to pass instead."""


class SensitivityError(InputError):
    """A guarantee was asked for without the sensitivity it rests on."""


class LatticeError(InputError):
    """A value does not lie on the declared lattice."""


class SettingsError(InputError):
    """What somebody wrote is wrong. The message names the place, the cause and the fix, one line a problem."""

    def __init__(self, *problems: Problem | str) -> None:
        super().__init__(*(each if isinstance(each, Problem) else Problem((), each) for each in problems))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that was found wrong, each a line of the message."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class PolicyError(SettingsError):
    """A declaration of the policy is missing or wrong."""


class SourceError(InputError):
    """A table's data is missing, has changed, or cannot be read as declared. Names the table, the file and the remedy.

    It is told to analysts too: it may hold names and numbers of lines, and never a value. Nothing was charged.
    """


class RelationError(TacitError):
    """Guarantees over different relations or units never add."""


class LossError(TacitError):
    """This kind of guarantee has no such conversion."""


class ExhaustedError(TacitError):
    """An interactive mechanism has given all the answers it was built for."""


class Refused(TacitError):  # noqa: N818 - the answer to a question, as "denied" is the policy's
    """A question is not answered as it stands. The message says what, where, why and the way out; `kind` tells a danger
    from what is only missing."""

    usual = RefusalKind.DANGER  # of the class, where nothing else is said

    def __init__(self, *args: object, kind: RefusalKind | None = None) -> None:
        super().__init__(*args)
        self.kind = self.usual if kind is None else kind


class Unpriced(Refused):
    """Nothing was offered for a question: neither an amount to spend nor an error to reach."""

    usual = RefusalKind.OFFER


class Mistake(Refused):
    """A question cannot be read, or names what is not there. Says where, what is wrong, and what to write."""

    usual = RefusalKind.MISTAKE


class Denied(TacitError):  # noqa: N818 - an answer of the policy, in the design's own word
    """The policy does not allow this analyst this program."""


class OverBudget(Denied):
    """A limit would be passed: nothing was charged and nothing ran."""


class Aborted(TacitError):  # noqa: N818 - what became of the sum
    """A secure sum was broken off: too few clients are left, or a message is not what the protocol allows. Nothing of
    it is released, and who had begun it answers nothing more."""


class EngineError(TacitError):
    """The engine failed while it looked at private rows. Says nothing else, since the reason may depend on them."""

    def __init__(self) -> None:
        super().__init__("the engine could not answer; the charge stands")


class LedgerError(TacitError):
    """The ledger cannot be used now. Nothing was charged, unless it is an OutcomeUnknown."""


class KeyUsed(LedgerError):  # noqa: N818 - says what is the case, as Denied does
    """The key is another question's, or its charge was voided. Nothing was charged now: choose a new key."""


class OutcomeUnknown(LedgerError):  # noqa: N818 - says what is the case, as Denied does
    """Whether a charge was made cannot be told. The same key again finds it, or makes it: it never pays twice."""


class CorruptLedger(LedgerError):  # noqa: N818 - says what the ledger is, as Denied does
    """The ledger is damaged, cut short or altered, so it refuses to open."""


class RandomnessError(TacitError):
    """The random source was misused or ran dry."""


class PrivacyWarning(UserWarning):
    """Legal, but probably not what you want."""
