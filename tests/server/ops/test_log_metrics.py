"""Counters as text: labels are escaped, and how an answer ended tells nothing about data."""

import pytest

from tacit.server.ops.log import Metrics, outcome_of


def test_the_text_of_prometheus() -> None:
    metrics = Metrics()
    metrics.request("GET", "/v1/me", 200)
    metrics.request("GET", "/v1/me", 200)
    metrics.question('a"b\\c\nd', "asked")
    lines = metrics.text({("town", "rho"): (0.1, 2.0)}).splitlines()
    assert 'tacit_requests_total{method="GET",route="/v1/me",outcome="answered"} 2' in lines
    assert 'tacit_questions_total{dataset="a\\"b\\\\c\\nd",kind="asked"} 1' in lines
    assert 'tacit_spent{dataset="town",currency="rho"} 0.10000000000000001' in lines
    assert 'tacit_limit{dataset="town",currency="rho"} 2' in lines
    assert all(line.startswith(("# HELP", "# TYPE", "tacit_")) for line in lines)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "answered"),
        (202, "answered"),
        (500, "answered"),
        (403, "rejected"),
        (429, "rejected"),
        (503, "unavailable"),
    ],
)
def test_how_a_request_ended(status: int, outcome: str) -> None:
    assert outcome_of(status) == outcome
