"""What a view must be: rows that are the same each time they are read, and that depend on one unit each.

A statement reads a table more than once, and a bound on what a unit adds holds only if its rows are the same each time:
a view that throws dice is refused, and one that cannot be seen through is read once. And a row that is there because
of another unit's rows is no row of its own unit, so a private view picks, casts and joins, or groups by its unit.
"""

__all__: list[str] = []
