"""Models with scikit-learn's manners: declared bounds in, noisy sums of rows, and a loss that is known before a fit."""

from tacit.learn.estimator.bayes import CategoricalNB, GaussianNB
from tacit.learn.estimator.boosting import ExplainableBoosting
from tacit.learn.estimator.bounds import Bounds
from tacit.learn.estimator.choice import best_of
from tacit.learn.estimator.groups import GroupReport, by_group, group_shares, group_weights
from tacit.learn.estimator.kmeans import KMeans
from tacit.learn.estimator.linear import LinearRegression, Ridge
from tacit.learn.estimator.logistic import LogisticRegression
from tacit.learn.estimator.objective import PerturbedLogisticRegression
from tacit.learn.estimator.pca import PCA
from tacit.learn.estimator.scaler import StandardScaler

__all__ = [
    "PCA",
    "Bounds",
    "CategoricalNB",
    "ExplainableBoosting",
    "GaussianNB",
    "GroupReport",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "PerturbedLogisticRegression",
    "Ridge",
    "StandardScaler",
    "best_of",
    "by_group",
    "group_shares",
    "group_weights",
]
