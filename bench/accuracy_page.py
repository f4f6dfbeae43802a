"""The results of the accuracy benchmark as a part of a page of the documentation, between two marks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.accuracy_table import AHEAD, NEAR, SIGNS, AccuracyResult, questions, trials_of, verdict

__all__ = ["PAGE", "markdown", "rewrite"]

PAGE = Path("docs/reference/accuracy.md")


def rewrite(page: Path, name: str, text: str) -> None:
    """Put `text` between the marks of that name."""
    first, last = f"<!-- {name}: written by `python -m bench.{name} --page` -->", f"<!-- end of {name} -->"
    before, mark, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not mark or not end:
        raise ValueError(f"{page} has no lines {first} and {last}")
    page.write_text(f"{before}{first}\n\n{text}\n\n{last}{after}")


def markdown(found: Sequence[AccuracyResult], about: Mapping[str, Any]) -> str:
    """The table, where tacit's default is behind, and what was left out."""
    systems = list(dict.fromkeys(one.system for one in found if one.system != "tacit"))
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [
        f"Measured on {about['measured']}: {versions}; {about['people']:,} people, ε = {about['epsilon']:g}, "
        f"δ = {about['delta']:g}; trials of each answer: {trials_of(found)}. "
        "*Default*, *profile* and *shared profile* are errors of tacit, in ε or ρ as is better, with the processor "
        "time of an answer. "
        "Under each peer: its error ÷ that of tacit's default, as a user sets it / at its best by the truth, and its "
        "processor time.",
        "",
        f"| data | question | default | profile | shared profile | {' | '.join(systems)} |",
        f"|---|---|--:|--:|--:|{'--:|' * len(systems)}",
    ]
    behind: list[str] = []
    for shape, question, ones in questions(found):
        ours = _least(ones, "default")
        if ours is None or not ours.error:
            continue
        cells = [_own(ours), *(_own(_least(ones, way)) for way in ("profile", "shared"))]
        for system in systems:
            theirs = {one.way: one for one in ones if one.system == system}
            cells.append(_peer(theirs, ours.error))
            behind += _behind(theirs, ours, f"{shape}: {question}")
        lines.append(f"| {shape} | {question} | {' | '.join(cells)} |")
    lines += ["", "Where the default is behind by more than chance (a peer's error ÷ its own):", ""]
    lines += [f"- {one}" for one in behind] or ["- nowhere"]
    missing = dict.fromkeys((one.label, one.cannot) for one in found if one.cannot)
    if missing:
        lines += ["", "Not answered:", "", *(f"- {label}: {why}" for label, why in missing)]
    return "\n".join(lines)


def _least(ones: Sequence[AccuracyResult], way: str) -> AccuracyResult | None:
    of = [one for one in ones if one.system == "tacit" and one.way == way and one.error is not None]
    return min(of, key=lambda one: one.error or 0.0, default=None)


def _own(one: AccuracyResult | None) -> str:
    if one is None or one.error is None:
        return "–"
    return f"{one.error:,.3g} ({SIGNS.get(one.currency, one.currency)}, {one.cpu * 1000:.0f} ms)"


def _peer(theirs: Mapping[str, AccuracyResult], ours: float) -> str:
    errors = [theirs[way].error if way in theirs else None for way in ("picked", "best")]
    if errors[0] is None and errors[1] is None:
        return "–"
    told = " / ".join("–" if error is None else f"{error / ours:.2f}" for error in errors)
    return f"{told} ({max(one.cpu for one in theirs.values()):.1f} s)"


def _behind(theirs: Mapping[str, AccuracyResult], ours: AccuracyResult, question: str) -> Iterator[str]:
    for way, least in (("picked", AHEAD), ("best", NEAR)):
        one = theirs.get(way)
        if one is not None and one.error is not None and ours.error and verdict(ours, [one], least) == "NO":
            told = "as a user sets it" if way == "picked" else "at its best"
            yield f"{question}: {one.error / ours.error:.2f}, {one.system} {told} ({one.setting})"
