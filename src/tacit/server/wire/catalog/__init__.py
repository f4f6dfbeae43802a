"""PostgreSQL's catalogue as clients ask for it, answered from declared facts alone."""

__all__: list[str] = []
