"""Regular expressions that mean the same in every engine and are matched in time linear in the text.

Patterns are a small language that RE2 (DuckDB), PostgreSQL and our own automaton agree on: characters, `.` (all but a
newline), classes such as `[A-Za-z_]`, `[^,]`, `\\d`, `\\w`, `\\s` and `[[:alpha:]]` (ASCII), `|`, groups, `* + ?` and
`{m,n}`. `^` and `$` stand at the ends of the pattern or of an alternative, and mean the ends of the whole text.
References back, looking around and word boundaries are refused. A pattern is brought to one form, of whole texts, by
`pattern_of`; its size is limited, so that no engine refuses one after it was paid for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tacit.base import InputError

__all__ = [
    "ANY",
    "LARGEST",
    "REMEMBERED",
    "Alternatives",
    "CharacterClass",
    "PatternPart",
    "Repeat",
    "Sequence",
    "pattern_of",
]

LONGEST = 500  # characters of a pattern
MOST_REPEATED = 100  # of {m,n}, which is what every engine takes
MOST_NESTED = 20
REMEMBERED = 256
LARGEST = 0x10FFFF
LETTERS = ((ord("A"), ord("Z")), (ord("a"), ord("z")))
DIGITS = ((ord("0"), ord("9")),)
SPACES = ((9, 13), (32, 32))
UNDERSCORE = ((ord("_"), ord("_")),)
ESCAPED = {"d": DIGITS, "w": (*LETTERS, *DIGITS, *UNDERSCORE), "s": SPACES}
NAMED = {"alpha": LETTERS, "digit": DIGITS, "alnum": (*LETTERS, *DIGITS), "space": SPACES, "upper": LETTERS[:1],
         "lower": LETTERS[1:], "blank": ((9, 9), (32, 32)),
         "punct": ((33, 47), (58, 64), (91, 96), (123, 126))}  # fmt: skip
TIMES: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}

Range = tuple[int, int]


@dataclass(frozen=True)
class PatternPart:
    """A piece of a pattern."""


@dataclass(frozen=True)
class CharacterClass(PatternPart):
    """One character of these code points, in order and apart."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Sequence(PatternPart):
    parts: tuple[PatternPart, ...]


@dataclass(frozen=True)
class Alternatives(PatternPart):
    parts: tuple[PatternPart, ...]


@dataclass(frozen=True)
class Repeat(PatternPart):
    """`least` times and up to `most`, any number where that is None."""

    part: PatternPart
    least: int
    most: int | None


