"""The exactly clipped sum of per-example gradients of a torch model."""

from tacit.learn.gradient.clipping import SLACK, Clipping, Flat, Normalised, PerLayer
from tacit.learn.gradient.gradients import Gradients
from tacit.learn.gradient.shapes import InputShape

__all__ = ["SLACK", "Clipping", "Flat", "Gradients", "InputShape", "Normalised", "PerLayer"]
