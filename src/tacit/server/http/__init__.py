"""The HTTP interface: routes under /v1, what surrounds them, and how errors look."""

__all__: list[str] = []
