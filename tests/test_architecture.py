"""The shape of the house: layers, who may import what, and what the registry promises."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.tree import ROOT, SOURCE, project_files
from tacit.mechanism import MECHANISMS, UNLISTED, Mechanism
from tacit.place import GeoLaplace
from tacit.survey.registry import PROTOCOLS

PYTHON = sorted(SOURCE.rglob("*.py"))
ROOT_CLASS: Any = Mechanism  # abstract, which a type[Mechanism] may not be


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module(path: Path) -> ModuleType:
    return importlib.import_module(name_of(path))


@cache
def syntax(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def randomness(tree: ast.AST) -> set[str]:
    """Sources of chance that are not tacit.noise: numpy.random however it is spelled, and Python's own."""
    own = ("random", "secrets", "numpy.random")
    found = {name for name in imported(tree) if f"{name}.".startswith(tuple(f"{each}." for each in own))}
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


# by the end of a path, so that a file may move
MADE_UP = ("attack/population.py", "demo_data.py", "demo/data.py")
ALLOWED = {"noise/rng.py": {"os.urandom"}} | {end: {"np.random"} for end in MADE_UP}


@cache
def chance() -> dict[str, set[str]]:
    found = {path.as_posix(): randomness(syntax(path)) for path in PYTHON}
    return {path: sources for path, sources in found.items() if sources}


def test_no_other_source_of_chance() -> None:
    for path, sources in chance().items():
        (allowed,) = [names for end, names in ALLOWED.items() if path.endswith(f"/{end}")] or [set()]
        assert sources <= allowed, path


def test_made_up_data_are_the_population_and_the_demo() -> None:
    users = [path for path, sources in chance().items() if "np.random" in sources]
    assert len(users) == 2
    assert all(path.endswith(MADE_UP) for path in users)


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


def test_nobody_who_asks_chooses_the_noise() -> None:
    asked = [path for path in PYTHON if path.relative_to(SOURCE).parts[0] not in FREE]
    found = {name_of(path): offers_chance(syntax(path)) - CHANCE for path in asked}
    assert not {name: functions for name, functions in found.items() if functions}


@pytest.mark.parametrize("code", ["def ask(sql, *, rng=None): ...", "async def ask(self, source: Rng | None): ..."])
def test_the_search_for_chosen_noise_finds_it(code: str) -> None:
    assert offers_chance(ast.parse(code)) == {"ask"}


def unsaid(found: ModuleType) -> str:
    """What a module does not say of itself, or says wrongly."""
    if not found.__doc__:
        return "it does not start by saying what it is"
    offered = getattr(found, "__all__", None)
    if offered is None:
        return "it has no __all__"
    missing = [name for name in offered if not hasattr(found, name)]
    return f"it offers what it does not have: {missing}" if missing else repeated(offered)


def repeated(offered: Sequence[str]) -> str:
    twice = [name for name, times in Counter(offered).items() if times > 1]
    return f"it offers twice: {twice}" if twice else ""


def test_every_module_says_what_it_offers() -> None:
    found = {name_of(path): unsaid(module(path)) for path in PYTHON}
    assert not {name: why for name, why in found.items() if why}


def test_what_a_module_does_not_say_is_found() -> None:
    found = ModuleType("found")
    assert "what it is" in unsaid(found)
    found.__doc__ = "Said."
    assert "no __all__" in unsaid(found)
    for offered, why in ((["name"], "not have"), (["__doc__", "__doc__"], "twice"), (["__doc__"], "")):
        vars(found)["__all__"] = offered
        assert why in unsaid(found)
    assert not unsaid(found)


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
    every = (*MECHANISMS, *UNLISTED, *PROTOCOLS, GeoLaplace)  # a place on Earth has no list: its lattice noise has
    assert set(every) == set(concrete(ROOT_CLASS))
    assert len(set(every)) == len(every)


def test_every_mechanism_is_documented() -> None:
    every: tuple[type[Mechanism], ...] = (*MECHANISMS, *UNLISTED, *PROTOCOLS, GeoLaplace)
    pages = {kind.__name__: ROOT / "docs" / "theory" / f"{kind.theory}.md" for kind in every}
    assert not {name: page for name, page in pages.items() if not page.is_file()}
    # a description of its own, not the dataclass's
    assert not [kind for kind in every if not kind.__doc__ or kind.__doc__.startswith(f"{kind.__name__}(")]


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
