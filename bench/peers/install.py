"""Peers, each in an environment of its own outside the repository: installed once, at these versions.

TACIT_BENCH_ENVIRONMENTS names the folder; without it they lie beside the data of the benchmarks.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench.sql_data import folder

__all__ = ["PEERS", "Peer", "python_of"]

INSTALL_SECONDS = 900


@dataclass(frozen=True)
class Peer:
    """A library, what is installed for it, and the script that asks it."""

    name: str
    requirements: tuple[str, ...]
    module: str

    @property
    def version(self) -> str:
        return self.requirements[0].partition("==")[2]


PEERS: Mapping[str, Peer] = {
    "opendp": Peer("OpenDP", ("opendp[polars]==0.16.0", "polars==1.36.1"), "bench.peers.people.opendp"),
    "tumult": Peer(
        "Tumult Analytics",
        ("tmlt.analytics==0.21.0", "tmlt.core==0.19.1", "pyspark==3.5.9", "numpy==1.26.4", "pandas==1.5.3"),
        "bench.peers.people.tumult",
    ),
    "pipelinedp": Peer("PipelineDP", ("pipeline-dp==0.3.1", "python-dp==1.1.5"), "bench.peers.people.pipelinedp"),
    "smartnoise": Peer(
        "SmartNoise", ("smartnoise-sql==1.0.10", "opendp==0.14.2", "pandas==2.3.3"), "bench.peers.people.smartnoise"
    ),
}


def python_of(peer: Peer) -> Path:
    """The interpreter that has it, made if there is none; raises `RuntimeError` with the reason if that fails."""
    root = Path(os.environ.get("TACIT_BENCH_ENVIRONMENTS") or folder() / "environments")
    place = root / f"{peer.module.rpartition('.')[2]}-{sha256(repr(peer.requirements).encode()).hexdigest()[:8]}"
    python, done = place / "bin" / "python", place / "installed"
    if not done.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.requirements])
        done.touch()
    return python


def _run(command: list[str]) -> None:
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not installed within {INSTALL_SECONDS} s") from None
    if finished.returncode:
        errors = [line for line in finished.stderr.splitlines() if line.startswith("ERROR")] or [finished.stderr[-200:]]
        raise RuntimeError(f"does not install: {errors[-1].removeprefix('ERROR: ')}")
