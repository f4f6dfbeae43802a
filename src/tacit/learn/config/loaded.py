"""A model that was trained by settings, from its file: what it was told is in the file, so it can be asked."""

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.base import InputError
from tacit.learn.config.fit_job import MODELS, estimator_of
from tacit.learn.config.network import network_of
from tacit.learn.config.text_rows import hashed_words
from tacit.learn.config.train import TrainSettings
from tacit.learn.estimator import Bounds
from tacit.learn.estimator.bounds import Array
from tacit.learn.model import ModelFile
from tacit.learn.need import need_torch
from tacit.learn.rows import InputSize
from tacit.learn.table_rows import encoded_column, input_values
from tacit.plan.facts import Facts, Type

__all__ = ["LoadedModel", "load_model"]

AT_ONCE = 1024  # rows that a network is asked about


class _Named:
    """As many rows of these columns as a fit's plan wants to see: one, of zeros."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns = list(names)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.zeros((1, len(self.columns)))


class LoadedModel:
    """A model and what its file says. `model` is a fitted estimator, or a torch module in evaluation."""

    def __init__(self, file: ModelFile) -> None:
        about = file.about["plan"].get("about", {})
        if "settings" not in about:
            raise InputError("this model was not trained by settings: load its file.tensors() into your own module")
        if "inputs" not in about:
            raise InputError("this model learned from a file of rows that were prepared elsewhere: use file.tensors()")
        self.file = file
        self.settings = TrainSettings.read(about["settings"], local=True)
        self._inputs: list[dict[str, Any]] = about["inputs"]
        self._label: dict[str, Any] | None = about["label"]
        self.is_fit = self.settings.model.value in MODELS
        self.model = self._fitted() if self.is_fit else self._network()

    @property
    def epsilon(self) -> float | None:
        """What it cost one unit, as its file says."""
        return self.file.epsilon

    @property
    def columns(self) -> tuple[str, ...]:
        """What it has to be told of each row."""
        return tuple(each["name"] for each in self._inputs)

    def predict(self, rows: Mapping[str, Any] | pa.Table) -> Any:
        """What it says of rows, given as columns by name: a label, a number, or of a fit without labels its own."""
        table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows))
        for name in self.columns:
            if name not in table.column_names:
                raise InputError(f'the model wants a column "{name}": it takes {", ".join(self.columns)}')
        if self.is_fit:
            given = np.column_stack([table.column(name).to_numpy().astype(float) for name in self.columns])
            model = self.model
            return model.predict(given) if hasattr(model, "predict") else model.transform(given)
        return self._said(table)

    # --- fits

    def _fitted(self) -> Any:
        declared: dict[str, Any] = {"bounds": Bounds({each["name"]: _ends(each) for each in self._inputs})}
        label, kind = self._label, MODELS[self.settings.model.value].kind
        if label is not None and kind == "classifier":
            declared["classes"] = label["values"]
        if label is not None and kind == "regressor":
            declared["target"] = _ends(label)
        model = estimator_of(self.settings, **declared)
        plan = model.plan(_Named(self.columns), None if label is None else np.zeros(1))
        state = {
            name: np.frombuffer(data, dtype="<f8").reshape(shape) for name, (_, shape, data) in self.file.arrays.items()
        }
        return model._fitted(plan, state, None)

    # --- networks

    def _network(self) -> Any:
        values = (self._label or {}).get("values")
        facts = [(each["name"], _facts(each)) for each in self._inputs]
        self._values, self._columns = values, facts
        if self.settings.model.value == "text":
            size = InputSize((self.settings.length,), self.settings.vocabulary)
        else:
            size = InputSize((sum(len(input_values(name, fact) or (0,)) for name, fact in facts),))
        network = network_of(self.settings, (size, InputSize((), None if values is None else len(values))))
        network.load_state_dict(self.file.tensors())
        return network.eval()

    def _said(self, table: pa.Table) -> Any:
        torch = need_torch()
        if self.settings.model.value == "text":
            settings = self.settings
            texts = table.column(self.columns[0]).to_pylist()
            words = [hashed_words(text or "", settings.vocabulary, settings.length) for text in texts]
            inputs = torch.tensor(words, dtype=torch.int64).reshape(len(words), settings.length)
        else:
            parts = [encoded_column(name, fact, table.column(name)) for name, fact in self._columns]
            inputs = torch.from_numpy(np.concatenate(parts, axis=1))
        with torch.no_grad():
            found = torch.cat([self.model(part) for part in inputs.split(AT_ONCE)]).numpy()
        if self._values is not None:
            return np.array(self._values)[found.argmax(axis=1)]
        low, high = _ends(self._label or {})
        return np.clip(found[:, 0], -1, 1) * (high - low) / 2 + (high + low) / 2

    def __repr__(self) -> str:
        return f"<{self.settings.model.value}, {self.file.sentence}>"


def load_model(path: Path | str) -> LoadedModel:
    """The model in a file of `tacit train`, or of the console."""
    return LoadedModel(ModelFile.read(path))


def _number(value: Any) -> Fraction:
    return Fraction(str(value))


def _ends(column: Mapping[str, Any]) -> tuple[float, float]:
    if column["type"] == Type.BOOLEAN.value:
        return 0.0, 1.0
    low, high = column["bounds"]
    return float(_number(low)), float(_number(high))


def _facts(column: Mapping[str, Any]) -> Facts:
    """What was declared of a column."""
    kind = Type(column["type"])
    if "bounds" in column:
        low, high = map(_number, column["bounds"])
        return Facts(type=kind, low=low, high=high)
    values = column.get("values")
    if values is not None and kind is Type.DATE:
        values = [date.fromisoformat(each) for each in values]
    return Facts(type=kind, domain=None if values is None else tuple(values))
