"""Running the service: configuration, start, health, logs, backup and restore."""

__all__: list[str] = []
