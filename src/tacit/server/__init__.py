"""The service: many analysts, one budget."""

__all__: list[str] = []
