"""What every model here is: scikit-learn's manners, a price that is known before rows are read, and a fitted state that
is nothing but released numbers.

scikit-learn is never imported, unless it asks for tags itself: `get_params`, `clone`, pipelines and searches go by
names alone.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, Relation, positive
from tacit.desk import Quote, Release
from tacit.learn.estimator.bounds import Array, ColumnRange, declared_range
from tacit.learn.estimator.examples import Examples, codes_of, column_names, matrix, numbers
from tacit.learn.estimator.job import FitJob, TableSpender, read_rows, stored_state, table_of
from tacit.learn.estimator.sums import FitStep, NoisySums, priced
from tacit.loss import Loss
from tacit.program import Program

__all__ = ["Estimator", "FitPlan", "UnfittedError"]


class UnfittedError(InputError, AttributeError):
    """A model was asked before it was fitted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan:
    """A fit before it reads anything: columns with their bounds, what is predicted, steps, and the priced program."""

    names: tuple[str, ...]
    within: ColumnRange
    classes: tuple[Any, ...]
    target: ColumnRange | None
    steps: tuple[FitStep, ...]
    program: Program

    @property
    def loss(self) -> Loss:
        """What the fit costs one unit."""
        return self.program.loss


class Estimator(ABC):
    """A model that learns from noisy sums. `epsilon` and `delta` are of the whole fit, for one row, or one unit of the
    session's dataset; `bounds` are of the columns; `session` charges the fit and `table` says what arrays were made of.

    Fitted, it has `loss_`, `program_`, and with a session `release_` and `receipt_`.
    """

    kind: ClassVar[str] = "transformer"  # or "classifier", "regressor", "clusterer"
    epsilon: Number
    delta: Number
    bounds: Any
    session: Any
    table: str | None
    relation: Any

    # --- what a model brings

    @abstractmethod
    def _steps(self, columns: int, classes: int) -> Sequence[FitStep]:
        """The sums it will ask for."""

    @abstractmethod
    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        """What it learns: arrays that follow from released sums and public facts alone."""

    def _restore(self, state: Mapping[str, Array], plan: FitPlan) -> None:
        """The fitted attributes, from what was learned."""
        for name, value in state.items():
            setattr(self, f"{name}_", value)

    # --- scikit-learn's manners

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as they were given."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name."""
        for name, value in params.items():
            if name not in self._names():
                known = ", ".join(self._names())
                raise InputError(f"Invalid parameter {name!r} for estimator {type(self).__name__}: there are {known}")
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params())  # a session is shared, never copied

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "program_")

    def __sklearn_tags__(self) -> Any:
        parts = import_module("sklearn.utils")  # which has called
        return parts.Tags(
            estimator_type=None if self.kind == "transformer" else self.kind,
            target_tags=parts.TargetTags(required=self.kind in ("classifier", "regressor")),
            transformer_tags=parts.TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=parts.ClassifierTags() if self.kind == "classifier" else None,
            regressor_tags=parts.RegressorTags() if self.kind == "regressor" else None,
            non_deterministic=True,
        )

    @property
    def _estimator_type(self) -> str:
        return self.kind

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        given = {name: value for name, value in self.get_params().items() if value is not defaults[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    # --- the way of a fit

    def plan(self, X: Any, y: Any = None) -> FitPlan:  # noqa: N803
        """The fit, priced; nothing is read but the names and the number of columns."""
        session, query = self._session(), {"model": type(self).__name__, "settings": self._settings()}
        classes: tuple[Any, ...] = ()
        target = None
        if self.kind in ("classifier", "regressor") and y is None and isinstance(X, str):
            raise InputError(f"{type(self).__name__} requires y to be passed: the name of the column that is predicted")
        if isinstance(X, str):
            names, within, label = table_of(self._needed_session(), X, y, self.bounds)
            query["columns"] = list(names)
            if self.kind == "classifier":
                classes = self._classes(label.domain)
            if self.kind == "regressor":
                target = self._target(label.bounds)
            if label.name:
                query["target"] = label.name
        else:
            found = column_names(X)
            size = self._features(X).shape[1]
            if self.kind in ("classifier", "regressor") and y is None:
                raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            names = tuple(found or (f"column {place}" for place in range(size)))
            within = self._declared(names)
            if self.kind == "classifier":
                classes = self._classes(None)
            if self.kind == "regressor":
                target = self._target(None)
        positive(self.epsilon, "epsilon", toward="decimal")
        steps = tuple(self._steps(len(names), len(classes)))
        # everything that a fit follows from: another declaration is another question, and has its own answer
        query["declared"] = {
            "bounds": [
                [repr(float(low)), repr(float(high))] for low, high in zip(within.low, within.high, strict=True)
            ],
            "classes": [repr(each) for each in classes],
            "categories": repr(getattr(self, "categories", None)),
            "target": [] if target is None else [repr(float(target.low[0])), repr(float(target.high[0]))],
        }
        if session is None:
            program = priced(
                steps, epsilon=self.epsilon, delta=self.delta, relation=Relation(self.relation), query=query
            )
        else:
            program = priced(
                steps, epsilon=self.epsilon, delta=self.delta, **session.neighbours(X, self.table, query, self.delta)
            )
        return FitPlan(names=names, within=within, classes=classes, target=target, steps=steps, program=program)

    def quote(self, X: Any, y: Any = None) -> Quote:  # noqa: N803
        """What the fit would cost, and what would be left of the session's budget. Free."""
        plan = self.plan(X, y)
        return self._needed_session().quote(FitJob(plan.program, lambda run: {}))

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, units: Any = None) -> Self:  # noqa: N803
        """Learn from rows: arrays or a data frame, or the name of a table of the session's policy (`y` is then a
        column). Weights are from 0 to 1 and must follow from a row alone. `units` says whose each row is."""
        plan = self.plan(X, y)
        if isinstance(X, str):
            if sample_weight is not None or units is not None:
                raise InputError("rows of a policy's table have the units that the policy declares, and no weights")
            session = self._needed_session()
            scan = session.scan(X, plan.names, y)
            release = session.spend(
                FitJob(plan.program, lambda run: self._state(read_rows(run, scan, plan, y, self.kind), plan))
            )
            return self._fitted(plan, stored_state(release), release)
        examples = self._examples(X, y, plan, sample_weight, units)
        charged = self._session()
        if charged is None:
            return self._fitted(plan, self._state(examples, plan), None)
        charged.check_units(self.table, units)
        release = charged.spend(FitJob(plan.program, lambda run: self._state(examples, plan)))
        return self._fitted(plan, stored_state(release), release)

    def _state(self, examples: Examples, plan: FitPlan) -> dict[str, Array]:
        return self._learn(examples, plan, NoisySums(plan.steps, plan.program, examples.weight, examples.offsets))

    def _examples(self, X: Any, y: Any, plan: FitPlan, weight: Any, units: Any) -> Examples:  # noqa: N803
        features = self._features(X)
        target: Array | None = None
        if self.kind == "classifier":
            target = codes_of(y, plan.classes, len(features))
        elif self.kind == "regressor":
            assert plan.target is not None
            target = numbers(y, plan.target, len(features))
        return Examples.of(features, target, weight, units)

    def _fitted(self, plan: FitPlan, state: Mapping[str, Array], release: Release | None) -> Self:
        self.n_features_in_ = len(plan.names)
        if not plan.names[0].startswith("column "):
            self.feature_names_in_ = np.array(plan.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if plan.classes:
            self.classes_ = np.array(plan.classes)
        self.range_, self.target_range_ = plan.within, plan.target
        self.program_, self.loss_ = plan.program, plan.loss
        self.release_, self._learned = release, dict(state)
        self.receipt_ = None if release is None else dict(release.facts["ledger"])
        self._restore(state, plan)
        return self

    def certificate(self, **more: Any) -> Any:
        """How the model was made and paid for, for somebody who was not there; of a fit with a session."""
        self._check_fitted()
        if self.release_ is None:
            raise InputError("this model was fitted without a session: nothing was charged, so nothing is certified")
        return self.release_.certificate(**more)

    # --- for predictions

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise UnfittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _features(self, X: Any) -> Array:  # noqa: N803
        """Rows of numbers as they are given."""
        return matrix(X)

    def _known(self, X: Any) -> Array:  # noqa: N803
        """Rows that the fitted model can be asked about."""
        self._check_fitted()
        found = self._features(X)
        if found.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {found.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        names = column_names(X)
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and names != list(fitted):
            raise InputError(
                "The feature names should match those that were passed during fit: they were " + ", ".join(fitted)
            )
        if not np.isfinite(found).all():
            raise InputError("Input X contains NaN or infinity: the model has no prediction for such a row")
        return found

    # --- declarations

    def digest(self) -> str:
        """A fingerprint of what was learned, by which a report about this model is told from one about another."""
        self._check_fitted()
        found = sha256(self.program_.text.encode())
        for name, value in sorted(self._learned.items()):
            found.update(f"{name}={np.asarray(value).tolist()}".encode())
        return found.hexdigest()

    def _settings(self) -> dict[str, str]:
        """What follows from no data, as the program states it."""
        left_out = ("session", "table", "bounds", "classes", "categories", "epsilon", "delta", "relation", "target")
        return {name: str(value) for name, value in self.get_params().items() if name not in left_out}

    def _declared(self, names: Sequence[str]) -> ColumnRange:
        return declared_range(self.bounds, names, type(self).__name__)

    def _classes(self, declared: tuple[Any, ...] | None) -> tuple[Any, ...]:
        given = getattr(self, "classes", None)
        found = declared if given is None else tuple(given)
        if found is None:
            raise InputError(
                f"{type(self).__name__} does not know its classes: labels are never read from the rows, since a rare "
                "one may be one person's. Declare classes=[…]"
            )
        plain = tuple(each.item() if isinstance(each, np.generic) else each for each in found)
        if len(plain) < 2 or len(set(plain)) < len(plain):
            raise InputError(f"classes must be at least two different labels, not {list(plain)!r}")
        return plain

    def _target(self, declared: tuple[float, float] | None) -> ColumnRange:
        given = getattr(self, "target", None)
        found = declared if given is None else given
        if found is None:
            raise InputError(
                f"{type(self).__name__} has no bounds for what it predicts: they are never read from the rows. Declare "
                "target=(low, high)"
            )
        return declared_range({"y": found}, ["y"], type(self).__name__)

    def _session(self) -> TableSpender | None:
        return None if self.session is None else TableSpender(self.session)

    def _needed_session(self) -> TableSpender:
        session = self._session()
        if session is None:
            raise InputError("a table is read through a session: pass session=, or rows as arrays")
        return session
