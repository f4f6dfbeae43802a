"""A real Node.js for tests of what runs on devices."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tacit.survey

__all__ = ["MODULE", "node", "told"]

MODULE = Path(tacit.survey.__file__).parent / "static" / "tacit-survey.js"


@pytest.fixture(scope="session")
def node() -> str:
    """The program."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node.js here: install it")
    return found


def told(node: str, script: str, given: Any = None) -> Any:
    """What a script writes as JSON. It has the device module as `survey` and what was `given` as `given`."""
    head = f"import * as survey from {json.dumps(MODULE.as_uri())};\nimport {{readFileSync}} from 'node:fs';\n"
    head += "const given = JSON.parse(readFileSync(0, 'utf8'));\n"
    command = [node, "--input-type=module", "--eval", head + script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
