"""Every error tacit raises on purpose, as one tree.

TacitError
├── InputError           an argument is wrong (also a ValueError); names the argument, the cause and the fix
│   ├── SensitivityError a guarantee was asked for without the sensitivity it rests on
│   └── LatticeError     a value does not lie on the declared lattice
├── RelationError        two guarantees were combined that speak of different relations or units
├── LossError            a conversion that this kind of guarantee does not have
├── ExhaustedError       an interactive mechanism has given all the answers it was built for
└── RandomnessError      the random source was misused (copied, pickled) or ran dry

PrivacyWarning           legal, but probably not what you want (for example delta >= 1/n)
"""

__all__ = [
    "ExhaustedError",
    "InputError",
    "LatticeError",
    "LossError",
    "PrivacyWarning",
    "RandomnessError",
    "RelationError",
    "SensitivityError",
    "TacitError",
]


class TacitError(Exception):
    """Root of everything tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """An argument is wrong. The message names it, says why, and what to pass instead."""


class SensitivityError(InputError):
    """A guarantee was asked for without the sensitivity it rests on."""


class LatticeError(InputError):
    """A value does not lie on the declared lattice."""


class RelationError(TacitError):
    """Guarantees over different relations or units never add."""


class LossError(TacitError):
    """This kind of guarantee has no such conversion."""


class ExhaustedError(TacitError):
    """An interactive mechanism has given all the answers it was built for."""


class RandomnessError(TacitError):
    """The random source was misused or ran dry."""


class PrivacyWarning(UserWarning):
    """Legal, but probably not what you want."""
