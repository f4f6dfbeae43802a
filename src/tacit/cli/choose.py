"""`tacit account choose`: which budget, from what people want to know and which odds they tolerate."""

from typing import Annotated

from tacit.cli.options import Json, option
from tacit.cli.screen import bullets, line, output
from tacit.policy.choose import choose_budget

__all__ = ["choose"]


def choose(
    people: Annotated[str, option("COUNT", "About how many people are in the data.")],
    error: Annotated[str, option("NUMBER", "How near each count has to be, in 95 of 100 cases.")],
    questions: Annotated[str, option("COUNT", "How many such counts there are in all.")] = "50",
    belief: Annotated[
        str, option("PERCENT", "Where a belief of 50 % that one person is in the data may end, at most.")
    ] = "90",
    rows: Annotated[str, option("COUNT", "How many rows one person counts for, at most.")] = "1",
    unit: Annotated[str, option("NOUN", "What one person is called.")] = "person",
    as_json: Json = False,
) -> None:
    """Which budget? See whether the accuracy that is wanted and the odds that are tolerated go together.

    Example: tacit account choose --people 10000 --error 50 --questions 50 --belief 90
    """
    found = choose_budget(people=people, error=error, questions=questions, belief=belief, rows=rows, unit=unit)
    sentence = found.meaning(found.budget).sentence
    output(as_json, found.json(), bullets(found.words()), line("With this budget", "bold"), sentence, "", found.toml)
