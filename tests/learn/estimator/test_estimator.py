"""Every model: what one row moves, scikit-learn's manners, and what is refused."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from support.replayed import moved
from tacit.base import InputError, Relation
from tacit.learn.estimator import (
    PCA,
    Bounds,
    CategoricalNB,
    ExplainableBoosting,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
    StandardScaler,
    kmeans,
    linear,
    logistic,
)
from tacit.learn.estimator import look as looking
from tacit.learn.estimator.estimator import Estimator, UnfittedError
from tacit.learn.estimator.outer import in_ball

BOX: dict[str, Any] = {"bounds": (-3, 3)}
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(8, classes=(0, 1, 2), max_iter=4, **BOX),
    "linear": lambda: LinearRegression(8, target=(0, 2), **BOX),
    "ridge": lambda: Ridge(8, target=(0, 2), **BOX),
    "gaussian": lambda: GaussianNB(8, classes=(0, 1, 2), **BOX),
    "categorical": lambda: CategoricalNB(8, classes=(0, 1, 2), categories=3),
    "pca": lambda: PCA(2, 8, **BOX),
    "kmeans": lambda: KMeans(3, 8, max_iter=2, **BOX),
    "scaler": lambda: StandardScaler(8, **BOX),
    "boosting": lambda: ExplainableBoosting(8, classes=(0, 1, 2), max_bins=4, max_iter=2, **BOX),
}


def rows(seed: int, extreme: float) -> tuple[Any, Any]:
    source = np.random.default_rng(seed)
    x, y = source.normal(size=(12, 3)), source.integers(0, 3, 12)
    x[0] = source.choice([-1.0, 1.0], 3) * extreme
    return x, y


def codes(name: str, x: Any) -> Any:
    return np.clip(np.rint(x + 1), 0, 2) if name == "categorical" else x


numbers = st.sampled_from([0.0, 1.0, 3.0, 1e9, float("nan"), float("inf")])


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10**6), extreme=numbers)
def test_one_row_moves_every_sum_by_one_at_most(name: str, seed: int, extreme: float) -> None:
    x, y = rows(seed, extreme)
    x = codes(name, x)
    found = moved(lambda: MODELS[name]().fit(x, y), lambda: MODELS[name]().fit(x[1:], y[1:]))
    assert max(found.values()) <= 1


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10**6), extreme=numbers)
def test_another_row_in_its_place_moves_it_by_what_is_stated(name: str, seed: int, extreme: float) -> None:
    x, y = rows(seed, extreme)
    x = codes(name, x)
    other = x.copy()
    other[0] = -x[0] if name != "categorical" else 2 - x[0]
    found = moved(lambda: MODELS[name]().fit(x, y), lambda: MODELS[name]().fit(other, np.append(2 - y[0], y[1:])))
    stated = {step.name: step.sensitivity(Relation.REPLACE) for step in MODELS[name]()._steps(3, 3)}
    assert all(off <= stated[step] for step, off in found.items())


@pytest.mark.parametrize("name", MODELS)
def test_one_unit_moves_every_sum_by_one_at_most(name: str) -> None:
    x, y = rows(4, 3.0)
    x, units = codes(name, np.repeat(x, 4, axis=0)), np.repeat(np.arange(12), 4)
    y = np.repeat(y, 4)
    found = moved(
        lambda: MODELS[name]().fit(x, y, units=units), lambda: MODELS[name]().fit(x[4:], y[4:], units=units[4:])
    )
    assert 0.1 < max(found.values()) <= 1


@pytest.mark.parametrize(("name", "module"), [("logistic", logistic), ("linear", linear), ("kmeans", kmeans)])
def test_a_clip_that_is_a_tenth_too_wide_is_found(name: str, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(2, 1e9)
    y[0] = 2  # the end of the target's range
    monkeypatch.setattr(
        module, "in_ball", lambda values, radius: np.trunc(1.1 * in_ball(values, radius)), raising=False
    )

    def wide(values: Any, radius: float) -> Any:
        return np.trunc(1.1 * in_ball(values, radius)), np.ones((len(values), 1))

    monkeypatch.setattr(module, "shrunk", wide, raising=False)
    monkeypatch.setattr(linear, "TARGET", 0.5)
    found = moved(lambda: MODELS[name]().fit(x, y), lambda: MODELS[name]().fit(x[1:], y[1:]))
    assert max(found.values()) > 1


def test_a_look_that_is_a_tenth_too_wide_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(2, 3.0)
    monkeypatch.setattr(looking, "in_ball", lambda values, radius: np.trunc(1.1 * in_ball(values, radius)))
    found = moved(lambda: MODELS["pca"]().fit(x, y), lambda: MODELS["pca"]().fit(x[1:], y[1:]))
    assert found["first look"] > 1


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_are_no_numbers_and_labels_that_are_none_count_for_nothing(name: str) -> None:
    x, y = rows(1, 1.0)
    x = codes(name, x)
    bad = np.vstack([np.full((2, 3), np.nan), x])
    labels = np.append([0, 7], y)
    found = moved(lambda: MODELS[name]().fit(x, y), lambda: MODELS[name]().fit(bad, labels))
    assert max(found.values()) == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_has_its_loss_and_can_be_cloned(name: str) -> None:
    x, y = rows(1, 1.0)
    model = MODELS[name]().fit(codes(name, x), y)
    assert 7.9 < model.loss_.epsilon(1e-6).upper <= 8
    assert model.receipt_ is None
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "loss_")
    assert model.set_params(epsilon=2).plan(codes(name, x), y).loss.epsilon(1e-6).upper <= 2


@pytest.mark.parametrize("name", [name for name in MODELS if name != "categorical"])
def test_bounds_are_declared_or_the_column_is_named(name: str) -> None:
    x, y = rows(1, 1.0)
    with pytest.raises(InputError, match="no bounds for column 'column 0'"):
        MODELS[name]().set_params(bounds=None).fit(x, y)
    import pandas

    frame = pandas.DataFrame(x, columns=["age", "hours", "income"])
    with pytest.raises(InputError, match="column 'income' has no bounds"):
        MODELS[name]().set_params(bounds=Bounds(age=(0, 9), hours=(0, 9))).fit(frame, y)


def test_classes_and_targets_are_declared() -> None:
    x, y = rows(1, 1.0)
    with pytest.raises(InputError, match="Declare classes"):
        LogisticRegression(**BOX).fit(x, y)
    with pytest.raises(InputError, match=r"Declare target=\(low, high\)"):
        Ridge(**BOX).fit(x, y)
    with pytest.raises(InputError, match="Declare categories"):
        CategoricalNB(classes=(0, 1)).fit(x, y)
    with pytest.raises(UnfittedError, match="not fitted"):
        LogisticRegression().predict(x)
    with pytest.raises(InputError, match="through a session"):
        LogisticRegression(classes=(0, 1)).fit("visits", "urgent")


def test_it_stands_in_pipelines_and_searches() -> None:
    x, y = rows(1, 1.0)
    x, y = np.tile(x, (20, 1)), np.tile(y, 20)
    pipe = make_pipeline(StandardScaler(4, **BOX), LogisticRegression(4, classes=(0, 1, 2), **BOX))
    assert pipe.fit(x, y).predict_proba(x).sum(axis=1) == pytest.approx(1)
    assert len(cross_val_score(pipe, x, y, cv=2)) == 2
    search = GridSearchCV(LogisticRegression(4, classes=(0, 1, 2), **BOX), {"max_iter": [2, 5]}, cv=2).fit(x, y)
    assert search.best_params_["max_iter"] in (2, 5)


# --- scikit-learn's own checks

NOT_FINITE = "a row that is not finite counts for nothing in a fit: an error would tell that there is one"
UNKNOWN_LABELS = "labels are declared, so a fit does not look for others, one class alone, or numbers among them"
FITTED_ERROR = "scikit-learn's NotFittedError is not imported; ours is a ValueError and an AttributeError as its is"
FRESH = "each fit draws fresh noise, and nobody can set a seed"
EXPECTED: dict[str, str] = {
    "check_estimators_nan_inf": NOT_FINITE,
    "check_estimators_unfitted": FITTED_ERROR,
    "check_classifiers_one_label": UNKNOWN_LABELS,
    "check_classifiers_one_label_sample_weights": UNKNOWN_LABELS,
    "check_classifiers_regression_target": UNKNOWN_LABELS,
    "check_supervised_y_no_nan": NOT_FINITE,
    "check_fit2d_1sample": UNKNOWN_LABELS,
    "check_fit_idempotent": FRESH,
    "check_regressors_int": FRESH,
    "check_regressor_data_not_an_array": FRESH,
    "check_classifier_data_not_an_array": FRESH,
    "check_dtype_object": "scikit-learn's error shows the value, which may be somebody's; ours does not",
    "check_supervised_y_2d": "scikit-learn's DataConversionWarning is not imported; a column is taken as it is meant",
    "check_estimators_pickle": "the class that declares for this test cannot be pickled; the models can, see below",
    "check_estimator_sparse_array": "with_mean=False, which the check sets, is no setting here",
    "check_estimator_sparse_matrix": "with_mean=False, which the check sets, is no setting here",
}


def declared(model: type[Estimator], **settings: Any) -> Any:
    """A model whose declarations suit whatever a check brings: here the checker is the curator, and knows its rows."""

    class Declared(model):  # type: ignore[valid-type, misc]
        def fit(self, X: Any, y: Any = None, **more: Any) -> Any:  # noqa: N803
            self._labels = None if y is None else y
            return super().fit(X, y, **more)

        def _classes(self, given: Any) -> Any:
            return super()._classes(tuple(np.unique(np.asarray(self._labels)).tolist()))

        def _target(self, given: Any) -> Any:
            return super()._target((-1000.0, 1000.0))

    Declared.__init__ = model.__init__  # type: ignore[method-assign]  # whose signature is the list of settings
    Declared.__name__ = model.__name__
    return Declared(**settings)


@pytest.mark.filterwarnings("ignore")  # it wants its own base class, which is not imported
@pytest.mark.parametrize("model", [LogisticRegression, LinearRegression, GaussianNB, StandardScaler, PCA, KMeans])
def test_scikit_learn_finds_only_what_privacy_asks_for(model: Any) -> None:
    checked = declared(model, epsilon=1e4, bounds=(-10, 10))
    results = check_estimator(checked, on_fail=None, on_skip=None)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    assert len(results) > 25
    unexpected = {name: str(why)[:200] for name, why in failed.items() if name not in EXPECTED}
    assert not unexpected


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_can_be_pickled(name: str) -> None:
    x, y = rows(1, 1.0)
    model = MODELS[name]().fit(codes(name, x), y)
    again = pickle.loads(pickle.dumps(model))
    method = "predict" if hasattr(model, "predict") else "transform"
    assert (getattr(again, method)(codes(name, x)) == getattr(model, method)(codes(name, x))).all()
    assert again.loss_ == model.loss_
