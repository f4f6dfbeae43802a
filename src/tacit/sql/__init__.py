"""Stages 1 and 2 of a question: SQL is parsed, and lowered to a plan of our own. No data is seen."""

from tacit.sql.catalog import AskableTable, Catalog
from tacit.sql.lower import lower
from tacit.sql.parse import DIALECTS, parse

__all__ = ["DIALECTS", "AskableTable", "Catalog", "lower", "parse"]
