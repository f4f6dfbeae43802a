"""The clinic with a table that declares what its profile may cost."""

from pathlib import Path

from support.service import clinic

__all__ = ["profiled"]


def profiled(folder: Path) -> Path:
    """The policy, in which visits have no clip of their own."""
    path = clinic(folder)
    text = path.read_text(encoding="utf-8")
    lines = [
        line for line in text.splitlines() if not line.startswith(("max_rows_per_unit", "clip_rows", "max_groups"))
    ]
    at = lines.index("[tables.visits]") + 1
    path.write_text("\n".join([*lines[:at], "profile = 0.5", *lines[at:]]) + "\n", encoding="utf-8")
    return path
