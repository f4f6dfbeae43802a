"""What a certificate says in sentences: noise in the units of the answer, bounds, what was done after the noise."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.base import Relation
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeySelection
from tacit.plan.program import Program, Step

__all__ = ["after_words", "bound_words", "neighbours_words", "noise_words", "variant_words"]

Noise = BinnedQuantiles | DiscreteLaplace | DiscreteGaussian
NOISED = re.compile(r"(?:noise on|(?:intervals round )?quantiles from) (.+?)(, in units of the chosen bound)?")
FOLLOWS = {
    "avg": "a noisy sum divided by a noisy count",
    "sum": "a noisy sum",
    "count": "a noisy count",
    "quantile": "drawn from noisy ranks",
    "histogram": "noisy counts, rounded, and none below 0",
    "mode": "the value of the largest noisy count",
}


def neighbours_words(relation: Relation, unit: str) -> str:
    """What is hidden."""
    if relation is Relation.ADD_REMOVE:
        return f"whether any one {unit} is in the data at all, with everything the data says of that {unit}"
    return f"what the data says of any one {unit}; how many there are is public"


def variant_words(currency: str, spend: str, delta: str) -> tuple[str, str]:
    """The kind of differential privacy, and the whole statement."""
    free = delta == "0"
    if currency == "epsilon":
        kind = "pure differential privacy" if free else "approximate differential privacy"
        return kind, f"ε = {spend}" if free else f"ε = {spend}, δ = {delta}"
    kind = "zero-concentrated differential privacy" if free else "approximate zero-concentrated differential privacy"
    return kind, f"ρ = {spend}" if free else f"ρ = {spend}, δ = {delta}"


def noise_words(program: Program, step: Step, clips: Sequence[Mapping[str, Any]]) -> str:
    """One step: which noise, how much of it in the units of the answer where they are known, and on what."""
    mechanism, unit = step.mechanism, program.unit
    if isinstance(mechanism, KeySelection):
        return (
            f"{_kind(mechanism.noise)} noise of {_size(mechanism.noise, Fraction(1, mechanism.one))} {unit}s on the "
            f"number of {unit}s in a group; a group is shown if that passes a threshold of "
            f"{_short(Fraction(mechanism.threshold(), mechanism.one))}"
        )
    if isinstance(mechanism, Exponential):
        return f"the exponential mechanism, with a scale of {_short(mechanism.scale)} {unit}s"
    if not isinstance(mechanism, BinnedQuantiles | DiscreteLaplace | DiscreteGaussian):
        return f"{type(mechanism).__name__}, with parameters as stated"
    named = NOISED.fullmatch(step.name)
    names = named[1].split(", ") if named else []
    chosen = _chosen(names, clips) if named and named[2] else Fraction(1)
    found = [] if chosen is None else [_measured(program, name, mechanism, chosen) for name in names]
    noise = f"{_kind(mechanism)} noise"
    if isinstance(mechanism, BinnedQuantiles):
        noise = f"the exponential mechanism on ranks, over {mechanism.cells:,} cells"
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return f"{noise}: {_size(mechanism, Fraction(1))} steps of what it is for"
    used = [recipe["text"] for recipe in _recipes(program) if set(names) & set(recipe["inputs"]) and recipe["text"]]
    what = f", for {', '.join(dict.fromkeys(used))}" if used else ""
    return f"{noise}: {'; '.join(dict.fromkeys(known))}{what}"


def _recipes(program: Program) -> list[Any]:
    return list(program.query["recipes"]) if isinstance(program.query, dict) else []


def _chosen(names: list[str], clips: Sequence[Mapping[str, Any]]) -> Fraction | None:
    """The bound that was chosen privately, which such noise is measured in."""
    for clip in clips:
        if list(clip["measures"]) == names and clip["bound"] not in (None, "None"):
            return Fraction(clip["bound"])
    return None


def _measured(program: Program, name: str, noise: Noise, times: Fraction) -> str | None:
    """The noise on one measure, in rows, units or the units of a column."""
    parts = program.query["parts"] if isinstance(program.query, dict) else []
    for part in parts:
        for ranks in part["ranks"]:
            if ranks["name"] == name:
                return f"{_size(noise, times / ranks['one'])} rows"
        for measure in part["measures"]:
            if measure["name"] != name:
                continue
            if measure["kind"] == "distinct":
                return f"{_size(noise, times)} values"
            if measure["value"] is None or measure["kind"] == "units":
                of = "rows" if measure["kind"] == "sum" else f"{program.unit}s"
                return f"{_size(noise, times / (measure['high'] or 1))} {of}"
            if any(name in recipe["inputs"][:2] for recipe in _recipes(program)):  # a sum; what follows are moments
                return f"{_size(noise, times * Fraction(measure['step']))} in the units of the values"
            return f"{_size(noise, times)} steps of a further moment"
    return None


def _kind(noise: Noise) -> str:
    return "discrete Gaussian" if isinstance(noise, DiscreteGaussian) else "discrete Laplace"


def _size(noise: Noise, each: Fraction) -> str:
    if isinstance(noise, DiscreteGaussian):
        return f"standard deviation {_short(noise.sigma * each)}"
    return f"scale {_short(noise.scale * each)}"


def _short(value: Fraction) -> str:
    return f"{float(value):,.4g}" if value < 10_000 else f"{float(value):,.0f}"


def bound_words(clip: Mapping[str, Any], unit: str) -> str:
    """How far one unit counts, and who said so."""
    rows = None if clip["rows"] is None else _short(Fraction(str(clip["rows"])))
    origin = {
        "declared": "declared in the policy or the question, before anything was looked at",
        "chosen privately": "chosen by a step of its own, which was paid for",
        "none needed": "nothing is clipped: no unit can count more, by the table's shape or as its curator vouches",
    }.get(clip["origin"], clip["origin"])
    much = f"as much as {rows} rows" if rows is not None else f"a {clip['norm']} norm of {clip['bound']} steps"
    return f"one {unit} counts for at most {much}; {origin}"


def after_words(program: Program, sql: str | None) -> list[str]:
    """What was made of the noisy numbers, which costs nothing more."""
    found = []
    for recipe in _recipes(program):
        made = FOLLOWS.get(recipe["function"], f"made of noisy sums and counts ({recipe['function']})")
        low, high = recipe["low"], recipe["high"]
        kept = [f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else ""]
        limits = " and ".join(part for part in kept if part)
        text = f"{recipe['text'] or recipe['name']}: {made}" + (f", kept {limits}" if limits else "")
        found.append(text + (", rounded to a whole number" if recipe["whole"] else ""))
    said = "" if sql is None else ", as the question says"
    found.append(f"expressions of these, HAVING, ORDER BY, LIMIT and intervals are worked out from noisy numbers{said}")
    return found
