"""What is written down about requests, and what never is."""

import json
import logging
import subprocess
import sys

import pytest

from tacit.server.ops.log import Lines

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
