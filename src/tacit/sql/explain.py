"""How a question was understood: whose rows it reads, how far each unit counts, where groups come from, and what is
done only with released values. From declarations alone: free, without an offer, and the same whatever the data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, BoundedQuestion, Clip, Norm
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.describe import show_aggregate, show_expression
from tacit.plan.expression import Column
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, SubAggregate
from tacit.plan.owner import UnitPath
from tacit.plan.profile import TableProfile
from tacit.plan.question import LoweredQuestion
from tacit.plan.released import Appended, DistinctRows, Page, ReleasedTable, Totals, Windows
from tacit.plan.window import WindowCall
from tacit.policy import Policy
from tacit.sql.catalog import Catalog
from tacit.sql.lower import lower
from tacit.sql.offer import contribution_of
from tacit.sql.parse import parse

__all__ = ["Explanation", "Finding", "explain"]

TITLES = {
    "unit": "who is protected",
    "table": "what is read",
    "row": "how rows are made",
    "key": "how they are grouped",
    "aggregate": "what is measured",
    "clip": "how far one unit counts",
    "after": "after the release, which costs nothing",
}
"""The kinds of findings in the order they are shown, and what they are about."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was understood: its `kind`, plain `data`, and a sentence made of it."""

    kind: str
    data: Mapping[str, Any]
    words: str

    def json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.data, "words": self.words}


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """What was understood, in the order in which it happens, and the columns of the answer."""

    findings: tuple[Finding, ...]
    columns: tuple[tuple[str, str], ...]

    def json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "findings": [finding.json() for finding in self.findings],
            "columns": [{"name": name, "type": kind} for name, kind in self.columns],
        }

    @property
    def lines(self) -> list[str]:
        """The text, line by line."""
        found: list[str] = []
        for kind, title in TITLES.items():
            mine = [finding.words for finding in self.findings if finding.kind == kind]
            found += [title, *(f"  {words}" for words in mine)] if mine else []
        return [*found, "the answer", *(f"  {name}: {kind}" for name, kind in self.columns)]

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def explain(
    sql: str,
    dialect: str | None,
    policy: Policy,
    catalog: Catalog,
    profiles: Mapping[str, TableProfile] | None = None,
) -> Explanation:
    """How a question would be understood; refused like the question itself."""
    question = lower(parse(sql, dialect), catalog)
    norm: Norm = "l2" if policy.privacy.currency.concentrated else "l1"
    bounded = bound(question, norm=norm, contribution=contribution_of(policy, question, profiles or {}))
    return Explanation(findings=tuple(_findings(question, bounded, policy)), columns=question.columns)


def _findings(question: LoweredQuestion, bounded: BoundedQuestion, policy: Policy) -> Iterator[Finding]:
    unit, people = policy.privacy.unit, policy.dataset.people
    words = f"every {unit}, all their rows together" + (f": {people}" if people else "")
    yield Finding(kind="unit", data={"unit": unit, "people": people}, words=words)
    first = 0
    for number, each in enumerate(question.measured):
        nodes = list(each.source.walk())[::-1]  # those below first, as it happens
        names, parts = _names(nodes), bounded.parts[first : first + each.parts]
        first += each.parts
        for node in nodes:
            yield from _of_node(node, names, unit)
        yield from _keys(each, parts[0], names, unit)
        for aggregate in each.aggregates:
            text = show_aggregate(aggregate, each.source, names)
            yield Finding(kind="aggregate", data={"function": aggregate.function, "of": text}, words=text)
        for part in parts:
            yield from (_clip(clip, part, unit) for clip in part.clips)
        which = f"answer {number + 1}: " if question.beside else ""
        yield from (replace(found, words=f"{which}{found.words}") for found in _after(each, names))
    if question.after is not None:
        yield from _of_answers(question.after)


# --- rows


def _names(nodes: Sequence[Node]) -> dict[str, str]:
    """What the columns of a plan are in words: a column of a table by its name, others by how they are computed."""
    names: dict[str, str] = {}
    for node in nodes:
        match node:
            case Scan():
                names |= {column.name: column.column for column in node.columns}
            case Project():
                names |= {name: show_expression(value, names) for name, value in node.columns}
            case Group():
                names |= {name: show_expression(value, names) for name, value in node.keys}
                names |= {each.name: _by_unit(each, names) for each in node.aggregates}
            case UnitWindows():
                names |= {call.name: _window(call, names) for call in node.calls}
            case Levels():
                names |= {name: show_expression(value, names) for name, value in node.keys}
                names[node.level] = "the grouping"
            case Stack():
                names |= {each.name: names.get(each.sources[0], each.sources[0]) for each in node.columns}
            case Match():
                keys = [f"{show_expression(a, names)} = {show_expression(b, names)}" for a, b in node.on]
                names[node.name] = f"there is a match on {' and '.join(keys) or 'any row'}"
    return names


