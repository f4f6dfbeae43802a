"""Markets that one participant can hardly gain from gaming: a price, or a choice, from everybody's sealed report."""

from tacit.market.choice import Choosing, ImposingGap, Truthful, choose, choose_several, line_costs
from tacit.market.pricing import Pricing, cents, price
from tacit.market.sale import Sale

__all__ = [
    "Choosing",
    "ImposingGap",
    "Pricing",
    "Sale",
    "Truthful",
    "cents",
    "choose",
    "choose_several",
    "line_costs",
    "price",
]
