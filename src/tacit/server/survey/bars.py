"""Estimates as bars: where each begins and ends on a line of a thousand units, and how it is said in words."""

from dataclasses import dataclass

from tacit.survey.question import Question
from tacit.survey.results import Finding

__all__ = ["Bar", "Chart", "drawn"]

WIDE = 1000.0
MOST = 40  # lines shown; the rest is in the files
WAYS = {
    "direct": "direct response",
    "hadamard": "Hadamard response",
    "subset": "subset selection",
    "several": "one option of each respondent",
    "prefix": "beginnings of texts",
}


@dataclass(frozen=True)
class Bar:
    """One estimate: its name, what is said of it, and places on the line."""

    answer: str
    said: str
    raw: str
    fill: float
    dot: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """One question. `share` says that bars begin at 0; `more` lines are not shown."""

    finding: Finding
    share: bool
    begin: str
    end: str
    bars: tuple[Bar, ...]
    more: int
    margin: str
    central: str
    way: str
    mean: str


def drawn(question: Question, finding: Finding) -> Chart:
    """The chart of a finding; the largest shares first where there are many."""
    share = finding.unit == "share"
    lines = finding.lines if len(finding.lines) <= MOST else sorted(finding.lines, key=lambda x: -x.value)[:MOST]
    if share or question.range is None:
        low, high = 0.0, max([line.upper for line in lines], default=1.0)
        high = min(1.0, max(high, 0.05) * 1.05)
    else:
        low, high = (float(end) for end in question.range)

    def place(value: float) -> float:
        return round(WIDE * min(1.0, max(0.0, (value - low) / (high - low))), 1)

    def told(value: float) -> str:
        return f"{100 * value:.1f} %" if share else f"{value:.4g}"

    bars = tuple(
        Bar(
            answer=line.answer,
            said=f"{told(line.consistent)} ({told(line.lower)} to {told(line.upper)})",
            raw=told(line.value),
            fill=place(line.consistent),
            dot=place(line.value),
            low=place(line.lower),
            high=place(line.upper),
        )
        for line in lines
    )
    widest = max([(line.upper - line.lower) / 2 for line in lines], default=0.0)
    return Chart(
        finding=finding,
        share=share,
        begin=told(low),
        end=told(high),
        bars=bars,
        more=len(finding.lines) - len(lines),
        margin=_width(widest, share),
        central=_width(finding.central or 0.0, share),
        way=WAYS.get(finding.protocol, finding.protocol.replace("_", " ")),
        mean=_mean(finding),
    )


def _mean(finding: Finding) -> str:
    found = finding.mean
    return "" if found is None else f"{found.consistent:.4g} ({found.lower:.4g} to {found.upper:.4g})"


def _width(half: float, share: bool) -> str:
    return f"± {100 * half:.2g} points" if share else f"± {half:.2g}"
