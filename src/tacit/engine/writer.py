"""Writing SQL in which a part is named before it is used twice, so that nesting does not double the text each time."""

from collections.abc import Callable
from itertools import count

from tacit.engine.dialect import Dialect, double_sql
from tacit.plan.expression import Call

__all__ = ["INLINE", "Render", "Writer"]

INLINE = 120  # characters that may be written twice


class Writer:
    """The dialect, and fresh names."""

    def __init__(self, dialect: Dialect, inline: int | None = None) -> None:
        self.dialect = dialect
        self.inline = INLINE if inline is None else inline
        self._names = count(1)

    def number(self, value: float) -> str:
        return double_sql(value, self.dialect)

    def let(self, parts: list[str], body: Callable[..., str]) -> str:
        """`body` of the parts, each computed once and named where it is long."""
        if all(len(part) <= self.inline for part in parts):
            return body(*parts)
        name = f"tacit_{next(self._names)}"
        fields = [f"f{i}" for i in range(len(parts))]
        named = list(zip(fields, parts, strict=True))
        inside = body(*(f"{name}.{field}" for field in fields))
        if self.dialect == "postgres":  # OFFSET keeps the planner from putting the parts back in
            inner = ", ".join(f"{part} AS {field}" for field, part in named)
            return f"(SELECT {inside} FROM (SELECT {inner} OFFSET 0) AS {name})"
        if self.dialect == "spark":
            inner = ", ".join(f"'{field}', {part}" for field, part in named)
            return f"element_at(transform(array(named_struct({inner})), {name} -> {inside}), 1)"
        inner = ", ".join(f"'{field}': {part}" for field, part in named)
        return f"list_transform([{{{inner}}}], lambda {name}: {inside})[1]"


Render = Callable[[Writer, Call, list[str]], str]
"""How an operation is written: the call, for its facts and constants, and its arguments, already written."""
