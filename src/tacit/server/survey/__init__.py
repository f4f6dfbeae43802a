"""Surveys of the service: the ones that are open, and the pages that respondents and readers of results see."""

__all__: list[str] = []
