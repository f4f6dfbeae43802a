"""Pictures of private releases: functions from plain numbers to Altair charts.

Altair is imported in this package and nowhere else, and belongs to the extra `tacit[plot]`.
"""

from tacit.plot.answer import answer
from tacit.plot.choice import choice
from tacit.plot.compare import Claim, compare
from tacit.plot.counts import Cell, counts
from tacit.plot.curves import Curve, curves
from tacit.plot.law import law
from tacit.plot.page import page
from tacit.plot.rates import Rate, rates
from tacit.plot.shares import Share, shares
from tacit.plot.style import Panel
from tacit.plot.tradeoff import tradeoff
from tacit.plot.write import FORMATS, picture_path, write

__all__ = [
    "FORMATS",
    "Cell",
    "Claim",
    "Curve",
    "Panel",
    "Rate",
    "Share",
    "answer",
    "choice",
    "compare",
    "counts",
    "curves",
    "law",
    "page",
    "picture_path",
    "rates",
    "shares",
    "tradeoff",
    "write",
]
