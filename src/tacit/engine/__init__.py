"""Where data is read: the only rooms that open a file or a database."""

from tacit.engine.claim import claims_of
from tacit.engine.connect import open_engine
from tacit.engine.engine import Engine
from tacit.engine.names import Comparison, Schema, compare_names, forget_tables, import_tables, read_schema
from tacit.engine.watch import Limits, Stopped, Watch

__all__ = [
    "Comparison",
    "Engine",
    "Limits",
    "Schema",
    "Stopped",
    "Watch",
    "claims_of",
    "compare_names",
    "forget_tables",
    "import_tables",
    "open_engine",
    "read_schema",
]
