"""Whatever the umask, what the real commands leave behind is its owner's alone; old files are narrowed at the start."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tacit.server.db import State

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_SERVER_")}
COMMAND = [sys.executable, "-m", "tacit"]


def widely() -> None:
    os.umask(0)


@contextmanager
def served(folder: Path, log_to: Path, *, lines: int) -> Iterator[tuple[str, str]]:
    """A service that anybody could read from, if it left that to the umask: its address and the first lines it says."""
    command = [*COMMAND, "serve", "--state", str(folder), "--listen", "127.0.0.1:0"]
    with log_to.open("a") as log:
        process = subprocess.Popen(
            command, env=ENVIRONMENT, preexec_fn=widely, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert process.stdout is not None
        greeting = "".join(process.stdout.readline() for _ in range(lines))
        yield greeting.split()[3], greeting
    finally:
        process.terminate()
        process.communicate(timeout=60)


def run(*words: str) -> None:
    subprocess.run([*COMMAND, *words], env=ENVIRONMENT, preexec_fn=widely, check=True, capture_output=True, timeout=120)


def open_to_others(folder: Path) -> dict[str, str]:
    """Every file and folder below that group or others can do anything with; a public key is for everybody."""
    found = {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    return {name: oct(mode) for name, mode in found.items() if mode & 0o077 and not name.endswith(".key.pub")}


def test_every_file_and_folder_that_is_made(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir(mode=0o700)
    state = root / "deep" / "state"
    with served(state, tmp_path / "log", lines=3) as (url, greeting):
        token = re.search(r"tacit_[0-9a-f]{12}_\S{43}", greeting)
        assert token is not None
        body = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
        headers = {"Authorization": f"Bearer {token[0]}"}
        answer = httpx.post(f"{url}/v1/datasets/clinic/ask", json=body, headers=headers, trust_env=False, timeout=60)
        assert answer.status_code == 200
        run("people", "add", "ben", "--state", str(state))
        run("backup", str(root / "monday.tar"), "--keys", "--state", str(state))
        assert {path.name for path in state.glob("*.db-*")}  # while they are open
        assert not open_to_others(root)
    run("backup", "--restore", str(root / "monday.tar"), "--into", str(root / "new" / "restored"))
    assert not open_to_others(root)


def test_files_of_an_older_release_are_narrowed_and_what_a_group_may_read_stays(tmp_path: Path) -> None:
    root = tmp_path / "root"
    state = root / "state"
    state.mkdir(parents=True)
    State(state / "server.db").close()
    (state / "server.db").chmod(0o644)
    (state / "policies").mkdir(mode=0o755)
    (state / "policies" / "old.toml").write_text("this is no policy")
    (state / "policies" / "old.toml").chmod(0o640)
    state.chmod(0o755)
    with served(state, tmp_path / "log", lines=1):
        assert (state / "server.db").stat().st_mode & 0o777 == 0o600
        assert (state / "policies" / "old.toml").stat().st_mode & 0o777 == 0o640
    assert "others can look into this folder: chmod 700" in (tmp_path / "log").read_text()
