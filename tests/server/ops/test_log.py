"""What is written down about requests, and what never is."""

import json
import logging
import subprocess
import sys

import pytest

from tacit.server.ops.log import Lines, Metrics, outcome_of

CODE = """
from tacit.server.ops.log import event, no_paths, to_stderr
to_stderr()
no_paths()
from tacit.server.wire.catalog.translate import read_catalog
import logging
for sql in ("FETCH hidden", "SELECT 1; VACUUM hidden", "TABLE hidden", "SHOW hidden"):
    read_catalog(sql)
logging.getLogger("uvicorn.access").warning("GET /hidden")
event("started", datasets=1)
"""


def test_no_statement_and_no_path_gets_into_the_log() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert (json.loads(line)["event"], json.loads(line)["datasets"]) == ("started", 1)
    assert not done.stdout


def test_an_exception_is_named_and_not_quoted() -> None:
    try:
        raise ValueError("hidden")
    except ValueError:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "x.py", 1, "failed: hidden", (), sys.exc_info())
    line = Lines().format(record)
    assert json.loads(line)["error"] == "ValueError"
    assert "hidden" not in line


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", '"'])
def test_a_line_stays_a_line(text: str) -> None:
    record = logging.LogRecord("tacit.server", logging.INFO, "x.py", 1, "started", (), None)
    record.facts = {"who": text}
    assert Lines().format(record).isprintable()


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
