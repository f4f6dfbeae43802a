"""COUNT(DISTINCT x): of each unit the first `cap` of its (group, value) pairs count, in an order of the pairs alone.

Which pairs of a unit are kept follows from its own rows, so without the unit at most `cap` pairs are gone from the
union, and the counts of all groups together change by at most `cap`.
"""

from tacit.base import InputError
from tacit.engine.rows import Rows
from tacit.plan.bounded import Measure

__all__ = ["distinct_sql"]


def distinct_sql(rows: Rows, measure: Measure) -> str:
    """SELECT of the keys and the number of different values, as `n`."""
    if measure.value is None:
        raise InputError(f"measure {measure.name!r} counts different values and has no value to count")
    keys = ", ".join(rows.keys)
    by = f" GROUP BY {keys}" if keys else ""
    keys = f"{keys}, " if keys else ""
    seen = rows.select((rows.key(measure.value),), where=rows.there(measure.value))
    if not rows.has_unit:
        return f"SELECT {keys}COUNT(DISTINCT x0) AS n FROM ({seen}) AS s{by}"
    if measure.cap is None or measure.cap < 1:
        raise InputError(f"measure {measure.name!r} needs a cap: how many different values one unit may add")
    order = ", ".join(f"{name} NULLS FIRST" for name in ("x0", *rows.keys))
    pairs = f"SELECT DISTINCT u, {keys}x0 FROM ({seen}) AS s"
    ranked = f"SELECT {keys}x0, ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({pairs}) AS p"
    return f"SELECT {keys}COUNT(DISTINCT x0) AS n FROM ({ranked}) AS d WHERE place <= {measure.cap}{by}"
