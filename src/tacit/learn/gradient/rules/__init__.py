"""How each kind of layer is kept on a tape. Importing this package registers the rules."""

from tacit.learn.gradient.rules import attention, convolution, elementwise, matrix, recurrent

__all__ = ["attention", "convolution", "elementwise", "matrix", "recurrent"]
