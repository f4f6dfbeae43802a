"""`import tacit`: light, and with everything that it offers."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit


def test_import_brings_nothing_along() -> None:
    program = "import sys, tacit; print(*(name for name in sys.modules if name.startswith(('tacit.', 'numpy'))))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "\n"


def test_names_are_what_type_checkers_see() -> None:
    tree, seen = ast.parse(Path(tacit.__file__).read_text(encoding="utf-8")), {"__version__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tacit."):
            for alias in node.names:
                name = alias.asname or alias.name
                assert getattr(tacit, name) is getattr(import_module(node.module), alias.name), name
                seen.add(name)
    assert seen == set(tacit.__all__) == set(dir(tacit))


@pytest.mark.parametrize(
    "room", ["attack", "auditor", "census", "engine", "ledger", "loss", "learn", "mechanism", "place", "survey"]
)
def test_rooms_are_attributes(room: str) -> None:
    program = f"import tacit; print(tacit.{room}.__name__)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == f"tacit.{room}\n"


def test_what_is_not_there_is_an_attribute_error() -> None:
    for name in ("nothing", "_hidden", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(tacit, name)
