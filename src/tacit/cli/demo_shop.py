"""A file that nobody has declared yet: a made-up shop, for whoever wants to try that in the console."""

from pathlib import Path

__all__ = ["shop"]

CUSTOMERS = 2000
BRANCHES = ("east", "harbour", "north", "station")
HEAD = "customer,age,branch,paid,day"


def shop(folder: Path) -> Path:
    """The folder, with `shop.csv` in it: about five purchases of each customer. Always the same one."""
    path = folder / "shop.csv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([HEAD, *map(_line, range(CUSTOMERS * 5))]) + "\n", encoding="utf-8")
    return folder


def _line(number: int) -> str:
    """A row out of a number, by arithmetic: made-up data need no chance."""
    customer = number * 7919 % CUSTOMERS
    age = 18 + (customer * customer // 7 + customer) % 73
    branch = BRANCHES[(customer // 3 + number * number) % 11 % len(BRANCHES)]
    cents = 199 + (number * number * 31 + customer * 97) % 14_800
    day = f"2026-{1 + number * 13 % 12:02}-{1 + number * 29 % 28:02}"
    return f"{customer},{age},{branch},{cents // 100}.{cents % 100:02},{day}"
