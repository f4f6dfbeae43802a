"""`tacit place`: a report of where one is that nearby places could have made as well, with a map."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tacit.base import exact
from tacit.base.bar import progress_bar
from tacit.cli.options import Json, Picture, option
from tacit.cli.screen import check_outputs, facts, output, up, write_out
from tacit.place import GeoLaplace, Track, distance
from tacit.place.geo import checked, offset

__all__ = ["place"]

SHOWN = 400  # simulated reports on a map


def place(
    latitude: Annotated[float, typer.Argument(help="Degrees north; negative is south.", show_default=False)],
    longitude: Annotated[float, typer.Argument(help="Degrees east; negative is west.", show_default=False)],
    radius: Annotated[str, option("METRES", "Protect places within this.")] = "200",
    factor: Annotated[str, option("NUMBER", "A report may change the odds between them so much.")] = "2",
    count: Annotated[int, typer.Option("--count", min=1, max=100_000, help="How many reports, as of one track.")] = 1,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """Report a place with planar Laplace noise: within the radius no place becomes much likelier than another.

    The map shows simulated reports of this place beside the truth, so it is for your eyes alone.

    Example: tacit place 52.2053 0.1218 --radius 500 --plot map.svg
    """
    check_outputs(plot=plot)
    metres = exact(radius, "--radius")
    mechanism = GeoLaplace.protecting(radius=metres, factor=exact(factor, "--factor"))
    within, each = float(metres), mechanism.loss(metres)
    track = Track(mechanism, budget=count * each.bound, radius=metres)
    with progress_bar("reporting"):
        reports = [track.report((latitude, longitude)) for _ in range(count)]
    half, nearly_all, warning = mechanism.error(0.5), mechanism.error(0.95), track.warning()
    data = {
        "reports": reports,
        "radius": within,
        "epsilon_each": float(each.bound),
        "epsilon_track": float(track.loss().bound),
        "error_95": nearly_all,
        "warning": warning,
    }
    lines = {
        "report": "; ".join(f"{north:.5f} {east:.5f}" for north, east in reports[:10]),
        "protects": f"within {within:,.0f} m a report changes no odds by more than {factor} times",
        "noise": f"half of the reports are within {half:,.0f} m of the truth, 95 % within {nearly_all:,.0f} m",
        "costs": f"ε = {up(float(each.bound), 4)} within {within:,.0f} m, for each report",
    }
    output(as_json, data, facts(lines), *([Text(f"\n! {warning}", style="yellow")] if warning else []))
    write_out("picture", plot, lambda path: _draw(mechanism, (latitude, longitude), within, path), quiet=as_json)


def _draw(mechanism: GeoLaplace, truth: tuple[float, float], within: float, path: Path) -> None:
    from tacit.plot import page, write
    from tacit.plot.answers import places

    here = checked([truth] * SHOWN)
    reports = mechanism.sample(here)
    inside = float((distance(here, reports) <= within).mean())
    panel = places(
        [(float(east), float(north)) for east, north in offset(here, reports)],
        rings=[(mechanism.error(level), f"{level:.0%}") for level in (0.5, 0.95)],
        protected=within,
        title=(
            f"{SHOWN} reports of one place",
            f"dots are reports, the cross is the truth; {inside:.0%} fell inside the protected circle",
        ),
    )
    write(page([[panel]], title="Where are you?", subtitle="planar Laplace noise, drawn for one place"), path)
