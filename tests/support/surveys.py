"""Surveys to try things on."""

from pathlib import Path

from tacit.survey.survey import Survey, parse

__all__ = ["SLEEP", "sleep", "written"]

SLEEP = """
name = "sleep"
title = "How do we sleep?"
words = "The sleep clinic asks, to plan its hours."
epsilon = 4
minimum = 5

[questions.slept]
ask = "Did you sleep well last night?"
kind = "yes-no"
epsilon = 1

[questions.wakes]
ask = "What wakes you?"
kind = "choice"
options = ["nothing", "noise", "light", "worries", "a child <3"]
epsilon = 1

[questions.takes]
ask = "What do you take?"
kind = "several"
options = ["tea", "pills", "a walk"]
epsilon = 1

[questions.hours]
ask = "For how many hours?"
kind = "number"
range = [0, 12]
"""


def sleep(**changes: object) -> Survey:
    """The survey above, with lines at its top changed."""
    text = SLEEP
    for name, value in changes.items():
        lines = [line for line in text.splitlines() if not line.startswith(f"{name} = ") or text.index(line) > 150]
        text = f"{name} = {value}\n" + "\n".join(lines)
    return parse(text)


def written(folder: Path, text: str = SLEEP) -> Path:
    """The survey as a file."""
    path = folder / "survey.toml"
    path.write_text(text, encoding="utf-8")
    return path
