"""One number: every answer that could have come, how likely each was, and the one that came."""

from collections.abc import Mapping

import altair as alt

from tacit.plot.style import BLUE, PRIVATE, TRUTH, Panel, headed, records, role

__all__ = ["law"]


def law(
    chances: Mapping[str, Mapping[float, float]],
    *,
    answers: Mapping[str, tuple[float, float]],
    truth: float,
    title: tuple[str, ...],
    axis: str,
    width: int = 430,
) -> Panel:
    """One strip for each label: `chances` is answer → probability, `answers` the answer that came and its error."""
    reach = [x for law_ in chances.values() for x in law_]
    reach += [end for answer, error in answers.values() for end in (answer - error, answer + error)]
    scale = alt.Scale(domain=[min(reach), max(reach)], nice=False, zero=False)
    labelled, silent = alt.Axis(title=axis), alt.Axis(labels=False, title=None, ticks=False)
    strips = []
    for position, (label, law_) in enumerate(chances.items()):
        last = position == len(chances) - 1
        top = max(law_.values())
        answer, error = answers[label]
        curve = [{"x": x, "y": p / top} for x, p in sorted(law_.items())]
        point = [{"x": answer, "low": answer - error, "high": answer + error, "y": 0.22, "role": PRIVATE}]
        mark = [{"x": truth, "role": TRUTH}]
        height = alt.Y("y:Q", title=label, scale=alt.Scale(domain=[0, 1.05]), axis=_bare())
        shape = alt.Chart(records(curve)).mark_area(color=BLUE, opacity=0.18, interpolate="linear")
        line = alt.Chart(records(mark)).mark_rule(strokeWidth=2)
        bar = alt.Chart(records(point)).mark_rule(strokeWidth=2)
        dot = alt.Chart(records(point)).mark_point(filled=True, size=90, opacity=1)
        x = alt.X("x:Q", scale=scale, axis=labelled if last else silent)
        layers = alt.layer(
            shape.encode(x=x, y=height),
            line.encode(x=x, color=role()),
            bar.encode(x=alt.X("low:Q"), x2="high:Q", y=height, color=role()),
            dot.encode(x=x, y=height, color=role()),
        )
        strips.append(layers.properties(width=width, height=85))
    return alt.vconcat(*strips, spacing=6, title=headed(*title))


def _bare() -> alt.Axis:
    return alt.Axis(labels=False, ticks=False, grid=False, titleAngle=0, titleAlign="right", titleBaseline="middle")
