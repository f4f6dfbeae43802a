"""A question as SQL, however it was put."""

from typing import Any

from tacit.base import InputError

__all__ = ["sql_text"]


def sql_text(question: Any) -> str:
    """SQL as text; an Ibis expression through its own."""
    if isinstance(question, str):
        return question
    if type(question).__module__.split(".")[0] == "ibis":
        import ibis

        return str(ibis.to_sql(question, dialect="duckdb"))
    raise InputError(f"ask in SQL, or with an Ibis expression, not with {type(question).__name__}")
