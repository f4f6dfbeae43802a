"""A first survey file to change, and the reference of all its keys, from the model itself."""

from tacit.policy.reference import tabled
from tacit.survey.question import Question
from tacit.survey.survey import Survey

__all__ = ["STARTER", "as_markdown"]

STARTER = """\
# A survey whose answers are randomised on the respondents' own devices. Lines that begin with # are comments.
# Try it: `tacit survey plan FILE`, `tacit survey simulate FILE`, `tacit serve --survey FILE`.

name = "my-survey"          # in addresses; other questions later need another name
title = "What do you think?"
# words = "Who asks, and what for."
epsilon = 2                 # how much all answers of one respondent may give away together: smaller is more private
minimum = 100               # results are shown in batches of at least so many reports
# opens = 2026-05-01
# closes = 2026-06-01
# public_results = true     # else only those who can sign in see them
# invitations = "code"      # else anybody may answer, also many times: make codes with `tacit survey invite`

[questions.happy]
ask = "Are you happy with it?"
kind = "yes-no"
epsilon = 1                 # questions without an epsilon share what is left

[questions.best]
ask = "What is best about it?"
kind = "choice"
options = ["the price", "the colour", "the people", "I would rather not say"]

# [questions.uses]
# ask = "What do you use it for?"
# kind = "several"          # any number of the options
# options = ["work", "study", "play"]

# [questions.hours]
# ask = "For how many hours a week?"
# kind = "number"
# range = [0, 60]           # from common knowledge, never from answers
# show = "mean"             # or "distribution"

# [questions.word]
# ask = "Which word comes to mind?"
# kind = "text"             # only texts that many give are found
"""

HEADING = """\
# The survey file

Every key of a survey file, from the model that reads it. This page is written by `make docs` (`tacit survey new
--reference`). How to run one: [Run a survey](../how-to/run-a-survey.md).

Numbers are exact: `0.1` is a tenth, and `"1/3"` (in quotes) a third. Text is in quotes, dates are not. A key that is
not listed here is an error, and everything that is wrong with a file is said at once.
"""

SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("At the top", "The survey, and what it promises to one respondent.", Survey),
    ("`[questions.NAME]`", "One question. Everybody answers every question, in this order.", Question),
)


def as_markdown() -> str:
    """The page docs/reference/survey-file.md."""
    return tabled(HEADING, SECTIONS)
