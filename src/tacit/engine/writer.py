"""Writing SQL in which a part is named before it is used twice, so that nesting does not double the text each time."""

from collections.abc import Callable, Sequence
from itertools import count

from tacit.engine.dialect import Dialect
from tacit.plan.expression import Call, Constant
from tacit.plan.facts import Type
from tacit.plan.operation import OPERATIONS

__all__ = ["INLINE", "Render", "Writer"]

INLINE = 120  # characters that may be written twice


class _Numbers(dict[str | int, str]):
    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def __missing__(self, key: str | int) -> str:
        return self.dialect.number(float(key))


class _Several(list[str]):
    """`{args}` is written with commas, `{args: AND }` with what stands after the colon."""

    def __format__(self, between: str) -> str:
        return (between or ", ").join(self)


class Writer:
    """The dialect, and fresh names."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect, self.number, self._names = dialect, dialect.number, count(1)

    def let(self, parts: Sequence[str], body: Callable[..., str]) -> str:
        """`body` of the parts; a long one that it uses twice is computed once, and named."""
        marks = [f"\0{i}\0" for i in range(len(parts))]
        tried = body(*marks)
        twice = [i for i, mark in enumerate(marks) if tried.count(mark) > 1]
        if all(len(parts[i]) <= INLINE for i in twice):
            return body(*parts)
        name = f"tacit_{next(self._names)}"
        inside = body(*(f"{name}.f{i}" if i in twice else part for i, part in enumerate(parts)))
        return self.dialect.let(name, [(f"f{i}", parts[i]) for i in twice], inside)

    def operation(self, name: str, parts: Sequence[str], call: Call | None = None) -> str:
        """An operation whose SQL is a template, on parts that are written."""
        return self.fill(self.dialect.templates.get(name, OPERATIONS[name].sql), parts, call)

    def fill(self, template: str, parts: Sequence[str], call: Call | None = None) -> str:
        """A template with these parts.

        `{x} {y} {z}` are the parts, `{args}` all and `{rest}` all but the first; `{c}` is the first where texts are
        compared by their bytes, `{k[1]}` a constant whole number, `{n[0.5]}` a double.
        """
        given = () if call is None else call.arguments
        texts = any(argument.facts.type is Type.TEXT for argument in given)
        whole = [a.value if isinstance(a, Constant) and isinstance(a.value, int) else None for a in given]
        types = {"double": self.dialect.double, "timestamp": self.dialect.timestamp}

        def body(*parts: str) -> str:
            first = self.dialect.bytewise.format(parts[0]) if texts else parts[0]
            several = {"args": _Several(parts), "rest": _Several(parts[1:])}
            named = dict(zip("xyz", parts, strict=False))
            return template.format(**named, **several, **types, c=first, k=whole, n=_Numbers(self.dialect))

        return self.let(parts, body)


Render = Callable[[Writer, Call, list[str]], str]
"""How an operation that is no template is written: the call, for its facts and constants, and its written arguments."""
