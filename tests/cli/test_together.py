"""`tacit together`: a plan is priced, a round is rehearsed by the real code, and mistakes are told in words."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.cohorts import policy_in
from tacit.base import Aborted, InputError
from tacit.cli.app import app
from tacit.learn.federated import Cohort, Federation

PLAN = {"--clients": "8", "--survivors": "6", "--dimension": "20", "--rounds": "5", "--sigma": "2", "--lost": "0"}


def run(**change: str | None) -> Any:
    words = PLAN | {f"--{name}": value for name, value in change.items() if value is not None}
    for name, value in change.items():
        if value is None:
            words.pop(f"--{name}")
    told = [word for pair in words.items() for word in pair]
    return CliRunner().invoke(app, ["together", *told, "--json"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("noise", "server"),
    [("distributed", "curious"), ("distributed", "lying"), ("local", "curious"), ("central", "curious")],
)
def test_a_round_is_rehearsed(noise: str, server: str) -> None:
    found = json.loads(run(noise=noise, server=server, sigma=None, epsilon="4", delta="1e-6").stdout)
    cohort = Cohort(clients=8, survivors=6, clip=1, dimension=20, noise=noise, server="curious")  # type: ignore[arg-type]
    same = Federation(cohort=cohort, rounds=5, table="clients", epsilon=4, delta="1e-6")
    assert found["sigma"] == float(same.share)
    assert found["epsilon"] <= 4
    assert found["left"] == 8
    alone = found["sigma"] * (1 if noise == "central" else 8**0.5) / 8
    assert 0.2 * alone < found["error"] < 3 * alone  # of twenty numbers
    # 32 rotated numbers of 16 bits; the masked ones also carry two keys and seven letters
    assert found["bytes sent"] == 64 if noise != "distributed" else found["bytes sent"] > 64 + 64 + 7 * 66


def test_it_is_quoted_and_nothing_is_spent(tmp_path: Path) -> None:
    policy = policy_in(tmp_path, limit=10)
    words = ["together", "--quote", "--policy", str(policy), "--analyst", "cora", "--table", "phones", "--json"]
    told = [*words, *(word for pair in PLAN.items() for word in pair)]
    first, again = (CliRunner().invoke(app, told, catch_exceptions=False).stdout for _ in range(2))
    cohort = Cohort(clients=8, survivors=6, clip=1, dimension=20)
    price = Federation(cohort=cohort, rounds=5, table="phones", sigma=2).program.cost.rho
    assert float(price or 0) == pytest.approx(float(Fraction(json.loads(first)["cost"]["rho"])), rel=1e-6)
    assert first == again


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clients": "x"}, "--clients"),
        ({"clients": "2.5"}, "whole number"),
        ({"survivors": "9"}, "threshold ≤ clients"),
        ({"sigma": None}, "either epsilon"),
        ({"sigma": None, "epsilon": "4"}, "delta"),
        ({"sigma": "1e-9"}, "take more noise"),
        ({"noise": "cental"}, "distributed"),
        ({"server": "lying", "survivors": "4"}, "two halves"),
        ({"lost": "2"}, "--lost"),
    ],
)
def test_mistakes_are_told(change: dict[str, str | None], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(**change)


def test_too_few_left_is_no_round() -> None:
    with pytest.raises(Aborted, match="nothing is released"):
        run(lost="0.9")
