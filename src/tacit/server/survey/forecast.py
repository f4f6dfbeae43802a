"""What to expect of a draft: how well so many answers tell, and how many it takes, in sentences for a page."""

from fractions import Fraction
from typing import Any

from tacit.base import InputError
from tacit.policy.kind import number, whole
from tacit.server.survey.check import Flaw
from tacit.server.survey.draft import Trial
from tacit.survey.plan import Forecast, plan
from tacit.survey.results import meaning
from tacit.survey.survey import Survey

__all__ = ["forecast"]

MOST = 10**12
POINTS = number(above=0, below=100)
FORMS = {"share": "± {} points", "number": "± {} % of the range", "text": "texts that {} % give"}


def forecast(survey: Survey, asked: Trial) -> tuple[dict[str, Any], list[Flaw]]:
    """The plan of a survey as JSON, and what is wrong with how it was asked for. Nothing is told without answers."""
    problems = []
    answers, within = None, None
    try:
        answers = None if not asked.answers else min(whole.read(asked.answers), MOST)
    except InputError as error:
        problems.append(Flaw(("answers",), str(error)))
    try:
        within = None if not asked.within else POINTS.read(asked.within)
    except InputError as error:
        problems.append(Flaw(("within",), str(error)))
    told: dict[str, Any] = {"meaning": meaning(float(survey.epsilon)), "answers": answers, "questions": []}
    if answers is None:
        return told, problems
    try:
        found = plan(survey, answers=answers, within=None if within is None else within / 100)
    except (InputError, ArithmeticError):  # bars too wide for a number
        return told, [*problems, Flaw(("epsilon",), "is too small: the answers would say nothing")]
    told["questions"] = [_told(each, answers, within) for each in found.forecasts]
    return told, problems


def _told(found: Forecast, answers: int, within: Fraction | None) -> dict[str, Any]:
    expected = f"it {found.shown}" if found.unit == "text" else f"expect {found.shown}"
    told = {
        "name": found.name,
        "epsilon": found.epsilon,
        "expected": f"With {answers:,} answer{'' if answers == 1 else 's'} {expected}",
        "needed": None,
    }
    if within is not None and found.needed is not None:
        goal = FORMS[found.unit].format(f"{float(within):g}")
        told["needed"] = f"For {goal} it takes {max(1, found.needed):,} answers"
    return told
