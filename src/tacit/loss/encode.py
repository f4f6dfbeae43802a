"""A loss as plain data and back, so that a ledger can keep what was run and price it again when a proof improves.

Numbers are strings, exact fractions or decimals. A program of mechanisms is stored as its parts and comes back as the
narrowest kind that describes them: `Approx(1, 0)` comes back as `Pure(1)`.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.base import InputError, LossError, Relation, TacitError, exact, whole
from tacit.loss.concentrated import ZCDP, MeanConcentrated, ShiftedZCDP
from tacit.loss.loss import Loss
from tacit.loss.part import Part, part_from_json
from tacit.loss.pld import PLD
from tacit.loss.renyi import RDP

__all__ = ["VERSION", "from_json", "to_json"]

VERSION = 1


def _rdp(orders: list[Fraction], values: list[Fraction], delta: Fraction, **about: Any) -> RDP:
    return RDP(orders, values, delta, **about)


# Beside lists of parts: each kind, how it is made of its stored fields, and the attribute that each field is.
CURVES: dict[str, tuple[type[Loss], Callable[..., Loss], dict[str, str]]] = {
    "zcdp_gdp": (ZCDP, ZCDP, {"rho": "rho", "delta": "slack", "mu_squared": "mu_squared"}),
    "zcdp": (ZCDP, ZCDP, {"rho": "rho", "delta": "slack"}),
    "shifted_zcdp": (ShiftedZCDP, ShiftedZCDP, {"xi": "xi", "rho": "rho"}),
    "mean_concentrated": (MeanConcentrated, MeanConcentrated, {"mean": "mean", "square": "square"}),
    "rdp": (RDP, _rdp, {"orders": "orders", "values": "values", "delta": "slack"}),
}
LISTS = {"orders", "values"}


def to_json(loss: Loss) -> dict[str, Any]:
    """Plain data that `from_json` turns into an equal loss."""
    head = {"version": VERSION, "relation": loss.relation.json(), "unit": loss.unit}
    if isinstance(loss, PLD):
        return {**head, "kind": "parts", "parts": [{"count": n, "part": part.json()} for part, n in loss.parts]}
    for kind, (of, _, fields) in CURVES.items():
        if isinstance(loss, of) and all(getattr(loss, its) is not None for its in fields.values()):
            return {**head, "kind": kind, **{name: _text(getattr(loss, its)) for name, its in fields.items()}}
    raise LossError(
        f"a loss of kind {type(loss).__name__} has no stored form: convert it, or store cost_at(loss, delta)"
    )


def _text(value: Any) -> str | list[str]:
    return [str(item) for item in value] if isinstance(value, tuple) else str(value)


def from_json(data: Any) -> Loss:
    """The inverse of `to_json`; anything not understood entirely is refused."""
    if not isinstance(data, dict):
        raise InputError(f"a stored loss is an object with version, kind, relation and unit, not {type(data).__name__}")
    if data.get("version") != VERSION:
        raise InputError(f"this stored loss has version {data.get('version')!r}; this program reads version {VERSION}")
    kind = data.get("kind")
    if kind == "parts":
        _only(data, "parts")
        return PLD.of(tuple(_part(entry) for entry in _list(data, "parts")), **_neighbours(data))
    if not isinstance(kind, str) or kind not in CURVES:
        known = ", ".join(("parts", *CURVES))
        raise InputError(f"unknown kind of stored loss {kind!r}: this version reads {known}")
    _, build, fields = CURVES[kind]
    _only(data, *fields)
    return build(**{name: _read(data, name) for name in fields}, **_neighbours(data))


def _read(data: dict[str, Any], name: str) -> Fraction | list[Fraction]:
    if name in LISTS:
        return [_number(text, name) for text in _list(data, name)]
    return _number(data[name], name)


def _list(data: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(data[name], list):
        raise InputError(f"{name} of a stored loss must be a list, not {type(data[name]).__name__}")
    return list(data[name])


def _part(entry: Any) -> tuple[Part, int]:
    if not isinstance(entry, dict) or set(entry) != {"count", "part"} or not isinstance(entry["part"], dict):
        raise InputError(f"each of the parts must have exactly count and part, not {entry!r}")
    if isinstance(entry["count"], bool) or not isinstance(entry["count"], int):
        raise InputError(f"count must be a whole number, not {entry['count']!r}")
    _strings(entry["part"])
    try:
        part = part_from_json(entry["part"])
        _sane(part)
        _ = (part.bound, part.slack, part.rho, part.mu_squared)  # a part whose closed forms fail is not a part
    except TacitError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError) as cause:
        raise InputError(f"this stored part is damaged ({cause}): {entry['part']!r}") from cause
    return part, whole(entry["count"], "count", least=1)


def _strings(value: Any) -> None:
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if not isinstance(inner, dict | list | str):
            raise InputError(f"numbers of a stored part must be strings, so that they are exact, not {inner!r}")
        _strings(inner)


PROBABILITIES = {"rate", "delta"}
NOT_ZERO = {"scale", "variance", "square", "rate"}


def _sane(part: Part) -> None:
    """Numbers as a constructor would have checked them."""
    for name, value in vars(part).items():
        if isinstance(value, Part):
            _sane(value)
        elif isinstance(value, Fraction) and (
            value < 0 or (name in NOT_ZERO and value == 0) or (name in PROBABILITIES and value >= 1)
        ):
            raise InputError(f"{name} = {value} is not possible in a stored {part.kind}")


def _number(text: Any, name: str) -> Fraction:
    if not isinstance(text, str):
        raise InputError(f"{name} of a stored loss must be a string, so that it is exact, not {text!r}")
    return exact(text, name)


def _only(data: dict[str, Any], *names: str) -> None:
    wanted = {"version", "kind", "relation", "unit", *names}
    if set(data) != wanted:
        raise InputError(f"a stored loss of kind {data['kind']!r} has exactly the fields {', '.join(sorted(wanted))}")


def _neighbours(data: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(data["unit"], str) or not data["unit"]:
        raise InputError(f"unit of a stored loss must be a name such as 'row', not {data['unit']!r}")
    return {"relation": Relation.from_json(data["relation"]), "unit": data["unit"]}
