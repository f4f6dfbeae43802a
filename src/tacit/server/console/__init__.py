"""The console: pages for people with a browser, over the same interface that programs use."""

__all__: list[str] = []
