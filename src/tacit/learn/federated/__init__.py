"""Training together: devices keep their data, and whoever leads them learns noisy sums alone."""

from tacit.learn.federated.client import Client
from tacit.learn.federated.cohort import Cohort
from tacit.learn.federated.federation import FederatedRound, FederatedRun, Federation
from tacit.learn.federated.terms import ClientKey

__all__ = ["Client", "ClientKey", "Cohort", "FederatedRound", "FederatedRun", "Federation"]
