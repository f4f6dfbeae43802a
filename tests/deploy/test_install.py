"""What a release installs: one number everywhere, a wheel with every file, and extras that do what they are for."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.tree import ROOT, SOURCE
from tacit.base.version import VERSION

BUILD = "from setuptools.build_meta import build_sdist as s, build_wheel as w; s({0!r}); w({0!r})"

# the service is started and asked whether it is well
SERVE = """
import socket, subprocess, sys, time, urllib.request
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    place = f"127.0.0.1:{free.getsockname()[1]}"
service = subprocess.Popen([sys.executable, "-m", "tacit", "serve", "--listen", place, "--state", "state"])
try:
    for _ in range(600):
        time.sleep(0.2)
        assert service.poll() is None, "it ended"
        try:
            assert urllib.request.urlopen(f"http://{place}/healthz").status == 200
            break
        except OSError:
            continue
    else:
        sys.exit("it does not answer")
finally:
    service.terminate()
    service.wait()
"""

# what a user of the extra does first; each is run in an environment that has the wheel and this extra alone
TRIED = {
    "": ("tacit", "demo"),
    "plot": ("tacit", "demo", "--plot", "demo.svg"),
    "postgres": ("python", "-c", "import psycopg; from tacit.engine.postgres import PostgresEngine"),
    "spark": ("python", "-c", "from pyspark.sql import SparkSession; from tacit.engine.spark import SparkEngine"),
    "server": ("python", "-c", SERVE),
    "learn": ("python", "-c", "from tacit.learn import Training; from tacit.learn.config import network"),
    "federated": ("python", "-c", "import flwr, tacit.learn.federated.flower"),
}


def test_the_version_is_one_number() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_extra_is_tried() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(TRIED) == {"", *extras}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the files that are in version control."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-c", BUILD.format(str(out))], cwd=source, capture_output=True, check=True)
    assert len(list(out.glob("*.tar.gz"))) == 1
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_has_every_file(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    there = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {f"tacit/{path.relative_to(SOURCE).as_posix()}" for path in there} <= inside
    assert not [name for name in inside if not re.match(r"tacit(-[\d.]+\.dist-info)?/", name)]


@pytest.mark.slow
@pytest.mark.parametrize("extra", list(TRIED), ids=lambda extra: extra or "none")
def test_each_extra_installs_and_works(extra: str, wheel: Path, tmp_path: Path) -> None:
    """In an empty environment. Packages come from where pip is set up to find them."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    programs = tmp_path / "env" / "bin"
    wanted = [f"{wheel}[{extra}]" if extra else str(wheel), *(["torch==2.13.0"] if extra == "learn" else [])]
    installed = subprocess.run(
        [programs / "pip", "install", "--quiet", *wanted], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"{extra or 'tacit'} could not be installed: {installed.stderr.strip().splitlines()[-1]}")
    name, *words = TRIED[extra]
    ran = subprocess.run([programs / name, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
