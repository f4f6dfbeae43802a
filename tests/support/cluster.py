"""A Spark cluster on this machine: one master, two workers, each a process of its own that can be killed.

They are started from the classes in pyspark's own jars. A session lives in a driver, which is the process of a test;
`driver` runs a script in one more process, since a process can have one Spark context only.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import pyspark

__all__ = ["Cluster"]

START = 300.0  # seconds, on a machine that is busy
JARS = Path(pyspark.__file__).parent / "jars"
OPENED = "java.base/java.lang java.base/java.lang.invoke java.base/java.nio java.base/sun.nio.ch java.base/java.util"


class Cluster:
    """Loopback only, each worker at an address of its own, since Spark tries a slow task once more on another host
    alone. Use it as a context: everything is killed and removed at the end."""

    def __init__(self, workers: int = 2) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="spark-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: list[IO[bytes]] = []
        port = _free()
        self.url = f"spark://127.0.0.1:{port}"
        try:
            self._start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
            self._until("master", "RUNNING|ALIVE|New state")
            for number in range(workers):
                options = ("--host", f"127.0.0.{number + 2}", "--cores", "1", "--memory", "700M", "--webui-port", "0")
                self._start(f"worker{number}", "worker.Worker", *options, self.url)
            for number in range(workers):
                self._until(f"worker{number}", "Successfully registered with master")
        except BaseException:
            self.close()
            raise

    def kill(self, name: str) -> None:
        """kill -9 of a worker and of the executors under it, as when a machine is gone."""
        found = self.processes[name]
        for pid in (*_children(found.pid), found.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        found.wait()

    def signal(self, name: str, number: int) -> None:
        """To the executors of a worker: SIGSTOP is a machine that is slow, SIGCONT ends that."""
        for pid in _children(self.processes[name].pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def executors(self) -> dict[str, set[int]]:
        """The processes under each worker."""
        return {name: _children(found.pid) for name, found in self.processes.items() if name != "master"}

    def driver(self, script: str, *arguments: str) -> "subprocess.Popen[str]":
        """A Python process; its words come on stdout."""
        chosen = {
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "OFF",
            "spark.ui.showConsoleProgress": "false",
        }
        submitted = [word for name, value in chosen.items() for word in ("--conf", f"{name}={value}")]
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_SUBMIT_ARGS": " ".join([*submitted, "pyspark-shell"]),
        }
        return subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdout=subprocess.PIPE,
            stderr=self._log("driver"),
            env=environment,
            text=True,
        )

    def said(self, name: str) -> str:
        """The end of a process's log."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]

    def close(self) -> None:
        for name, found in self.processes.items():
            if found.poll() is None:
                self.kill(name)
        for log in self._logs:
            log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        home = os.environ.get("JAVA_HOME")
        java = "java" if home is None else str(Path(home) / "bin" / "java")
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED.split()]
        work, host = self.folder / name, "127.0.0.1"
        work.mkdir()
        if kind.startswith("worker"):
            host = arguments[1]
            arguments = ("--work-dir", str(work), *arguments)
        self.processes[name] = subprocess.Popen(
            [
                java,
                "-Xmx256m",
                "-Dspark.master.rest.enabled=false",
                *opened,
                "-cp",
                f"{JARS}/*",
                f"org.apache.spark.deploy.{kind}",
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log(name),
            cwd=work,
            env=os.environ
            | {
                "SPARK_HOME": str(JARS.parent),
                "SPARK_SCALA_VERSION": _scala(),
                "SPARK_LOCAL_IP": host,
                "SPARK_LOCAL_DIRS": str(work),
            },
        )

    def _log(self, name: str) -> IO[bytes]:
        self._logs.append((self.folder / f"{name}.log").open("ab"))
        return self._logs[-1]

    def _until(self, name: str, words: str) -> None:
        """Until the log says one of these."""
        end = time.monotonic() + START
        while True:
            said = (self.folder / f"{name}.log").read_text(errors="replace")
            if any(word in said for word in words.split("|")):
                return
            if self.processes[name].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Spark's {name} does not start: {said[-300:]}")
            time.sleep(0.1)


def _scala() -> str:
    """The version that Spark's scripts would set, such as 2.13."""
    (jar,) = JARS.glob("scala-library-*.jar")
    return ".".join(jar.stem.removeprefix("scala-library-").split(".")[:2])


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _children(pid: int) -> set[int]:
    found = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in found.splitlines()]
    return {child for child, parent in pairs if parent == pid}
