"""Pictures of private releases: functions from plain numbers to Altair charts.

Altair is imported in this package and nowhere else, and belongs to the extra `tacit[plot]`.
"""

from tacit.plot.answers import Cell, Rate, answer, choice, counts, law, rates
from tacit.plot.attacks import LabelledCurve, Share, curves, shares
from tacit.plot.census import CountError, census_errors
from tacit.plot.groups import GroupBar, groups
from tacit.plot.page import FORMATS, Panel, page, picture_path, write
from tacit.plot.privacy import PlottedClaim, compare, tradeoff

__all__ = [
    "FORMATS",
    "Cell",
    "CountError",
    "GroupBar",
    "LabelledCurve",
    "Panel",
    "PlottedClaim",
    "Rate",
    "Share",
    "answer",
    "census_errors",
    "choice",
    "compare",
    "counts",
    "curves",
    "groups",
    "law",
    "page",
    "picture_path",
    "rates",
    "shares",
    "tradeoff",
    "write",
]
