"""The files of the repository, as tests look at them."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tacit"


@cache
def project_files() -> list[Path]:
    """Every file that is, or would be, in version control; without git, every file outside hidden and build places."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _hidden(path.relative_to(ROOT))]
    return sorted(path for path in found if path.is_file())


def _hidden(path: Path) -> bool:
    unwanted = {"__pycache__", "build", "dist"}
    return any(
        part in unwanted or part.endswith(".egg-info") or (part[0] == "." and part != ".ci") for part in path.parts
    )
