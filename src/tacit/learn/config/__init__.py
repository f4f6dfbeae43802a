"""Training by plain settings: a closed list of models with declared sizes, for files, requests and forms."""

__all__: list[str] = []
