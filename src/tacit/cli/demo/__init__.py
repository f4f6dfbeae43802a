"""`tacit demo`: the tour in SQL, or of the mechanisms underneath; on the terminal, as JSON, and as a picture."""

from pathlib import Path
from typing import Annotated

from tacit.cli.options import Json, Picture, flag, option

__all__ = ["ANALYST", "WHY", "demo"]

ANALYST = "ana"
WHY = (
    "Gluble publishes: our 25 people earn 500,000 on average. One joins, and it publishes: our 26 earn 505,000. "
    "Now everybody knows what the newcomer earns: 26 × 505,000 − 25 × 500,000 = 630,000.\n"
    "Exact answers give people away. "
)


def demo(
    plot: Picture = None,
    as_json: Json = False,
    keep: Annotated[Path | None, option("FOLDER", "Leave the data, policy and ledger there.")] = None,
    mechanisms: Annotated[
        bool, flag("--mechanisms", "Four textbook questions instead, each by one mechanism.")
    ] = False,
) -> None:
    """A short tour: a made-up clinic is asked in SQL, answered privately, until its budget is spent."""
    if mechanisms:
        from tacit.cli.demo.mechanisms import show_mechanisms

        show_mechanisms(plot=plot, as_json=as_json)
    else:
        from tacit.cli.demo.clinic import show_clinic

        show_clinic(plot=plot, as_json=as_json, keep=keep)
