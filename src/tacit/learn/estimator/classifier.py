"""What models that predict a label share."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from tacit.learn.estimator.bounds import Array
from tacit.learn.estimator.estimator import Estimator
from tacit.learn.estimator.examples import column

__all__ = ["LabelModel"]


class LabelModel(Estimator):
    """A classifier: scores of each class, up to a constant for each row, are logarithms of odds."""

    kind: ClassVar[str] = "classifier"

    def _scores(self, X: Any) -> Array:  # noqa: N803
        """One number for each row and class."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Scores; of two classes, how much the second is ahead."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_log_proba(self, X: Any) -> Array:  # noqa: N803
        """The logarithm of what `predict_proba` gives."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """How likely each class is."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The likeliest class of each row."""
        best = np.argmax(self._scores(X), axis=1)
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of rows that are predicted rightly. It is exact, so of private rows it is not for others' eyes:
        `by_group` gives one that is."""
        right = self.predict(X) == column(y, len(X))
        return float(np.average(right, weights=sample_weight))
