"""Guarantees and how they combine. For now the closed forms; every mechanism states its loss in them."""

from tacit.loss.approx import Approx, Pure
from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.interval import Interval
from tacit.loss.loss import Loss
from tacit.loss.shift import GaussianShift
from tacit.loss.zcdp import ZCDP

__all__ = ["ZCDP", "Approx", "GaussianShift", "Interval", "Loss", "Pure", "gaussian_delta", "gaussian_epsilon"]