def _window(call: WindowCall, names: Mapping[str, str]) -> str:
    arguments = ", ".join(show_expression(each, names) for each in call.arguments)
    order = ", ".join(
        show_expression(by.expression, names) + (" descending" if by.descending else "") for by in call.order
    )
    by = [show_expression(each, names) for each in call.partition]
    said = [*([f"by {', '.join(by)}"] if by else []), *([f"ordered by {order}"] if order else [])]
    return f"{call.function.upper()}({arguments})" + (f" {', '.join(said)}" if said else "")


def _by_unit(aggregate: SubAggregate, names: Mapping[str, str]) -> str:
    argument = "*" if aggregate.argument is None else show_expression(aggregate.argument, names)
    return f"{aggregate.function.upper()}({argument})"


def _of_node(node: Node, names: Mapping[str, str], unit: str) -> Iterator[Finding]:
    match node:
        case Scan():
            yield _table(node, names, unit)
        case Join():
            on = [[show_expression(each, names) for each in pair] for pair in node.on]
            once = " (each row meets at most one)" if node.unique else ""
            words = f"{node.kind} join on {' and '.join(' = '.join(pair) for pair in on)}{once}"
            yield Finding(
                kind="row", data={"step": "join", "join": node.kind, "on": on, "once": node.unique}, words=words
            )
        case Filter():
            condition = show_expression(node.condition, names)
            yield Finding(kind="row", data={"step": "filter", "where": condition}, words=f"those where {condition}")
        case Group():
            keys = [show_expression(value, names) for _, value in node.keys]
            made = [_by_unit(each, names) for each in node.aggregates]
            more = f" and {', '.join(keys)}" if keys else ""
            words = f"by {unit}{more}: {', '.join(made) or 'one row each'}, exact, since each is of one {unit}"
            yield Finding(kind="row", data={"step": "by unit", "keys": keys, "aggregates": made}, words=words)
        case UnitWindows():
            shown = [_window(call, names) for call in node.calls]
            words = f"beside each row, of the rows of its {unit} alone: {'; '.join(shown)}"
            yield Finding(kind="row", data={"step": "windows", "windows": shown}, words=words)
        case Stack():
            words = f"{len(node.parts)} parts, one after the other"
            yield Finding(kind="row", data={"step": "stack", "parts": len(node.parts)}, words=words)
        case Levels():
            sets = [[names[node.keys[place][0]] for place in keys] for keys in node.sets]
            shown = [f"({', '.join(keys)})" for keys in sets]
            words = f"in {len(sets)} groupings at once: {', '.join(shown)}"
            yield Finding(kind="row", data={"step": "groupings", "groupings": sets}, words=words)


def _on_path(path: UnitPath) -> str:
    """Whose rows they are, where no single column of the table says so."""
    links = " and ".join(f"{link.column} = {link.table}.{link.key}" for link in path.links)
    last = f"{path.links[-1].table}." if path.links else ""
    named = " and ".join(last + column for column in path.columns)
    says = "says" if len(path.columns) == 1 else "say together"
    return f"{named} {says} whose row it is" + (f", by the link {links}" if links else "")


def _table(scan: Scan, names: Mapping[str, str], unit: str) -> Finding:
    column = None if scan.unit_name is None else names.get(scan.unit_name)
    if not scan.private:
        whose = "public"
    elif scan.path is not None:
        whose = f"private, {_on_path(scan.path)}"
    elif column is None:
        whose = f"private, each row is a {unit}"
    else:
        whose = f"private, {column} says whose row it is"
        whose += f", at most {scan.rows_per_unit} each" if scan.rows_per_unit is not None else ""
    data = {"table": scan.table, "private": scan.private, "unit_column": column, "rows_per_unit": scan.rows_per_unit}
    return Finding(kind="table", data=data, words=f"{scan.table}: {whose}")


# --- groups and clips


def _keys(question: LoweredQuestion, part: Bounded, names: Mapping[str, str], unit: str) -> Iterator[Finding]:
    listed = {key.name: key.values for key in part.keys}
    for key in question.keys:
        text = show_expression(key.expression, names)
        values = listed.get(key.name)
        if values is None:
            origin, words = (
                "selected",
                f"by {text}: keys with enough {unit}s are found with noise, others are not shown",
            )
        else:
            origin, words = "declared", f"by {text}: {len(values):,} keys known from declarations, each shown"
        data = {"key": text, "origin": origin, "values": None if values is None else len(values)}
        yield Finding(kind="key", data=data, words=words)


