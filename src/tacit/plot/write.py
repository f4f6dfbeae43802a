"""A chart as a file: SVG or PNG, complete in itself."""

from io import StringIO
from pathlib import Path
from typing import Literal

import altair as alt

from tacit.base import InputError

__all__ = ["FORMATS", "picture_path", "svg", "write"]

Format = Literal["svg", "png"]
FORMATS: dict[str, Format] = {".svg": "svg", ".png": "png"}


def picture_path(path: Path) -> Path:
    """`path` if a picture can be written there, else an error that says why: to be asked before anything is spent."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f'"{path.name}" must end in {" or ".join(FORMATS)}: pictures are written as SVG or PNG')
    if not path.parent.is_dir():
        raise InputError(f'there is no directory "{path.parent}" to write {path.name} in: create it first')
    return path


def write(chart: alt.TopLevelMixin, path: Path) -> None:
    """Draw `chart` into `path`; the extension says how."""
    kind = FORMATS[picture_path(path).suffix.lower()]
    try:
        chart.save(str(path), format=kind, scale_factor=2 if kind == "png" else 1)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as the text of an SVG picture."""
    drawn = StringIO()
    chart.save(drawn, format="svg")
    return drawn.getvalue()
