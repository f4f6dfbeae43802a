"""Surveys that never see the truth: answers are randomised on the respondent's device."""

from tacit.survey.direct import DirectResponse
from tacit.survey.protocol import Protocol, Tally

__all__ = ["DirectResponse", "Protocol", "Tally"]
