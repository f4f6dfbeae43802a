"""Where data is read: the only rooms that open a file or a database."""

from tacit.engine.connect import open_engine
from tacit.engine.engine import Engine
from tacit.engine.schema import Schema, read_schema

__all__ = ["Engine", "Schema", "open_engine", "read_schema"]
