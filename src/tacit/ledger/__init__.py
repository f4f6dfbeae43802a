"""The ledger: budgets that cannot be overspent, lost or talked around."""

from tacit.ledger.chain import REGISTRY, Entry
from tacit.ledger.ledger import Ledger
from tacit.ledger.receipt import Balance, Kept, Receipt, Standing

__all__ = ["REGISTRY", "Balance", "Entry", "Kept", "Ledger", "Receipt", "Standing"]
