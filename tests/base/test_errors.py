"""One tree of errors, drawn in its docstring, all of it exported."""

import pytest

from tacit import base
from tacit.base import errors


def test_every_error_hangs_in_the_tree_and_is_drawn_and_exported() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.TacitError | UserWarning), name
        assert kind.__doc__
        assert errors.__doc__ is not None
        assert name in errors.__doc__
        assert getattr(base, name) is kind
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


@pytest.mark.parametrize("kind", [errors.InputError, errors.SensitivityError, errors.LatticeError])
def test_wrong_arguments_are_value_errors_too(kind: type[Exception]) -> None:
    assert issubclass(kind, ValueError)
    assert issubclass(kind, errors.TacitError)
