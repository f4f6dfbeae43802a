"""`tacit mechanisms`: the registry as a table, as JSON and as a page of the documentation."""

from inspect import getdoc

from rich import box
from rich.table import Table
from rich.text import Text

from tacit.mechanism import MECHANISMS, Mechanism

__all__ = ["as_json", "as_markdown", "as_table"]

HEADING = """\
# Mechanisms

Every mechanism of `tacit`, from its registry. This page is written by `make docs` (`tacit mechanisms --markdown`).

| mechanism | what it does | theory |
|---|---|---|
"""


def summary(mechanism: type[Mechanism]) -> str:
    """The first sentence of the mechanism's own description, on one line."""
    paragraph = (getdoc(mechanism) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def as_json() -> list[dict[str, str]]:
    return [{"name": m.__name__, "summary": summary(m), "theory": f"docs/theory/{m.theory}.md"} for m in MECHANISMS]


def as_markdown() -> str:
    rows = []
    for m in MECHANISMS:
        text = summary(m).replace("|", "\\|")
        rows.append(f"| `{m.__name__}` | {text} | [{m.theory}](../theory/{m.theory}.md) |")
    return HEADING + "\n".join(rows) + "\n"


def as_table() -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Mechanism", style="bold", no_wrap=True)
    table.add_column("What it does")
    table.add_column("docs/theory/…", style="dim", no_wrap=True)
    for mechanism in MECHANISMS:
        table.add_row(mechanism.__name__, Text(summary(mechanism)), f"{mechanism.theory}.md")
    return table
