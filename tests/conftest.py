"""How the tests run: examples of properties, what is long, and which tests share a worker.

Two profiles for property tests: `fast`, and `full` (TACIT_TESTS=full: `make test-all`). Both draw other examples in
each run. The last lines of a run say its seed, and `--hypothesis-seed` draws the same again.
"""

import gc
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("fast", max_examples=20, deadline=None, database=None)
settings.register_profile("full", max_examples=1000, deadline=None)
settings.load_profile("full" if os.environ.get("TACIT_TESTS") == "full" else "fast")

MEMORY, ROOM = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    # ledgers and servers sync each write, and processes are killed, not machines: a disk would only be slow
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

HERE = Path(__file__).parent
SPARK_IN_THE_FAST_RUN = {
    HERE / "engine" / "test_spark.py",
    HERE / "engines" / "test_conformance.py",
    HERE / "engines" / "test_rows.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed for the whole run: a worker has that of the process that started it."""
    if config.option.hypothesis_seed is None:
        given = getattr(config, "workerinput", {}).get("seed")
        config.option.hypothesis_seed = given or str(random.SystemRandom().randrange(2**32))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["seed"] = node.config.option.hypothesis_seed


def pytest_collectstart() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the collector of garbage need not look at them again and again."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(f"examples of properties: --hypothesis-seed={config.option.hypothesis_seed}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one file share a worker, and those on Spark too: a server starts once. Most of Spark is long."""
    for item in items:
        on_spark = "spark" in getattr(item, "fixturenames", ())
        if item.path.parent == HERE / "engines" and hasattr(item, "callspec"):  # an engine that a fixture opens
            on_spark |= "spark" in map(str, item.callspec.params.values())
        if on_spark and item.path not in SPARK_IN_THE_FAST_RUN:
            item.add_marker(pytest.mark.slow)
        if config.pluginmanager.hasplugin("xdist"):
            group = "spark" if on_spark else str(item.path.relative_to(HERE))
            item.add_marker(pytest.mark.xdist_group(group))
