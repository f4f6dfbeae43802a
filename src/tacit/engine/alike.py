"""Where all that matters of a unit is how many groups it is in: units by group, or keys that nobody listed.

Lines of `ug` are counted by group and that number `k`, and weights are worked out once for each such pair.
"""

from tacit.engine.measure import presence_proposal, presence_weight
from tacit.engine.per_unit import PerUnit, scaled
from tacit.engine.words import Words

__all__ = ["alike", "alike_sql"]


def alike(units: PerUnit) -> bool:
    """Whether units differ in nothing else."""
    return all(map(units.constant, units.measures)) and bool(units.wholes or units.rows.bounded.presence is not None)


def alike_sql(units: PerUnit) -> str:
    """The same answer as `PerUnit.sql`: `c` units of a group are in `k` groups each."""
    words, presence, keys = units.rows.words, units.rows.bounded.presence, units.rows.keys
    made, told, read = ["c"], [], ["*"]
    for measure, column in units.columns.items():
        value = f"CAST({units.named[measure].high} AS BIGINT)"
        clip = units.clips[measure]
        if not clip.exempt:
            read.append(f"{units.wholes[clip].size_of(units.named[measure].high, 'k', words)} AS n{column}")
            weight = f"({units.wholes[clip].weight(f'n{column}', words)})"
            value = scaled(value, weight, words)
        made.append(f"{value} AS v{column}")
        told.append(f"COALESCE(SUM({_times(f'v{column}', words)}), 0) AS {column}")
    if presence is not None:
        read.append(f"{presence_proposal(presence, 'k', words)} AS p")
        made.append(f"{presence_weight(presence, 'k', 'p')} AS v")
        told.append(f"COALESCE(SUM({_times('v', words)}), 0) AS presence")
    by = "".join(f", ug.{key}" for key in keys)
    counted = f"SELECT t.k{by}, COUNT(*) AS c FROM ug JOIN t ON ug.u = t.u GROUP BY t.k{by}"
    weighted = f"SELECT {', '.join((*keys, *made))} FROM (SELECT {', '.join(read)} FROM ({counted}) AS g) AS q"
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"WITH ug AS{words.materialized} ({units.source()}), t AS (SELECT u, COUNT(*) AS k FROM ug GROUP BY u) "
        f"SELECT {', '.join((*keys, *told))} FROM ({weighted}) AS w{grouped}"
    )


def _times(value: str, words: Words) -> str:
    """So many units of a value below 2^48, which is below 2^104."""
    if words.summand:
        return f"CAST(c AS DECIMAL(19, 0)) * CAST({value} AS DECIMAL(18, 0))"
    return f"CAST(c AS {words.wide}) * {value}"
