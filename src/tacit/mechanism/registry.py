"""Every mechanism of the product, and each as plain data. Adding one is its file and a line here.

Laws, audit, docs and CLI read `MECHANISMS`. A ledger keeps what was run as {"name": class, field: value, …}, led by the
declared types of the fields: fractions are strings, tuples are lists, a mechanism within a mechanism is such an object.
"""

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tacit.base import InputError, Relation
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown
from tacit.mechanism.binned_quantiles import BinnedQuantiles
from tacit.mechanism.bounded_mean import BoundedMean
from tacit.mechanism.bounded_variance import BoundedVariance
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.key_selection import KeySelection
from tacit.mechanism.keyed_counts import KeyedCounts
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.mechanism import Mechanism
from tacit.mechanism.partition_selection import PartitionSelection
from tacit.mechanism.perturbed_objective import PerturbedObjective
from tacit.mechanism.planar import PlanarLaplace
from tacit.mechanism.propose_test_release import ProposeTestRelease
from tacit.mechanism.quantile import Quantile
from tacit.mechanism.quantiles import Quantiles
from tacit.mechanism.randomized_response import CoinFlipSurvey, KaryResponse, RandomizedResponse
from tacit.mechanism.selection import Exponential, NoisyMax, PermuteAndFlip
from tacit.mechanism.smooth_median import SmoothMedian
from tacit.mechanism.smooth_noise import SmoothNoise
from tacit.mechanism.sparse_vector import SparseVector
from tacit.mechanism.stable_histogram import StableHistogram
from tacit.mechanism.vote import NoisyVote

__all__ = ["MECHANISMS", "UNLISTED", "mechanism_from_json", "mechanism_to_json", "register_stored"]

MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    DiscreteLaplace,
    Gaussian,
    DiscreteGaussian,
    Exponential,
    PermuteAndFlip,
    NoisyMax,
    NoisyVote,
    SparseVector,
    Quantile,
    Quantiles,
    BinnedQuantiles,
    SmoothMedian,
    SmoothNoise,
    ProposeTestRelease,
    PartitionSelection,
    KeySelection,
    KeyedCounts,
    StableHistogram,
    BoundedMean,
    BoundedVariance,
    RandomizedResponse,
    KaryResponse,
    CoinFlipSurvey,
    PlanarLaplace,
)

# outputs that no list holds: their tests are apart
UNLISTED: tuple[type[Mechanism], ...] = (PerturbedObjective,)

SCALARS = (str, int, bool)
_further: dict[str, type[Mechanism]] = {}


def register_stored(*kinds: type[Mechanism]) -> None:
    """Give mechanisms of a layer above this one a stored form too, under the names of their classes."""
    for kind in kinds:
        taken = [known for known in _stored_kinds() if known.__name__ == kind.__name__ and known is not kind]
        if taken:
            raise InputError(f"{taken[0].__module__} stores another {kind.__name__}: rename one of the classes")
        _further[kind.__name__] = kind


def _stored_kinds() -> tuple[type[Mechanism], ...]:
    return (*MECHANISMS, *UNLISTED, *_further.values())


def mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Plain data that `mechanism_from_json` turns into an equal mechanism."""
    kind = type(mechanism)
    if kind not in _stored_kinds():
        raise InputError(f"{kind.__name__} has no stored form: only a mechanism of the registry has one")
    return {"name": kind.__name__, **_write_fields(mechanism, kind.__name__)}


def mechanism_from_json(data: Any) -> Mechanism:
    """The inverse of `mechanism_to_json`; anything not understood entirely is refused."""
    mechanism = _read_mechanism(data, Mechanism, "a stored mechanism")
    if mechanism_to_json(mechanism) != data:  # a value that the mechanism itself fills in, such as a granularity
        raise InputError(
            f"this stored {type(mechanism).__name__} leaves open what a stored one must say: it is not ours"
        )
    return mechanism


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The declared type of each field that is given, in order."""
    assert is_dataclass(kind)
    known = get_type_hints(kind)
    return {field.name: known[field.name] for field in fields(kind) if field.init}


@cache
def _if_given(kind: type) -> set[str]:
    """Fields younger than what ledgers hold: left out where they say nothing."""
    assert is_dataclass(kind)
    return {field.name for field in fields(kind) if field.metadata.get("stored") == "if given"}


