"""The file to declare: always the same, with what a policy of it would say."""

import csv
from pathlib import Path

from tacit.cli.demo_shop import BRANCHES, CUSTOMERS, shop


def test_it_is_what_a_curator_would_declare(tmp_path: Path) -> None:
    folder = shop(tmp_path / "data")
    with (folder / "shop.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["branch"] for row in rows} == set(BRANCHES)
    assert len({row["customer"] for row in rows}) == CUSTOMERS
    assert all(18 <= int(row["age"]) <= 90 and 0 <= float(row["paid"]) <= 150 for row in rows)
    assert len({(row["customer"], row["age"]) for row in rows}) == CUSTOMERS  # one age each
    assert min(row["day"] for row in rows) >= "2026-01-01"


def test_it_is_written_once(tmp_path: Path) -> None:
    folder = shop(tmp_path / "data")
    (folder / "shop.csv").write_text("mine\n", encoding="utf-8")
    shop(folder)
    assert (folder / "shop.csv").read_text(encoding="utf-8") == "mine\n"
