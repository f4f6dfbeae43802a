"""The automaton of a pattern, which Python and Spark run: one step for each character, whatever the text.

It is the deterministic one (subset construction: Rabin and Scott 1959). Java's own engine goes back, and takes
exponential time on some texts; Python's, which computes with released values, does too.
"""

from dataclasses import dataclass
from functools import lru_cache

from tacit.base import InputError
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.operation.kind import TEXT, ArgumentKind, Arguments, Held, Operation, takes, text_constant, truth
from tacit.plan.operation.pattern import (
    LARGEST,
    REMEMBERED,
    Alternatives,
    CharacterClass,
    PatternPart,
    Repeat,
    Sequence,
    pattern_of,
)

__all__ = ["OPERATIONS", "Automaton", "automaton"]

MOST_STATES = 400  # of the automaton with choices
MOST_CELLS = 4_000  # of the table of the one without


class _Choices:
    """The automaton with choices (Thompson 1968): for each state where it goes freely, and by which characters."""

    def __init__(self) -> None:
        self.free: list[list[int]] = []
        self.steps: list[list[tuple[CharacterClass, int]]] = []

    def state(self) -> int:
        if len(self.free) >= MOST_STATES:
            raise InputError("this pattern is too large: repeat less in it, or ask with several patterns")
        self.free.append([])
        self.steps.append([])
        return len(self.free) - 1

    def add(self, part: PatternPart, begin: int) -> int:
        """The state after the part."""
        match part:
            case CharacterClass():
                end = self.state()
                self.steps[begin].append((part, end))
                return end
            case Sequence(parts):
                for each in parts:
                    begin = self.add(each, begin)
                return begin
            case Alternatives(parts):
                ends = [self.add(each, self._after(begin)) for each in parts]
                end = self.state()
                for last in ends:
                    self.free[last].append(end)
                return end
            case Repeat(inner, least, most):
                return self._repeated(inner, least, most, begin)
        raise AssertionError("there is no other part")

    def _after(self, begin: int) -> int:
        found = self.state()
        self.free[begin].append(found)
        return found

    def _repeated(self, inner: PatternPart, least: int, most: int | None, begin: int) -> int:
        for _ in range(least):
            begin = self.add(inner, begin)
        if most is None:
            around = self._after(begin)
            self.free[self.add(inner, around)].append(around)
            return self._after(around)
        ends = [begin]
        for _ in range(most - least):
            ends.append(self.add(inner, self._after(ends[-1])))
        end = self.state()
        for each in ends:
            self.free[each].append(end)
        return end

    def reached(self, states: frozenset[int]) -> frozenset[int]:
        found, ahead = set(states), list(states)
        while ahead:
            more = [each for each in self.free[ahead.pop()] if each not in found]
            found.update(more)
            ahead += more
        return frozenset(found)


@dataclass(frozen=True)
class Automaton:
    """`table[state][kind]` is the next state; a character is of the kind of the first of `ends` that is not below it.
    The first state is 0."""

    ends: tuple[int, ...]
    table: tuple[tuple[int, ...], ...]
    accepts: tuple[bool, ...]

    def fits(self, text: str) -> bool:
        """Whether the whole text fits."""
        state, known = 0, dict[str, int]()
        for character in text:
            kind = known.get(character)
            if kind is None:
                kind = known[character] = next(i for i, end in enumerate(self.ends) if ord(character) <= end)
            state = self.table[state][kind]
        return self.accepts[state]


@lru_cache(maxsize=REMEMBERED)
def automaton(text: str, mode: str) -> Automaton:
    """The automaton of a pattern."""
    choices = _Choices()
    begin = choices.state()
    final = choices.add(pattern_of(text, mode), begin)
    cuts = {LARGEST}
    for steps in choices.steps:
        for characters, _ in steps:
            for low, high in characters.ranges:
                cuts |= {high} | ({low - 1} if low else set())
    ends = tuple(sorted(cuts))
    reached = [choices.reached(frozenset((state,))) for state in range(len(choices.free))]
    moves = [_moves(steps, ends, reached) for steps in choices.steps]
    first = reached[begin]
    numbers, order, table = {first: 0}, [first], list[tuple[int, ...]]()
    while len(table) < len(order):
        row = []
        for kind in range(len(ends)):
            following = frozenset().union(*(moves[state].get(kind, frozenset()) for state in order[len(table)]))
            if following not in numbers:
                numbers[following] = len(order)
                order.append(following)
            row.append(numbers[following])
        table.append(tuple(row))
        if len(order) * len(ends) > MOST_CELLS:
            raise InputError("this pattern is too large: repeat less in it, or ask with several patterns")
    return Automaton(ends, tuple(table), tuple(final in states for states in order))


def _moves(
    steps: list[tuple[CharacterClass, int]], ends: tuple[int, ...], reached: list[frozenset[int]]
) -> dict[int, frozenset[int]]:
    """Where a state leads by each kind of character."""
    found: dict[int, frozenset[int]] = {}
    for characters, target in steps:
        for kind, end in enumerate(ends):
            if any(low <= end <= high for low, high in characters.ranges):
                found[kind] = found.get(kind, frozenset()) | reached[target]
    return found


PATTERN = ArgumentKind("a constant pattern", (Type.TEXT,), lambda value: True)
MODES = ("search", "search folded", "whole", "whole folded")
MODE = ArgumentKind(f"one of {', '.join(MODES)}", (Type.TEXT,), lambda value: value in MODES)


def _fit(name: str, arguments: Arguments) -> Arguments:
    arguments = takes(TEXT, PATTERN, MODE)(name, arguments)
    automaton(*map(text_constant, arguments[1:]))
    return arguments


def _facts(x: Expression, *constants: Expression) -> Facts:
    return truth(x.facts.nullable)


def _fits(text: str, pattern: str, mode: str) -> Held:
    return automaton(pattern, mode).fits(text)


OPERATIONS = (
    Operation("regex", "whether x fits a constant pattern, somewhere (search) or as a whole (whole); folded takes A to "
              "Z and a to z as alike", _fit, _facts, _fits),
)  # fmt: skip
