"""The set of queries in the style of public documentation: most have an answer, and no dangerous one has."""

import re
from collections import Counter

import pytest
from bench.accepted import ACCEPT, Verdict, verdicts

FOUND = list(verdicts())


@pytest.mark.parametrize("each", FOUND, ids=lambda each: each.query.sql[:60])
def test_each_query_is_as_marked(each: Verdict) -> None:
    assert each.found == each.query.expected, each.words


def test_what_has_no_private_answer_is_refused() -> None:
    assert not [each.query.sql for each in FOUND if each.found == ACCEPT and not each.query.private]


def test_the_share_accepted() -> None:
    """Of those that have a private answer."""
    private = [each for each in FOUND if each.query.private]
    assert sum(each.found == ACCEPT for each in private) / len(private) >= 0.85
    assert len(FOUND) > 300


def test_every_kind_of_refusal_that_needs_no_offer_occurs() -> None:
    assert {"danger", "unsupported", "declaration", "mistake"} <= set(Counter(each.found for each in FOUND))


def test_nothing_with_a_call_is_told_to_be_without_an_aggregate() -> None:
    told = [each.query.sql for each in FOUND if "without an aggregate" in each.words]
    assert told
    assert not [sql for sql in told if re.search(r"\w\(", sql.split(" FROM ")[0])]
