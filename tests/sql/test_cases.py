"""Queries and what they are lowered to: every file of `cases`, one test for each pair."""

from pathlib import Path

import pytest

from support.plans import Case, answer, read

CASES = [(path.stem, case) for path in sorted(Path(__file__).parent.glob("cases/*.sql")) for case in read(path)]


@pytest.mark.parametrize(("file", "case"), CASES, ids=lambda value: value.name if isinstance(value, Case) else value)
def test_case(file: str, case: Case) -> None:
    assert answer(case.query, case.dialect) == case.expected


def test_there_are_cases_of_both_kinds() -> None:
    refusals = [case for _, case in CASES if case.expected.startswith("refused: ")]
    assert len(CASES) > 150
    assert 70 < len(refusals) < len(CASES) - 50


def test_every_case_says_something() -> None:
    assert all(case.query.startswith(("SELECT", "WITH")) and case.expected for _, case in CASES)
    names = [(file, case.name) for file, case in CASES]
    assert len(set(names)) == len(names)
