"""The columns that settings name, as the policy declares them: found, checked, and described for a model's file."""

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any, Protocol

from tacit.base import Problem, SettingsError
from tacit.desk import Spender
from tacit.learn.config.train import TrainSettings
from tacit.plan.facts import Facts, Type, domain_of
from tacit.policy.declaration import instead, number, quoted

__all__ = ["LABELS", "classes_of", "column_facts", "described", "ends_of", "plan_of", "wrong"]

LABELS = 1000  # that a model tells apart
REGRESSIONS = ("linear", "ridge")
NUMERIC = (Type.INTEGER, Type.NUMBER, Type.BOOLEAN)


class NamesColumns(Protocol):
    """Settings that name columns of a table."""

    @property
    def table(self) -> str: ...

    @property
    def features(self) -> tuple[str, ...]: ...

    @property
    def label(self) -> str | None: ...


def wrong(key: str, told: str) -> SettingsError:
    """What is wrong with what one key says."""
    return SettingsError(Problem((key,), told))


def column_facts(settings: NamesColumns, spender: Spender) -> tuple[tuple[str, ...], dict[str, Facts]]:
    """The features, with what ends in * spelled out, and what is declared of them and of the label."""
    table = settings.table
    scan = spender.scan(table)
    known = {source.name: source.facts for source in scan.columns if source.name != scan.unit_name}
    features: list[str] = []
    for name in settings.features:
        found = [each for each in known if each.startswith(name[:-1])] if name.endswith("*") else [name]
        found = [each for each in found if each != settings.label]
        if not found:
            raise wrong("features", f"no column of table {quoted(table)} begins with {quoted(name[:-1])}")
        features += found
    for name in (*features, *(() if settings.label is None else (settings.label,))):
        if name not in known:
            raise wrong(
                "label" if name == settings.label else "features",
                f"table {quoted(table)} has no column {quoted(name)} with a type: "
                f"{instead(name, known, those='columns')}",
            )
    return tuple(dict.fromkeys(features)), known


def ends_of(name: str, facts: Facts, key: str = "features") -> tuple[float, float]:
    """The bounds of a column of numbers, which the settings name under `key`."""
    if facts.type is Type.BOOLEAN:
        return 0.0, 1.0
    if facts.type not in NUMERIC:
        raise wrong(
            key,
            f"column {quoted(name)} holds no numbers, and this model learns from numbers: leave it out, or take a "
            "network (mlp), which also takes columns with a list of values",
        )
    if facts.low is None or facts.high is None:
        raise wrong(
            key,
            f"column {quoted(name)} has no bounds, so it has no scale: declare bounds = [low, high] for it in the "
            "policy",
        )
    return float(facts.low), float(facts.high)  # type: ignore[arg-type]  # of numbers


def classes_of(name: str, facts: Facts) -> tuple[Any, ...]:
    """The labels that a model tells apart."""
    found = domain_of(facts, LABELS)
    if found is None or not all(isinstance(each, str | bool | int) for each in found):
        raise wrong(
            "label",
            f"column {quoted(name)} has no short list of labels: declare group_keys = […] for it in the policy, or "
            f"bounds for whole numbers, at most {LABELS} in all",
        )
    return found


def described(name: str, facts: Facts) -> dict[str, Any]:
    """A column as a model's file tells of it: declarations, which say nothing of any row."""
    values = domain_of(facts, LABELS)
    told: dict[str, Any] = {"name": name, "type": facts.type.value}
    if facts.domain is None and facts.type in NUMERIC and facts.low is not None and facts.high is not None:
        return {**told, "bounds": [_plain(facts.low), _plain(facts.high)]}
    return told if values is None else {**told, "values": [_plain(each) for each in values]}


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else number(value)
    return value


def plan_of(settings: TrainSettings, features: tuple[str, ...], known: Mapping[str, Facts]) -> dict[str, Any]:
    """What a plan says of its model: the settings, and the columns as they are declared."""
    label, told = settings.label, None
    if label is not None:
        told = described(label, known[label])
        values = domain_of(known[label], LABELS)
        if values is not None and settings.model.value not in REGRESSIONS:
            told = {"name": label, "type": told["type"], "values": [_plain(each) for each in values]}
    return {
        "settings": settings.json(),
        "inputs": [described(name, known[name]) for name in features],
        "label": told,
    }
