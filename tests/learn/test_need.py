"""Without torch: plans and prices work, and a training says what to install before it is charged."""

import os
import subprocess
import sys
from pathlib import Path

from support.learning import policy_of

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from tacit import learn
from tacit.base import InputError
from tacit.learn.config.train import TRAIN
from tacit.session import Session

class Model:
    def named_parameters(self):
        return []

with Session("tacit.toml", "cora") as session:
    rows = learn.TableRows("points", features=("a", "b"), label="kind")
    plan = learn.Training(rows=rows, batch=100, population=600, steps=10, epsilon=1, delta=1e-4)
    assert plan.quote(session).enough
    settings = {
        "model": "mlp", "table": "points", "features": ["a"], "label": "kind", "epsilon": 1, "delta": "1e-4",
        "population": 600,
    }
    before = session.left()
    for begin in (
        lambda: plan.run(session, Model(), loss=print, loop=print), lambda: session.spend(TRAIN.job(settings, session))
    ):
        try:
            begin()
        except InputError as error:
            print(error)
    assert session.left() == before
"""


def test_what_to_install_is_said_and_nothing_is_charged(tmp_path: Path) -> None:
    policy_of(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'tacit[learn]'") == 2
