"""A CSV file of made-up shop visits, and a draft that declares it."""

from pathlib import Path
from typing import Any

__all__ = ["draft", "shop"]


def shop(folder: Path) -> Path:
    """A data folder with one file: 300 customers with three purchases each."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["customer,age,branch,paid,day"]
    for number in range(900):
        customer = number % 300
        branch = ("east", "north", "west")[number % 3]
        lines.append(f"{customer},{18 + customer % 60},{branch},{number % 97}.50,2026-0{1 + number % 9}-1{number % 9}")
    (folder / "shop.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def draft(**changes: Any) -> dict[str, Any]:
    """A whole draft of the shop, as a page would send it."""
    return {
        "source": {"file": "shop.csv"},
        "name": "shop",
        "unit": "customer",
        "currency": "epsilon",
        "budget": "4",
        "delta": "1e-6",
        "tables": [
            {
                "name": "shop",
                "whose": "unit",
                "unit": "customer",
                "clip_rows": "3",
                "columns": [
                    {"name": "customer", "type": "integer"},
                    {"name": "age", "type": "integer", "low": "0", "high": "110", "nullable": False},
                    {"name": "branch", "type": "text", "group_keys": ["east", "north", "west"], "nullable": False},
                    {"name": "paid", "type": "decimal", "low": "0", "high": "100", "step": "0.01", "clip": "200"},
                    {"name": "day", "type": "date", "low": "2026-01-01", "high": "2026-12-31"},
                ],
            }
        ],
        "analysts": [{"name": "ana", "limit": "2"}],
        **changes,
    }
