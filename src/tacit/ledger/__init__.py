"""The ledger: budgets that cannot be overspent, lost or talked around."""

from tacit.ledger.chain import REGISTRY, Entry
from tacit.ledger.ledger import Ledger
from tacit.ledger.receipt import Balance, Receipt, Standing, StoredRelease

__all__ = ["REGISTRY", "Balance", "Entry", "Ledger", "Receipt", "Standing", "StoredRelease"]