def _merged(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _other(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Every code point but these."""
    found, at = [], 0
    for low, high in _merged(ranges):
        if low > at:
            found.append((at, low - 1))
        at = high + 1
    return (*found, (at, LARGEST)) if at <= LARGEST else tuple(found)


def _folded(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """With the other case of A to Z and a to z."""
    more = []
    for low, high in ranges:
        for (first, last), move in zip(LETTERS, (32, -32), strict=True):
            if max(low, first) <= min(high, last):
                more.append((max(low, first) + move, min(high, last) + move))
    return _merged((*ranges, *more))


ANY = CharacterClass(((0, LARGEST),))
SOMETHING = Repeat(ANY, 0, None)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str, *, folded: bool) -> None:
        self.text, self.at, self.folded, self.depth = text, 0, folded, 0

    def wrong(self, why: str) -> InputError:
        return InputError(f"the pattern {self.text[:60]!r} is not read, since {why} (at character {self.at + 1})")

    def ahead(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.ahead(text)
        self.at += len(text) if found else 0
        return found

    def whole(self) -> PatternPart:
        """Any text that contains the pattern, as one that fits from end to end."""
        alternatives: list[PatternPart] = []
        while True:
            begins = self.take("^")
            parts = list(self.items())
            ends = self.take("$")
            alternatives.append(Sequence((*([] if begins else [SOMETHING]), *parts, *([] if ends else [SOMETHING]))))
            if not self.take("|"):
                break
        if self.at < len(self.text):
            why = "^ and $ stand at its ends, or at those of its alternatives"
            raise self.wrong(why if self.text[self.at] in "^$" else "a ) closes nothing")
        return alternatives[0] if len(alternatives) == 1 else Alternatives(tuple(alternatives))

    def choice(self) -> PatternPart:
        """What stands in a group, or all of a pattern for whole texts."""
        found = [Sequence(tuple(self.items()))]
        while self.take("|"):
            found.append(Sequence(tuple(self.items())))
        return found[0] if len(found) == 1 else Alternatives(tuple(found))

    def items(self) -> Iterator[PatternPart]:
        while self.at < len(self.text) and self.text[self.at] not in "|)$":
            if self.ahead("^"):
                raise self.wrong("^ stands at its beginning, or at that of an alternative")
            yield self.repeated(self.one())

    def one(self) -> PatternPart:
        sign = self.text[self.at]
        if sign in "*+?":
            raise self.wrong(f"there is nothing before {sign} to repeat")
        self.at += 1
        match sign:
            case "(":
                if self.ahead("?") and not self.take("?:"):
                    raise self.wrong("groups are plain, ( … ) or (?: … )")
                self.depth += 1
                if self.depth > MOST_NESTED:
                    raise self.wrong(f"its groups are nested more than {MOST_NESTED} deep")
                found = self.choice()
                self.depth -= 1
                if found == Sequence(()):
                    raise self.wrong("a group is empty")
                if not self.take(")"):
                    raise self.wrong("a ( is never closed, or has ^ or $ inside")
                return found
            case "[":
                return self.characters(self.listed())
            case ".":
                return CharacterClass(_other(((10, 10),)))
            case "\\":
                return self.characters(self.escaped())
            case "{" | "}" | "]":
                raise self.wrong(f"{sign} stands alone: write \\{sign}")
        return self.characters(((ord(sign), ord(sign)),))

    def characters(self, ranges: tuple[Range, ...]) -> CharacterClass:
        return CharacterClass(_folded(ranges) if self.folded else _merged(ranges))

    def escaped(self) -> tuple[Range, ...]:
        if self.at >= len(self.text):
            raise self.wrong("it ends in a backslash")
        sign = self.text[self.at]
        self.at += 1
        if sign in ESCAPED:
            return ESCAPED[sign]
        if sign.lower() in ESCAPED:
            return _other(ESCAPED[sign.lower()])
        code = CONTROLS.get(sign)
        if code is None and (sign.isalnum() or sign == "_"):
            raise self.wrong(f"\\{sign} means different things in different engines")
        code = ord(sign) if code is None else code
        return ((code, code),)

    def listed(self) -> tuple[Range, ...]:
        """A class, after its [."""
        negated, found, first = self.take("^"), list[Range](), True
        while first or not self.ahead("]"):
            if self.at >= len(self.text):
                raise self.wrong("a [ is never closed")
            if self.ahead("]"):
                raise self.wrong("a class is empty, or begins with ]: write \\]")
            first = False
            if self.take("[:"):
                end = self.text.find(":]", self.at)
                name = self.text[self.at : end] if end > 0 else ""
                if name not in NAMED:
                    raise self.wrong(f"classes by name are {', '.join(NAMED)}")
                self.at = end + 2
                found += NAMED[name]
                continue
            low = self.member()
            if len(low) == 1 and low[0][0] == low[0][1] and self.ahead("-") and not self.ahead("-]"):
                self.at += 1
                high = self.member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise self.wrong("a range in [ ] is from a lower character to a higher one")
                low = ((low[0][0], high[0][0]),)
            found += low
        self.at += 1
        ranges = _folded(tuple(found)) if self.folded else tuple(found)
        return _other(ranges) if negated else ranges

    def member(self) -> tuple[Range, ...]:
        if self.at >= len(self.text):
            raise self.wrong("a [ is never closed")
        sign = self.text[self.at]
        if sign == "[" or self.ahead("&&"):
            raise self.wrong(f"{sign} inside [ ] means different things in different engines: write \\{sign}")
        self.at += 1
        return self.escaped() if sign == "\\" else ((ord(sign), ord(sign)),)

    def repeated(self, part: PatternPart) -> PatternPart:
        sign = self.text[self.at : self.at + 1]
        if sign not in ("*", "+", "?", "{"):
            return part
        self.at += 1
        least, most = self.counts() if sign == "{" else TIMES[sign]
        self.take("?")  # the shortest match is as much a match
        if self.at < len(self.text) and self.text[self.at] in "*+?{":
            raise self.wrong("something is repeated twice: put it in a group")
        return Repeat(part, least, most)

    def counts(self) -> tuple[int, int | None]:
        end = self.text.find("}", self.at)
        first, comma, last = self.text[self.at : end if end > 0 else self.at].partition(",")
        self.at = end + 1
        fits = first.isascii() and first.isdigit() and (not last or (last.isascii() and last.isdigit()))
        if end < 0 or not fits:
            raise self.wrong("a number of times is written {3}, {2,} or {2,5}")
        least, most = int(first[:9]), int(last[:9]) if last else None if comma else int(first[:9])
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise self.wrong(f"a number of times is at most {MOST_REPEATED}, the lower one first")
        return least, most


@lru_cache(maxsize=REMEMBERED)
def pattern_of(text: str, mode: str) -> PatternPart:
    """The pattern as one for whole texts. `mode` is `search`, `search folded`, `whole` or `whole folded`; folded takes
    A to Z and a to z as alike. InputError for what is no pattern of ours, or too large."""
    if len(text) > LONGEST:
        raise InputError(f"a pattern has at most {LONGEST} characters, and this one {len(text):,}")
    reader = _Reader(text.removeprefix("(?i)"), folded="folded" in mode or text.startswith("(?i)"))
    if mode.startswith("search"):
        return reader.whole()
    found = reader.choice()
    if reader.at < len(reader.text):
        raise reader.wrong("^, $ and ) have no meaning here")
    return found
