"""A real Spark for tests: one quiet local session a process, two cores, started at the first use (some 5 s)."""

import atexit
import os
import shutil
import subprocess
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["missing", "session", "spark"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.catalogImplementation": "in-memory",
    # a zone with summer time, so that what goes through a zone by mistake shows
    "spark.sql.session.timeZone": "America/New_York",
}
if os.environ.get("TACIT_TESTS") != "full":
    # in a process of a minute, compiling code a second time takes longer than it saves; in a long one it does not
    SETTINGS["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@cache
def missing() -> str | None:
    """Why there is no Spark here, in one line."""
    if find_spec("pyspark") is None:
        return "no Spark here: pip install pyspark"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))
    if java is None or subprocess.run([java, "-version"], capture_output=True, check=False).returncode:
        return "no Spark here: it needs Java 17 or later, and there is no java that starts"
    return None


@cache
def session() -> Any:
    """This process's session, stopped when the process ends."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas versions, which are not used here
        started = builder.getOrCreate()
    atexit.register(started.stop)
    return started


@pytest.fixture(scope="session")
def spark() -> Any:
    """The session of this test process."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    return session()
