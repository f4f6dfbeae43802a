"""The program that the accounting commands speak of: one mechanism, run on a sample, a number of times; its options.

Numbers are read as typed, so 0.1 is a tenth and 256/60000 works.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from tacit.base import InputError, Number, Relation, Sensitivity, between, exact, positive, whole
from tacit.cli.options import argument, option
from tacit.loss import PLD, Loss, Pure
from tacit.loss.pld import probability
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace

__all__ = [
    "AccountedKind", "AccountedProgram", "Accuracy", "MechanismName", "MechanismNameOrNone", "NoiseOptions",
    "SampleOptions", "plain", "whom",
]  # fmt: skip

SAMPLINGS = {"poisson": "a Poisson sample", "fixed": "a sample of fixed size"}


@dataclass(frozen=True)
class AccountedKind:
    """What the command line calls a mechanism: the option that sets it, what to call it, and whether a δ is needed.

    `single` is noise on one number; otherwise the sensitivity bounds a vector in the norm of the noise.
    """

    option: str
    noun: str
    build: Callable[..., Any] | None = None
    pure: bool = False
    single: bool = False

    @classmethod
    def named(cls, name: str) -> "AccountedKind":
        """The kind of this name, or an error that lists them."""
        if name not in KINDS:
            raise InputError(f'"{name}" is not a mechanism here: choose one of {", ".join(KINDS)}')
        return KINDS[name]

    def loss(self, value: Fraction, sensitivity: Fraction, about: dict[str, Any]) -> PLD:
        if self.build is None:
            return Pure(value, **about)
        found = self.build(**{self.option: value}).loss(
            Sensitivity.scalar(sensitivity) if self.single else sensitivity, **about
        )
        assert isinstance(found, PLD)  # each of them has a curve
        return found


KINDS = {
    "gaussian": AccountedKind("sigma", "Gaussian noise", Gaussian),
    "laplace": AccountedKind("scale", "Laplace noise", Laplace, pure=True),
    "discrete-gaussian": AccountedKind("sigma", "whole Gaussian noise on one number", DiscreteGaussian, single=True),
    "discrete-laplace": AccountedKind("scale", "whole Laplace noise", DiscreteLaplace, pure=True),
    "pure": AccountedKind("epsilon", "any pure mechanism", pure=True),
}

MechanismName = Annotated[str, argument("MECHANISM", f"One of {', '.join(KINDS)}.")]
MechanismNameOrNone = Annotated[str | None, argument("MECHANISM", f"None, or one of {', '.join(KINDS)}.")]
Accuracy = Annotated[float, option("NUMBER", "Relative width of the answer.")]


@dataclass(frozen=True, kw_only=True)
class NoiseOptions:
    """How much noise there is: a mechanism takes exactly one of these."""

    sigma: Annotated[str | None, option("NUMBER", "Noise of gaussian, and of discrete-gaussian on one number.")] = None
    scale: Annotated[str | None, option("NUMBER", "Noise of laplace and discrete-laplace.")] = None
    epsilon: Annotated[str | None, option("NUMBER", "The ε of each run of a pure mechanism.")] = None


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """What a run sees, how often it runs, who is hidden, and the δ."""

    sensitivity: Annotated[
        str | None,
        option(
            "NUMBER",
            "How far one unit moves the value: in l2 for gaussian, in l1 for laplace and discrete-laplace. Default: 1 "
            "under add_remove, 2 under replace.",
        ),
    ] = None
    clip: Annotated[
        str | None,
        option(
            "NUMBER",
            "The length that each unit's own vector is clipped to: a sensitivity of as much under add_remove, of "
            "twice as much under replace. A Poisson sample under replace needs it.",
        ),
    ] = None
    rate: Annotated[str, option("NUMBER", "The share of the data that a run sees, such as 256/60000.")] = "1"
    sampling: Annotated[
        str,
        option("HOW", "poisson: each unit takes part by its own coin; fixed: a fixed number is drawn (for replace)."),
    ] = "poisson"
    steps: Annotated[str, option("COUNT", "How many times it runs.")] = "1"
    delta: Annotated[str | None, option("NUMBER", "The δ to state ε at. A pure mechanism needs none.")] = None
    relation: Annotated[str, option("NAME", "Who is hidden: add_remove (one unit is there or not) or replace.")] = (
        "add_remove"
    )
    unit: Annotated[str, option("NOUN", "What one unit is called.")] = "row"

    @property
    def neighbours(self) -> Relation:
        return Relation(self.relation.replace("-", "_"))


def plain(number: Fraction) -> str:
    """0.01 for a hundredth, 1/3 for a third, six digits of something unwieldy."""
    short = f"{float(number):.12g}"
    if Fraction(short) == number:
        return short
    return str(number) if number.denominator < 1000 else f"{float(number):.6g}"


def whom(relation: Relation, unit: str) -> str:
    """The neighbours in words."""
    return f"{'adding or removing' if relation is Relation.ADD_REMOVE else 'replacing'} one {unit}"


@dataclass(frozen=True, kw_only=True)
class AccountedProgram:
    """`steps` runs of a mechanism with noise `value`, each on a sample that holds each unit with probability `rate`.

    `delta` is where its ε is stated.
    """

    name: str
    value: Fraction
    sensitivity: Fraction | None
    clip: Fraction | None
    rate: Fraction
    sampling: str
    steps: int
    relation: Relation
    unit: str
    delta: Fraction

    @classmethod
    def parse(cls, name: str, noise: NoiseOptions, sample: SampleOptions) -> "AccountedProgram":
        """From what was typed."""
        kind, given = AccountedKind.named(name), vars(noise)
        for word, text in given.items():
            if (text is not None) != (word == kind.option):
                fix = f"add --{word} NUMBER" if text is None else f"leave it out, say --{kind.option} NUMBER"
                does = "needs" if text is None else "does not take"
                raise InputError(f"{name} {does} --{word}: {fix}")
        rate, relation = exact(sample.rate, "--rate"), sample.neighbours
        _check(name, sample, sampled=rate != 1)
        clip = None if sample.clip is None else positive(sample.clip, "--clip")
        farthest = 1 if relation is Relation.ADD_REMOVE else 2
        moved = positive(sample.sensitivity or farthest, "--sensitivity") if clip is None else farthest * clip
        return cls(
            name=name,
            value=positive(given[kind.option], f"--{kind.option}"),
            sensitivity=None if kind.build is None else moved,
            clip=clip,
            rate=rate if rate == 1 else between(sample.rate, "--rate", 0, 1),
            sampling=sample.sampling,
            steps=whole(sample.steps, "--steps", least=1),
            relation=relation,
            unit=sample.unit,
            delta=_delta(name, sample.delta),
        )

    @property
    def kind(self) -> AccountedKind:
        return KINDS[self.name]

    def with_value(self, value: Number) -> "AccountedProgram":
        return replace(self, value=positive(value, self.kind.option, toward="decimal"))

    def step(self) -> PLD:
        """One run."""
        about = {"relation": self.relation, "unit": self.unit}
        whole_data = self.kind.loss(self.value, self.sensitivity or Fraction(1), about)
        if self.sampling == "fixed":
            return whole_data.sampled_without_replacement(self.rate)
        return whole_data.sampled(self.rate, clipped=self.clip is not None)

    def loss(self) -> Loss:
        """All runs."""
        return self.steps * self.step()

    def sentence(self, *, noise: bool = True) -> str:
        """The program in words."""
        times = f"{self.steps:,} × " if self.steps > 1 else ""
        set_to = f", {self.kind.option} {plain(self.value)}" if noise else ""
        moved = f", sensitivity {plain(self.sensitivity)}" if self.sensitivity else ""
        if self.clip and self.sensitivity:
            moved = f", clipped to {plain(self.clip)} (sensitivity {plain(self.sensitivity)})"
        sample = f", on {SAMPLINGS[self.sampling]} at rate {plain(self.rate)}" if self.rate != 1 else ""
        return f"{times}{self.kind.noun}{set_to}{moved}{sample}"

    def whom(self) -> str:
        return whom(self.relation, self.unit)

    def json(self) -> dict[str, object]:
        return {
            "mechanism": self.name,
            self.kind.option: float(self.value),
            **({"sensitivity": float(self.sensitivity)} if self.sensitivity else {}),
            **({"clip": float(self.clip)} if self.clip else {}),
            "rate": float(self.rate),
            "sampling": self.sampling,
            "steps": self.steps,
            "relation": self.relation.value,
            "unit": self.unit,
        }


def _delta(name: str, given: str | None) -> Fraction:
    """--delta, which only a pure mechanism may leave out."""
    if given is None and not KINDS[name].pure:
        raise InputError(f"{name} needs --delta: without one its epsilon is infinite. Try --delta 1e-6")
    found = probability(exact(given or 0, "--delta"))
    if not found and not KINDS[name].pure:
        raise InputError(f"{name} has no finite epsilon at --delta 0: pass a small one such as 1e-6")
    return found


def _check(name: str, sample: SampleOptions, *, sampled: bool) -> None:
    """Which options go with each other: kinds of sample with neighbours, a clip with a sensitivity."""
    for word, given in {"sensitivity": sample.sensitivity, "clip": sample.clip}.items():
        if KINDS[name].build is None and given is not None:
            raise InputError(f"pure does not take --{word}: its epsilon already counts it")
    if sample.sensitivity is not None and sample.clip is not None:
        raise InputError(
            "say --clip or --sensitivity, not both: clipping to C is a sensitivity of C, or of 2C under replace"
        )
    sampling, replaced = sample.sampling, sample.neighbours is Relation.REPLACE
    if sampling not in SAMPLINGS:
        raise InputError(f'--sampling must be one of {", ".join(SAMPLINGS)}, not "{sampling}"')
    if sampling == "fixed" and not replaced:
        raise InputError("--sampling fixed makes the size public, so it goes with --relation replace: add that")
    if not (sampled and sampling == "poisson" and replaced):
        return
    if name != "gaussian":
        raise InputError(
            f"a Poisson sample of {name} has no price under replace here: say --relation add_remove or --sampling fixed"
        )
    if sample.clip is None:  # how far a replaced unit moves the value does not say how long its vector is
        moved = positive(sample.sensitivity or 2, "--sensitivity")
        far, half = plain(moved), plain(moved / 2)
        raise InputError(
            f"a Poisson sample under replace needs --clip, the length of one unit's own vector. A sensitivity of {far} "
            f"is --clip {half} if vectors are clipped to length {half}, so that one may become its opposite, and "
            f"--clip {far} for values in [0, {far}], which costs more"
        )
