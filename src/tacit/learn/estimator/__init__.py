"""Models with scikit-learn's manners: declared bounds in, noisy sums of rows, and a loss that is known before a fit."""

from tacit.learn.estimator.bayes import CategoricalNB, GaussianNB
from tacit.learn.estimator.bounds import Bounds
from tacit.learn.estimator.kmeans import KMeans
from tacit.learn.estimator.linear import LinearRegression, Ridge
from tacit.learn.estimator.logistic import LogisticRegression
from tacit.learn.estimator.pca import PCA
from tacit.learn.estimator.scaler import StandardScaler

__all__ = [
    "PCA",
    "Bounds",
    "CategoricalNB",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Ridge",
    "StandardScaler",
]