def _inner(hint: Any) -> tuple[Any, bool]:
    """The type within `X | None`, and whether it was one."""
    if get_origin(hint) in (UnionType, Union):
        options = [option for option in get_args(hint) if option is not NoneType]
        if len(options) == 1:
            return options[0], True
    return hint, False


def _write_fields(value: Any, where: str) -> dict[str, Any]:
    hints, late = _hints(value.__class__), _if_given(value.__class__)
    found = {name: _write(getattr(value, name), hint, f"{where}.{name}") for name, hint in hints.items()}
    return {name: stored for name, stored in found.items() if stored is not None or name not in late}


def _write(value: Any, hint: Any, where: str) -> Any:
    """One field's value as plain data; a value that is not of its declared type has no stored form."""
    kind, optional = _inner(hint)
    if optional and value is None:
        return None
    if kind is Fraction and isinstance(value, Fraction):
        return fraction_to_text(value, where)
    if kind in SCALARS and type(value) is kind:
        return value
    if kind is Hashable and type(value) in SCALARS:
        return value
    if get_origin(kind) is Literal and type(value) is str and value in get_args(kind):
        return value
    if get_origin(kind) is tuple and isinstance(value, tuple):
        return [_write(item, get_args(kind)[0], f"{where}[{i}]") for i, item in enumerate(value)]
    if kind is not Hashable and isinstance(kind, type) and isinstance(value, kind):
        if isinstance(value, Relation):
            return value.json()
        if isinstance(value, Mechanism):
            return mechanism_to_json(value)
        if is_dataclass(value):
            return _write_fields(value, where)
    raise InputError(f"{where} of type {type(value).__name__} has no stored form: it must be {_spelled(hint)}")


def _read(data: Any, hint: Any, where: str) -> Any:
    """The inverse of `_write`."""
    kind, optional = _inner(hint)
    if optional and data is None:
        return None
    if kind is Fraction:
        return fraction_from_text(data, where)
    if kind in SCALARS and type(data) is kind:
        return data
    if kind is Hashable and type(data) in SCALARS:
        return data
    if get_origin(kind) is Literal and type(data) is str and data in get_args(kind):
        return data
    if get_origin(kind) is tuple and isinstance(data, list):
        return tuple(_read(item, get_args(kind)[0], f"{where}[{i}]") for i, item in enumerate(data))
    if isinstance(kind, type):
        if kind is Relation and data in list(Relation):
            return Relation(data)
        if issubclass(kind, Mechanism):
            return _read_mechanism(data, kind, where)
        if is_dataclass(kind):
            return _read_fields(data, kind, where)
    raise InputError(f"{where} must be stored as {_spelled(hint)}, not as {shown(data)}")


def _read_mechanism(data: Any, within: type[Any], where: str) -> Mechanism:
    """A mechanism of the kind `within`, which is checked before anything inside is read."""
    name = data.get("name") if isinstance(data, dict) else None
    found = [kind for kind in _stored_kinds() if kind.__name__ == name and issubclass(kind, within)]
    if not found:
        known = ", ".join(kind.__name__ for kind in _stored_kinds() if issubclass(kind, within))
        raise InputError(f"{where} must be an object whose name is one of {known}; this one's is {shown(name)}")
    rest = {key: value for key, value in data.items() if key != "name"}
    mechanism: Mechanism = _read_fields(rest, found[0], found[0].__name__)
    return mechanism


def _read_fields(data: Any, kind: type, where: str) -> Any:
    hints, late = _hints(kind), _if_given(kind)
    held = {name: hint for name, hint in hints.items() if name not in late or (isinstance(data, dict) and name in data)}
    only_fields(data, f"a stored {where}", held)
    return kind(**{name: _read(data[name], hint, f"{where}.{name}") for name, hint in held.items()})


def _spelled(hint: Any) -> str:
    """A declared type, in words for an error."""
    kind, optional = _inner(hint)
    if kind is Hashable:
        words = "a string, a whole number or a truth value"
    elif get_origin(kind) is Literal:
        words = " or ".join(repr(option) for option in get_args(kind))
    elif get_origin(kind) is tuple:
        words = "a list"
    elif kind is Relation:
        words = " or ".join(repr(option.value) for option in Relation)
    else:
        names = {int: "a whole number", bool: "true or false", str: "a string", Fraction: "a fraction"}
        words = names.get(kind, getattr(kind, "__name__", repr(kind)))
    return f"{words} or nothing" if optional else words
