"""The shape of the house: layers, who may import what, and what the registry promises."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.tree import ROOT, SOURCE, project_files
from tacit.mechanism import MECHANISMS, Mechanism
from tacit.place import GeoLaplace
from tacit.survey.registry import PROTOCOLS

PYTHON = sorted(SOURCE.rglob("*.py"))
ROOT_CLASS: Any = Mechanism  # abstract, which a type[Mechanism] may not be


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module(path: Path) -> ModuleType:
    return importlib.import_module(name_of(path))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def randomness(tree: ast.AST) -> set[str]:
    """Sources of chance that are not tacit.noise: numpy.random however it is spelled, and Python's own."""
    found = {name for name in imported(tree) if name.split(".")[0] in {"random", "secrets"}}
    found |= {name for name in imported(tree) if name.startswith("numpy.random")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "rvs":
            found.add("scipy's rvs")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            spelled = f"{node.value.id}.{node.attr}"
            if spelled in {"np.random", "numpy.random", "os.urandom", "os.getrandom", "uuid.uuid4"}:
                found.add(spelled)
    return found


def test_layers_and_who_may_import_what() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    command = [str(lint), "--no-logo", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_no_other_source_of_chance(path: Path) -> None:
    allowed = {
        "tacit.noise.rng": {"os.urandom"},
        "tacit.cli.demo.data": {"np.random"},
        "tacit.attack.population": {"np.random"},
    }.get(name_of(path), set())
    assert randomness(ast.parse(path.read_text())) <= allowed


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import gauss",
        "import secrets",
        "import numpy.random as r",
        "from numpy import random",
        "import numpy as np\nx = np.random.default_rng(1)",
        "import os\nos.urandom(3)",
        "from scipy.stats import norm\nnorm.rvs()",
    ],
)
def test_the_search_for_chance_finds_it(code: str) -> None:
    assert randomness(ast.parse(code))


def offers_chance(tree: ast.AST) -> set[str]:
    """Functions that let their caller choose the source of chance, or leave it out."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            kind = "" if each.annotation is None else ast.unparse(each.annotation)
            if (each.arg == "rng" and kind != "Rng") or ("Rng" in kind and "None" in kind):
                found.add(node.name)
    return found


# `sample(value, rng)` is where a test brings its own source. Auditor and attack look at mechanisms and at made-up data.
CHANCE = {"sample"}
FREE = {"noise", "mechanism", "auditor", "attack"}


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_nobody_who_asks_chooses_the_noise(path: Path) -> None:
    if path.relative_to(SOURCE).parts[0] not in FREE:
        assert offers_chance(ast.parse(path.read_text(encoding="utf-8"))) <= CHANCE, path


@pytest.mark.parametrize("code", ["def ask(sql, *, rng=None): ...", "async def ask(self, source: Rng | None): ..."])
def test_the_search_for_chosen_noise_finds_it(code: str) -> None:
    assert offers_chance(ast.parse(code)) == {"ask"}


def test_only_made_up_data_use_numpys_generator() -> None:
    users = [name_of(path) for path in PYTHON if "np.random" in randomness(ast.parse(path.read_text()))]
    assert sorted(users) == ["tacit.attack.population", "tacit.cli.demo.data"]


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_every_module_says_what_it_offers(path: Path) -> None:
    found = module(path)
    assert found.__doc__, "a module starts by saying what it is"
    offered = found.__all__
    assert all(hasattr(found, name) for name in offered)
    assert len(set(offered)) == len(offered)


def test_files_stay_short() -> None:
    long = {name_of(path): lines for path in PYTHON if (lines := len(path.read_text().splitlines())) > 400}
    assert not long


def concrete(kind: type[Mechanism]) -> Iterator[type[Mechanism]]:
    for child in kind.__subclasses__():
        if child.__module__.startswith("tacit.") and not inspect.isabstract(child):
            yield child
        yield from concrete(child)


def test_every_mechanism_is_registered_once() -> None:
    for path in PYTHON:
        module(path)
    every = (*MECHANISMS, *PROTOCOLS, GeoLaplace)  # a place on Earth has no list of reports: its lattice noise has
    assert set(every) == set(concrete(ROOT_CLASS))
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *PROTOCOLS, GeoLaplace], ids=lambda m: m.__name__)
def test_every_mechanism_is_documented(mechanism: type[Mechanism]) -> None:
    page = ROOT / "docs" / "theory" / f"{mechanism.theory}.md"
    assert page.is_file(), f"write {page.relative_to(ROOT)}"
    assert mechanism.__doc__
    assert not mechanism.__doc__.startswith(f"{mechanism.__name__}("), "a description of its own, not the dataclass's"


# spelled so that this file does not contain what it looks for
FOREIGN = {
    "a path of one machine": re.compile("|".join("/" + root + "/" for root in ("work", "home", "root", "opt", "tmp"))),
    "a place to fetch packages from": re.compile("--(extra-)?index" + "-url |--find" + "-links |/" + "simple/"),
}


def test_nothing_of_one_machine_is_in_the_repository() -> None:
    found = []
    for path in project_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # pictures
        found += [f"{path.relative_to(ROOT)}: {what}" for what, pattern in FOREIGN.items() if pattern.search(text)]
    assert not found


@pytest.mark.parametrize("text", ["/" + "work/x", "--index" + "-url https://example.org", "see /" + "home/me/x"])
def test_the_search_for_machines_finds_them(text: str) -> None:
    assert any(pattern.search(text) for pattern in FOREIGN.values())