def _clip(clip: Clip, part: Bounded, unit: str) -> Finding:
    origin = "none needed" if clip.exempt else "chosen privately" if clip.bound is None else "declared"
    rows = float(clip.bound / clip.row) if clip.bound is not None else None
    over = "over all groups together"
    many = "" if rows is None else f"{rows:g} full row{'' if rows == 1 else 's'}"
    caps = [measure.cap for measure in part.measures if measure.name in clip.names and measure.kind == "distinct"]
    if caps:
        words = f"no {unit} adds more than {caps[0]} different value{'' if caps[0] == 1 else 's'} {over}"
    elif clip.exempt:
        words = f"no {unit} can count more than {many} {over}: nothing is clipped"
    elif rows is None:
        words = f"how many rows of one {unit} count {over} is chosen privately, for a part of the price"
    else:
        words = f"what one {unit} adds is scaled down to {many} {over}"
    data = {"measures": list(clip.names), "norm": clip.norm, "origin": origin, "rows": rows}
    return Finding(kind="clip", data=data, words=words)


# --- after the release


def _of_answers(after: Node) -> Iterator[Finding]:
    """What is made of answers, from the inside out."""
    names: dict[str, str] = {}
    shown = next((node for node in after.walk() if isinstance(node, Project)), None)
    for node in reversed(list(after.walk())):
        words = ""
        data: dict[str, Any] = {}
        match node:
            case ReleasedTable():
                names |= {each.name: each.column for each in node.columns}
            case Project():
                made = {name: show_expression(value, names) for name, value in node.columns}
                if node is shown:
                    for name, text in made.items():
                        if text != name:
                            what = {"step": "compute", "column": name, "of": text}
                            yield Finding(kind="after", data=what, words=f"{name} = {text}")
                names |= made
            case Filter():
                words = f"rows are kept where {show_expression(node.condition, names)}"
                data = {"step": "filter", "of": show_expression(node.condition, names)}
            case Windows():
                names |= {call.name: _window(call, names) for call in node.calls}
            case Totals():
                names |= {name: show_expression(value, names) for name, value in node.keys}
                for total in node.totals:
                    of = "*" if total.argument is None else show_expression(total.argument, names)
                    names[total.name] = f"{total.function.upper()}({of})"
                keys = ", ".join(names[name] for name, _ in node.keys)
                words = f"totals of released numbers{f' by {keys}' if keys else ''}"
                data = {"step": "totals", "keys": [names[name] for name, _ in node.keys]}
            case Join():
                on = [f"{show_expression(a, names)} = {show_expression(b, names)}" for a, b in node.on]
                words = f"answers are joined{f' on {chr(32).join(on)}' if on else ''}"
                data = {"step": "join", "join": node.kind, "on": on}
            case Appended():
                names |= {name: names.get(sources[0], sources[0]) for name, _, sources in node.columns}
                words, data = f"{len(node.parts)} answers, one after the other", {"step": "append"}
            case Page():
                order = [show_expression(by.expression, names) for by in node.order]
                words = (
                    f"ordered by {', '.join(order)}"
                    if order
                    else f"{node.limit or 'all'} rows from row {node.offset + 1} on"
                )
                data = {"step": "page", "order": order, "limit": node.limit, "offset": node.offset}
            case DistinctRows():
                words, data = "rows that are the same are shown once", {"step": "distinct"}
        if words:
            yield Finding(kind="after", data=data, words=words)


def _after(question: LoweredQuestion, names: Mapping[str, str]) -> Iterator[Finding]:
    told = {**names, **{each.name: show_aggregate(each, question.source, names) for each in question.aggregates}}
    told |= {key.name: show_expression(key.expression, names) for key in question.keys}
    for name, made in question.output:
        if not isinstance(made, Column):
            text = show_expression(made, told)
            yield Finding(kind="after", data={"step": "compute", "column": name, "of": text}, words=f"{name} = {text}")
    if question.having is not None:
        text = show_expression(question.having, told)
        yield Finding(kind="after", data={"step": "having", "of": text}, words=f"groups are kept where {text}")
    for order in question.order:
        text, way = show_expression(order.expression, told), "descending" if order.descending else "ascending"
        yield Finding(kind="after", data={"step": "order", "of": text, "way": way}, words=f"ordered by {text}, {way}")
    if question.distinct:
        yield Finding(kind="after", data={"step": "distinct"}, words="rows that are the same are shown once")
    if question.limit is not None or question.offset:
        words = f"{question.limit if question.limit is not None else 'all'} rows from row {question.offset + 1} on"
        data = {"step": "limit", "limit": question.limit, "offset": question.offset}
        yield Finding(kind="after", data=data, words=words)
