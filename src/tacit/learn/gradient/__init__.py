"""The exactly clipped sum of per-example gradients of a torch model."""

from tacit.learn.gradient.clipping import Clipping, Flat, Normalised, PerLayer
from tacit.learn.gradient.gradients import Gradients
from tacit.learn.gradient.shapes import InputShape

__all__ = ["Clipping", "Flat", "Gradients", "InputShape", "Normalised", "PerLayer"]
