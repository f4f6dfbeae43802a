"""How far one unit can move an answer: what clipping guarantees, and what a mechanism's noise must cover."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.base.errors import SensitivityError
from tacit.base.number import Number, non_negative, show

__all__ = ["Sensitivity"]


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The largest change one unit can cause, in the l1, l2 and l∞ norms.

    A norm that is not given is unknown, and a mechanism that needs it refuses; it is never guessed. The exception is
    the l∞ norm, which no norm exceeds. `Sensitivity.scalar(x)` is a single number that moves by at most x, for which
    all three norms agree.
    """

    l1: Fraction | None = None
    l2: Fraction | None = None
    linf: Fraction | None = None
    dimension: int | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "linf"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, non_negative(value, f"sensitivity {name}"))
        if self.l1 is None and self.l2 is None and self.linf is None:
            raise SensitivityError("a sensitivity needs at least one of l1, l2, linf")
        if self.linf is None:
            known = [norm for norm in (self.l1, self.l2) if norm is not None]
            object.__setattr__(self, "linf", min(known))

    @classmethod
    def scalar(cls, value: Number) -> "Sensitivity":
        """One number that one unit moves by at most `value`."""
        size = non_negative(value, "sensitivity")
        return cls(l1=size, l2=size, linf=size, dimension=1)

    @classmethod
    def of(cls, value: "Sensitivity | Number | None") -> "Sensitivity":
        """What a caller passed as `sensitivity`: an object as it is, a bare number as a scalar; `None` is refused."""
        if value is None:
            raise SensitivityError(
                "sensitivity is missing: say how far one unit can move the answer, "
                "for example sensitivity=1 for a count"
            )
        return value if isinstance(value, Sensitivity) else cls.scalar(value)

    def require(self, norm: str) -> Fraction:
        """The named norm, or an error that says which one is missing."""
        value: Fraction | None = getattr(self, norm)
        if value is None:
            raise SensitivityError(
                f"the {norm} sensitivity is not known, and this mechanism needs it: pass Sensitivity({norm}=...)"
            )
        return value

    def __str__(self) -> str:
        norms = {"l1": self.l1, "l2": self.l2, "linf": self.linf}
        return ", ".join(f"{name}={show(value)}" for name, value in norms.items() if value is not None)
