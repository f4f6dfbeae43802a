"""How data is found, opened and told apart from what it was: the only place that turns a source into a table."""

__all__: list[str] = []
