"""Synthetic tables: marginals are chosen and measured with noise, a graphical model is fitted, rows are drawn from it."""

__all__: list[str] = []
