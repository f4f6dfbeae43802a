"""Certificates: how a release was made and what it promises, to be checked offline."""

__all__: list[str] = []
