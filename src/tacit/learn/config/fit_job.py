"""Fits by settings: scikit-learn's kinds of models, of declared columns of one table of the policy."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, Job, Release, Run, Spender
from tacit.desk.release import release_from_bytes
from tacit.learn.config.columns import classes_of, column_facts, ends_of, plan_of
from tacit.learn.config.train import TrainSettings
from tacit.learn.estimator import (
    PCA,
    Bounds,
    ExplainableBoosting,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from tacit.learn.estimator.estimator import Estimator, FitPlan
from tacit.learn.estimator.job import read_rows
from tacit.learn.job import model_file
from tacit.learn.weights import Arrays
from tacit.plan.node import Scan
from tacit.program import Program

__all__ = ["MODELS", "SettingsFit", "estimator_of", "fit_job"]

MODELS: dict[str, type[Estimator]] = {
    "logistic": LogisticRegression,
    "naive_bayes": GaussianNB,
    "boosting": ExplainableBoosting,
    "linear": LinearRegression,
    "ridge": Ridge,
    "kmeans": KMeans,
    "pca": PCA,
}


def estimator_of(settings: TrainSettings, **declared: Any) -> Estimator:
    """The model of the settings, which knows what is declared."""
    own = {
        "max_iter": settings.iterations,
        "n_clusters": settings.clusters,
        "n_components": settings.components,
        "alpha": float(settings.alpha),
    }
    kind = MODELS[settings.model.value]
    takes = kind._names()
    more = {name: value for name, value in own.items() if name in takes and value is not None}
    return kind(epsilon=settings.epsilon, delta=settings.delta, **declared, **more)  # type: ignore[call-arg]  # each takes these


class SettingsFit(Job):
    """A fit that was priced, of rows that only its run reads. What is kept is a model's file."""

    def __init__(self, model: Estimator, plan: FitPlan, scan: Scan, label: str | None, told: Mapping[str, Any]) -> None:
        self._model, self._scan, self._label, self._told = model, scan, label, dict(told)
        self._plan = replace(plan, program=replace(plan.program, query={"training": self._told}))

    @property
    def program(self) -> Program:
        return self._plan.program

    def run(self, run: Run) -> bytes:
        examples = read_rows(run, self._scan, self._plan, self._label, self._model.kind)
        state = self._model._state(examples, self._plan)
        arrays: Arrays = {
            name: ("F64", np.shape(each), np.ascontiguousarray(each, dtype="<f8").tobytes())
            for name, each in state.items()
        }
        content = model_file(run, self._told, arrays)
        return ContentRelease(kind="model", content=content, facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)

    @property
    def notes(self) -> tuple[str, ...]:
        times = sum(step.times for step in self._plan.steps)
        return (f"{times} noisy sums over the rows are released, and the model follows from them alone",)


def fit_job(settings: TrainSettings, spender: Spender) -> SettingsFit:
    """The job of such settings: priced, and nothing is read."""
    features, known = column_facts(settings, spender)
    label, kind = settings.label, MODELS[settings.model.value].kind
    declared: dict[str, Any] = {"bounds": Bounds({name: ends_of(name, known[name]) for name in features})}
    if label is not None and kind == "classifier":
        declared["classes"] = classes_of(label, known[label])
    if label is not None and kind == "regressor":
        declared["target"] = ends_of(label, known[label], "label")
    model = estimator_of(settings, session=spender, **declared)
    plan = model.plan(settings.table, label)
    scan = spender.scan(settings.table, [*features, *(() if label is None else (label,))])
    told = {
        "name": settings.name,
        "epsilon": fraction_to_text(settings.epsilon, "epsilon"),
        "delta": fraction_to_text(settings.delta, "delta"),
        "rows": {"kind": "table", "table": settings.table, "features": list(features), "label": label},
        "about": plan_of(settings, features, known),
    }
    return SettingsFit(model, plan, scan, label, told)
