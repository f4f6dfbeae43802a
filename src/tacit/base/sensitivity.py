"""How far one unit can move an answer: what clipping guarantees, and what a mechanism's noise must cover."""

from fractions import Fraction
from typing import Any, Literal, get_args

from tacit.base.errors import InputError, SensitivityError
from tacit.base.number import Number, OptionalRatio, default, frozen, non_negative, show, whole
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown

__all__ = ["Norm", "Sensitivity", "Size"]

Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[str, ...] = get_args(Norm)


@frozen
class Sensitivity:
    """The largest change one unit can cause, in the l1, l2 and l∞ norms.

    A norm that is not given is unknown, and a mechanism that needs it refuses; it is never guessed. The exception is
    the l∞ norm, which no norm exceeds. `Sensitivity.scalar(x)` is a single number that moves by at most x, for which
    all three norms agree. A bare number is not that: passed to a mechanism, it bounds the norm that the mechanism goes
    by, for any number of coordinates.
    """

    l1: OptionalRatio = default(None)
    l2: OptionalRatio = default(None)
    linf: OptionalRatio = default(None)
    dimension: int | None = None

    def __post_init__(self) -> None:
        for name in NORMS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, non_negative(value, f"sensitivity {name}"))
        if self.l1 is None and self.l2 is None and self.linf is None:
            raise SensitivityError("a sensitivity needs at least one of l1, l2, linf")
        if self.linf is None:
            known = [norm for norm in (self.l1, self.l2) if norm is not None]
            object.__setattr__(self, "linf", min(known))
        if self.dimension is not None:
            object.__setattr__(self, "dimension", whole(self.dimension, "sensitivity dimension", least=1))

    @classmethod
    def scalar(cls, value: Number) -> "Sensitivity":
        """One number that one unit moves by at most `value`."""
        size = non_negative(value, "sensitivity")
        return cls(l1=size, l2=size, linf=size, dimension=1)

    @classmethod
    def of(cls, value: "Sensitivity | Number | None", norm: Norm) -> "Sensitivity":
        """What a caller passed as `sensitivity`: an object as it is, a bare number as a bound on `norm`, in any number
        of coordinates; `None` is refused."""
        if value is None:
            raise SensitivityError(
                "sensitivity is missing: say how far one unit can move the answer, "
                "for example sensitivity=1 for a count"
            )
        if isinstance(value, Sensitivity):
            return value
        size = non_negative(value, "sensitivity")
        return cls(**{name: size if name == norm else None for name in NORMS})  # type: ignore[arg-type]  # norms alone

    def require(self, norm: str) -> Fraction:
        """The named norm, or an error that says which one is missing."""
        value: Fraction | None = getattr(self, norm)
        if value is None:
            raise SensitivityError(
                f"the {norm} sensitivity is not known, and this mechanism needs it: pass Sensitivity({norm}=...)"
            )
        return value

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal sensitivity; norms are exact fractions, as strings."""
        norms = {name: getattr(self, name) for name in NORMS}
        stored = {name: None if v is None else fraction_to_text(v, f"sensitivity {name}") for name, v in norms.items()}
        return {**stored, "dimension": self.dimension}

    @classmethod
    def from_json(cls, data: Any) -> "Sensitivity":
        """The inverse of `json`; anything not understood entirely is refused."""
        only_fields(data, "a stored sensitivity", (*NORMS, "dimension"))
        norms = {n: None if data[n] is None else fraction_from_text(data[n], f"sensitivity {n}") for n in NORMS}
        dimension = data["dimension"]
        if dimension is not None and type(dimension) is not int:
            raise InputError(f"sensitivity dimension must be stored as a whole number, not as {shown(dimension)}")
        if norms["linf"] is None:
            raise InputError("a stored sensitivity must say its linf, which every sensitivity has")
        return cls(**norms, dimension=dimension)

    def __str__(self) -> str:
        norms = {name: getattr(self, name) for name in NORMS}
        return ", ".join(f"{name}={show(value)}" for name, value in norms.items() if value is not None)


Size = Sensitivity | Number | None  # what a caller may pass as `sensitivity`: see `Sensitivity.of`
