"""Teachers: models of somebody's own, each fitted to a part of the data that shares no unit with another's (PATE).

Which part a unit is in follows from its name alone, by a hash, or from a coin of its own where every row is a unit. So
one unit more or less changes one teacher. A teacher that cannot be fitted, or says what is no class, has no vote.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import InputError, Number, whole
from tacit.learn.need import need_torch
from tacit.learn.votes import Ints, VoteRule
from tacit.noise import rng_or_default

if TYPE_CHECKING:
    from tacit.desk import Spender
    from tacit.learn.labels import Labels

__all__ = ["Teachers", "part_of"]

Array = np.ndarray[Any, np.dtype[Any]]
Train = Callable[[Any, Any, Any], Any]


def part_of(unit: Any, count: int) -> int:
    """Which of `count` teachers a unit belongs to: a function of its name and nothing else. 7 and 7.0 are one unit."""
    if unit is None or isinstance(unit, bool | np.bool_):
        raise InputError("a row has no unit: every row must say whose it is, by a whole number or a text")
    if isinstance(unit, float | np.floating):
        if not float(unit).is_integer():
            raise InputError("a unit is named by a whole number or a text, not by a float, and not by NaN")
        unit = int(unit)
    digest = sha256(b"tacit teacher\0" + str(unit).encode()).digest()
    return int.from_bytes(digest[:16], "big") % count


class Teachers:
    """Fitted teachers. Private: nothing of them may be shown but labels that were paid for."""

    def __init__(
        self,
        models: Sequence[Any],
        *,
        shape: tuple[int, ...],
        label: str | None,
        classes: Sequence[Any] | None,
        table: str | None,
        by: Any,
    ) -> None:
        self._models, self.shape = tuple(models), shape
        self._label, self._classes, self._table, self._by = label, classes, table, by
        # another fit is another question: without this it would be answered from the store
        self._mark = rng_or_default(None).read(16).hex()

    @classmethod
    def fit(
        cls,
        make_model: Callable[[], Any],
        data: Any,
        *,
        count: Number = 250,
        by: Any = None,
        label: str = "label",
        classes: Iterable[Any] | None = None,
        table: str | None = None,
        train: Train | None = None,
    ) -> "Teachers":
        """Fit `count` models that `make_model()` gives, each a fresh one with `fit` and `predict`, or a torch module.

        `data` is a table (pandas, Arrow, polars, a dict of columns) with a column `label` and numbers else, or a pair
        of arrays (inputs, labels). `by` names the column of the unit, or is an array of units; without it every row is
        a unit of its own. `classes` are the labels that can be asked for; left out, the policy's declaration of the
        label is taken. `table` is the policy's table that the data were made of. `train(model, inputs, labels)` trains
        a model in your own way. This reads the data and releases nothing.
        """
        size = whole(count, "count", least=2)
        inputs, labels, units = _examples(data, by, label)
        rng = rng_or_default(None)
        parts = [rng.below(size) for _ in labels] if units is None else [part_of(unit, size) for unit in units]
        owner = np.array(parts, dtype=np.int64)
        models: list[Any] = []
        problems: list[Exception] = []
        seen: set[int] = set()
        for teacher in range(size):
            model = make_model()
            if id(model) in seen:
                raise InputError("make_model gave the same model twice: each teacher needs a fresh one")
            seen.add(id(model))
            mine = np.flatnonzero(owner == teacher)
            models.append((model, _fitted(model, inputs[mine], labels[mine], train, problems)))
        found = [fitted for _, fitted in models]
        if not any(each is not None for each in found):
            first = problems[0] if problems else None
            raise InputError(f"no teacher could be fitted: the first failed with {type(first).__name__}: {first}")
        known = None if classes is None else tuple(classes)
        if known is not None and (len(known) < 2 or len(set(known)) < len(known)):
            raise InputError("classes must be two or more, each once")
        own = None if isinstance(data, tuple | list) else label
        return cls(found, shape=inputs.shape[1:], label=own, classes=known, table=table, by=by)

    @property
    def count(self) -> int:
        """How many there are, those without data included."""
        return len(self._models)

    def __repr__(self) -> str:
        return f"<{self.count} teachers>"

    def __reduce__(self) -> Any:
        raise InputError("teachers are as private as their data: they are not written to a file or sent")

    def votes(self, inputs: Any, classes: Sequence[Any]) -> Ints:
        """How many teachers vote for each class, a row for each input: secret, for the job that adds noise."""
        place = {each: at for at, each in enumerate(classes)}
        total = np.zeros((len(inputs), len(classes)), dtype=np.int64)
        for model in self._models:
            said = None if model is None else _predicted(model, inputs)
            if said is None or said.shape != (len(inputs),):
                continue  # of no use, such as a column or scores: no vote
            for row, answer in enumerate(said.tolist()):
                at = place.get(answer)
                if at is not None:
                    total[row, at] += 1
        return total

    def label(
        self,
        public_x: Any,
        vote: VoteRule,
        *,
        session: "Spender",
        answers: Number | None = None,
        table: str | None = None,
        delta: Number | None = None,
        idempotency_key: str | None = None,
    ) -> "Labels":
        """Labels for public inputs, in their order, until `answers` were given or what was paid for is spent.

        The price is fixed before: `answers` answers, and a check of every input where `vote` has one, whatever the
        teachers say. `delta` is for accounts that are paid in ε: the whole is charged as one (ε, δ)-DP release.
        """
        from tacit.learn.labels import labelled

        return labelled(
            self, public_x, vote, session, answers=answers, table=table or self._table, delta=delta, key=idempotency_key
        )


def _examples(data: Any, by: Any, label: str) -> tuple[Array, Array, list[Any] | None]:
    """Inputs, labels and units."""
    if isinstance(data, tuple | list):
        if len(data) != 2:
            raise InputError("data must be a table, or a pair of arrays (inputs, labels)")
        inputs, labels = np.asarray(data[0]), np.asarray(data[1])
        if isinstance(by, str):
            raise InputError(f"arrays have no column {by!r}: pass by= the unit of each row, or a table as data")
        units = None if by is None else list(np.asarray(by, dtype=object))
    else:
        names = list(getattr(data, "column_names", None) or getattr(data, "columns", None) or data.keys())
        for wanted in (label, *([by] if isinstance(by, str) else [])):
            if wanted not in names:
                raise InputError(
                    f"data has no column {wanted!r}: there are {', '.join(map(repr, names))}; label= names the one to "
                    "predict, by= the unit"
                )
        units = None if by is None else list(np.asarray(data[by] if isinstance(by, str) else by).tolist())
        used = [name for name in names if name not in (label, by)]
        columns = [np.asarray(data[name]) for name in used]
        for name, column in zip(used, columns, strict=True):
            if column.dtype.kind not in "iufb":
                raise InputError(
                    f"column {name!r} holds no numbers, and teachers learn from numbers: encode or drop it"
                )
        if not columns:
            raise InputError("data has no column to learn from beside the label and the unit")
        inputs, labels = np.stack([column.astype(np.float64) for column in columns], axis=1), np.asarray(data[label])
    if len(inputs) != len(labels) or (units is not None and len(units) != len(labels)):
        raise InputError("inputs, labels and units must be as many: one of each for every row")
    if not len(labels):
        raise InputError("there are no rows to learn from")
    return inputs, labels, units


def _fitted(model: Any, inputs: Array, labels: Array, train: Train | None, problems: list[Exception]) -> Any:
    """The model, fitted to its part; None if it has none or cannot: which of them says something of its part alone."""
    if not len(labels):
        return None
    try:
        if train is not None:
            return train(model, inputs, labels) or model
        if hasattr(model, "named_parameters"):
            return _descended(model, inputs, labels)
        model.fit(inputs, labels)
    except Exception as error:
        problems.append(error)
        return None
    return model


def _descended(model: Any, inputs: Array, labels: Array) -> Any:
    """A torch module after a hundred full-batch steps; labels are the places of its outputs."""
    torch = need_torch()
    x, y = torch.as_tensor(inputs, dtype=torch.float32), torch.as_tensor(labels.astype(np.int64))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    model.train()
    for _ in range(100):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()
    return model.eval()


def _predicted(model: Any, inputs: Any) -> Array | None:
    try:
        if not hasattr(model, "named_parameters"):
            return np.asarray(model.predict(inputs))
        torch = need_torch()
        with torch.no_grad():
            return np.asarray(model(torch.as_tensor(np.asarray(inputs), dtype=torch.float32)).argmax(1).numpy())
    except Exception:
        return None
