"""Markets that one participant can hardly gain from gaming: a price, or a choice, from everybody's sealed report."""

from tacit.market.choice import Choosing, ImposingGap, Truthful, choose, line_costs
from tacit.market.matching import Matching, match
from tacit.market.pricing import Pricing, cents, price
from tacit.market.routing import Routing, equilibrium
from tacit.market.sale import Billboard, Sale

__all__ = [
    "Billboard",
    "Choosing",
    "ImposingGap",
    "Matching",
    "Pricing",
    "Routing",
    "Sale",
    "Truthful",
    "cents",
    "choose",
    "equilibrium",
    "line_costs",
    "match",
    "price",
]
