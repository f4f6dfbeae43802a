"""Markets that one participant can hardly gain from gaming: a price, or a choice, from everybody's sealed report."""

from tacit.market.choice import Choosing, choose, line_costs
from tacit.market.matching import Matching, match
from tacit.market.pricing import Pricing, cents, price
from tacit.market.routing import Routing, equilibrium
from tacit.market.sale import Billboard, Sale
from tacit.market.selection import ImposingGap, Selecting, Truthful, line_utility, select

__all__ = [
    "Billboard",
    "Choosing",
    "ImposingGap",
    "Matching",
    "Pricing",
    "Routing",
    "Sale",
    "Selecting",
    "Truthful",
    "cents",
    "choose",
    "equilibrium",
    "line_costs",
    "line_utility",
    "match",
    "price",
    "select",
]
