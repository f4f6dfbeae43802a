"""A ledger in PostgreSQL."""

__all__: list[str] = []
