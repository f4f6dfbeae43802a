"""What is installed from: images, units and settings agree with the program, and none of them runs as root.

The images are not built and the units are not started here: there may be neither Docker nor systemd.
"""

import configparser
import importlib
import re
import shutil
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from support.tree import ROOT
from tacit.server.ops.config import PREFIX, Config

DEPLOY = ROOT / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
yaml: Any = importlib.import_module("yaml")  # which ships no types
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SETTINGS = {PREFIX + each.name.upper() for each in fields(Config)}
IMAGES = {"python:3.13-slim", "postgres:17"}


def instructions(word: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(word).strip() for line in joined.splitlines() if line.startswith(word + " ")]


def test_the_image_is_made_in_two_stages_and_does_not_run_as_root() -> None:
    assert [line.split()[0] for line in instructions("FROM")] == ["python:3.13-slim"] * 2
    assert instructions("USER") == ["10001:10001"]
    last = DOCKERFILE[DOCKERFILE.rindex("FROM ") :]
    assert "pip" not in last
    assert last.index("USER 10001") < last.index("ENTRYPOINT")


def test_what_is_installed_is_pinned_and_hashed() -> None:
    commands = [command for command in instructions("RUN") if "pip install" in command]
    assert len(commands) == 2
    assert "--require-hashes" in commands[0]
    assert "--no-deps --no-build-isolation" in commands[1]
    locked = (ROOT / "requirements" / "serve.txt").read_text()
    names = [line for line in locked.splitlines() if re.match(r"[a-z]", line)]
    assert names
    assert all("==" in line and line.endswith("\\") for line in names)


def test_pages_scripts_and_pictures_are_installed_with_the_program() -> None:
    source = ROOT / "src" / "tacit"
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["tacit"]
    packed = {path for pattern in declared for path in source.glob(pattern)}
    there = {path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    missing = {path.relative_to(source).as_posix() for path in there - packed if path.suffix != ".py"}
    assert not missing, "name them under package-data in pyproject.toml"


def test_only_what_the_image_needs_is_sent_to_be_built() -> None:
    lines = (ROOT / ".dockerignore").read_text().split("\n")
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    sent = {part for line in instructions("COPY") if "--from" not in line for part in line.split()[:-1]}
    assert sent == kept
    assert all((ROOT / path).exists() for path in sent)


@pytest.mark.parametrize(
    "text", [DOCKERFILE, (ROOT / "compose.yaml").read_text(), (DEPLOY / "server.toml").read_text()]
)
def test_every_setting_exists(text: str) -> None:
    assert set(re.findall(rf"{PREFIX}[A-Z_]+", text)) <= SETTINGS | {PREFIX}


def test_every_setting_is_explained() -> None:
    page = (ROOT / "docs" / "how-to" / "operate-the-service.md").read_text()
    named = {
        word
        for part in re.findall(r"`([^`\n]+)`|^(\w+ =)", page, re.MULTILINE)
        for word in re.findall(r"\w+", " ".join(part))
    }
    assert {each.name for each in fields(Config)} - named == set()


def test_the_services_are_two_and_shut_in() -> None:
    services = COMPOSE["services"]
    assert {services["postgres"]["image"]} < IMAGES
    ours = services["tacit"]
    assert ours["read_only"] is True
    assert ours["cap_drop"] == ["ALL"]
    assert ours["mem_limit"] == ours["memswap_limit"]
    assert all(str(port).startswith("127.0.0.1:") for port in ours["ports"])
    assert "ports" not in services["postgres"]
    given = {name: str(value) for name, value in ours["environment"].items() if name.startswith(PREFIX)}
    shown = {**given, "TACIT_SERVER_LISTEN": "0.0.0.0:8321", "TACIT_SERVER_STATE": "/var/lib/tacit/state"}
    config = Config.read(None, shown)
    assert (config.workers, config.behind_proxy, config.padding) == (2, True, 0.25)


def test_the_example_of_settings_is_good_with_and_without_what_is_commented_out(tmp_path: Path) -> None:
    text = (DEPLOY / "server.toml").read_text()
    file = tmp_path / "server.toml"
    file.write_text(text)
    assert Config.read(file, {}).datasets == (tmp_path / "clinic" / "tacit.toml",)
    whole = [re.sub(r"^# (?=\w+ = )", "", line) for line in text.splitlines()]
    last = {line.split(" = ")[0]: line for line in whole if re.match(r"\w+ = ", line)}
    last["workers"] = "workers = 1"
    del last["behind_proxy"]
    file.write_text("\n".join(last.values()))
    found = Config.read(file, {})
    assert (found.tls, found.wire_address, len(found.oidc_roles)) == (True, ("0.0.0.0", 5432), 2)


UNITS = sorted(DEPLOY.glob("tacit*.*"))


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name)
def test_a_unit_runs_as_nobody_in_particular_and_dumps_nothing(unit: Path) -> None:
    read = configparser.ConfigParser(strict=False, interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]  # as configparser's documentation does it
    read.read_string(unit.read_text())
    service = read["Service"]
    assert service["User"] == "tacit"
    assert service["LimitCORE"] == "0"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert "/usr/local/lib/tacit/bin/tacit" in service["ExecStart"]


def test_systemd_reads_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here: the units are not read by systemd itself")
    for unit in UNITS:  # with a program that is there
        (tmp_path / unit.name).write_text(unit.read_text().replace("/usr/local/lib/tacit/bin/tacit", "/bin/true"))
    command = [analyze, "verify", *(str(tmp_path / unit.name) for unit in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
