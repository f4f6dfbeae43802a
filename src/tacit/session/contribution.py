"""What the policy declares about how much one unit may give, for the tables of one question."""

from fractions import Fraction
from typing import Any

from tacit.plan.contribution import Contribution
from tacit.plan.question import Question
from tacit.policy import Policy

__all__ = ["contribution_of"]


def contribution_of(policy: Policy, question: Question) -> Contribution:
    """Of the private tables; where several are joined, the least that any of them says."""
    tables = [policy.tables[name] for name in sorted(question.source.tables)]
    private = [table for table in tables if table.private]
    columns: dict[str, Any] = {}
    per_group: dict[str, tuple[Fraction, Fraction]] = {}
    for table in private:
        for name, column in table.columns.items():
            if column.clip is not None:
                columns[name] = column.clip
            if column.per_group is not None:
                low, high = column.per_group
                per_group[name] = (Fraction(low), Fraction(high))
    rows = [table.clip_rows for table in private if table.clip_rows is not None]
    numbers = [Fraction(clip) for clip in rows if clip != "private"]
    named = " and ".join(f'"{table.name}"' for table in private)
    return Contribution(
        rows=min(numbers) if numbers else "private" if rows else None,
        columns=columns,
        max_groups=min((table.max_groups for table in private if table.max_groups is not None), default=None),
        rows_per_group=min((t.rows_per_group for t in private if t.rows_per_group is not None), default=None),
        per_group=per_group,
        missing=f"table {named} does not say how much one {policy.privacy.unit} may count: declare clip_rows = …, the "
        'most rows of one unit that count, or clip_rows = "private" to find it for a small share of each price',
    )
