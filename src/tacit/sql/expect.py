"""How large the noise of each column will be, before anything is paid for."""

import numpy as np

from tacit.desk.quote import Expected
from tacit.desk.show import margin
from tacit.mechanism import BinnedQuantiles
from tacit.plan.expression import Column
from tacit.plan.moments import Recipe
from tacit.plan.price import Priced
from tacit.plan.question import Question
from tacit.sql.estimate import margin_of, width

__all__ = ["columns_of", "expected"]

TYPICAL = 1000  # rows in a group, to give ratios a number


def expected(priced: Priced, confidence: float = 0.95) -> list[Expected]:
    """One line for each column of the answer that is noisy."""
    recipes = {recipe.name: recipe for recipe in priced.planned.recipes}
    found = []
    for name, expression in priced.question.output:
        if isinstance(expression, Column) and expression.name in recipes:
            error, words = _of(priced, recipes[expression.name], confidence)
            found.append(Expected(column=name, error=error, words=words))
        elif any(isinstance(part, Column) and part.name in recipes for part in expression.walk()):
            found.append(Expected(column=name, error=None, words="follows from the columns it is made of"))
    return found


def _of(priced: Priced, recipe: Recipe, confidence: float) -> tuple[float | None, str]:
    if recipe.function == "quantile":
        step, clip = next(
            (step, priced.planned.parts[task.part].clips[task.clip])
            for task, step in priced.steps
            if task.kind == "ends" and task.clip is not None
            and priced.planned.parts[task.part].clips[task.clip].names == recipe.inputs
        )  # fmt: skip
        assert isinstance(step.mechanism, BinnedQuantiles)
        # each row counts `half` steps; a bound that is chosen privately is its own unit
        ranks = 2 * float(step.mechanism.margin) / (recipe.half if clip.bound is not None else 1)
        return None, f"an interval about {_plain(ranks)} rows wide in rank"
    step, clip = priced.noise_step(recipe.part, recipe.inputs[0])
    size, kind = float(step.mechanism.magnitude), step.mechanism.family
    unit = 1.0 if clip.bound is not None else float("nan")
    scale, half = float(recipe.step), float(recipe.half)
    one = np.array([size])
    if clip.bound is None:
        times = float(width([one], kind, confidence)[0])  # such noise is in units of the bound
        return None, f"± {_plain(times)} times what one {priced.program.unit} may count, which is chosen privately"
    if recipe.function in ("count", "histogram", "mode"):
        error = float(margin_of(recipe, width([one], kind, confidence) / half * unit)[0])
        return error, f"± {margin(error)}"
    if recipe.function == "sum":
        slopes = [one * scale] if len(recipe.inputs) == 1 else [one * scale, one * float(recipe.middle) / half]
        error = float(margin_of(recipe, width(slopes, kind, confidence))[0])
        return error, f"± {margin(error)}"
    if recipe.function == "avg":
        reach = scale * half
        error = float(width([one, one], kind, confidence)[0]) / half / TYPICAL * reach
        return (
            None,
            f"about ± {margin(error)} where a group has {TYPICAL:,} rows, ± {margin(error * 10)} for {TYPICAL // 10}",
        )
    return None, "depends on the number of rows in the group; the answer says how much"


def _plain(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def columns_of(question: Question) -> tuple[tuple[str, str], ...]:
    """Names and types of what a question gives, from its plan; a list is written with `[]` after what is in it."""
    lists = {
        each.name: "integer" if each.function == "histogram" else None
        for each in question.aggregates
        if each.function == "histogram" or each.top is not None
    }
    found = []
    for name, made in question.output:
        kind = made.facts.type.value
        if isinstance(made, Column) and made.name in lists:
            kind = f"{lists[made.name] or kind}[]"
        found.append((name, kind))
    return tuple(found)
