"""An exact answer shows nothing, whatever is done to it, and only a release may open it."""

import ast
import copy
import gc
import json
import logging
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.base import Exact
from tacit.base.exact import opened

SECRET = "8675309"
SOURCE = Path(tacit.__file__).parent
MAY_OPEN = "tacit.desk.job"


def closed() -> Exact[str]:
    return Exact(SECRET)


def test_opened_gives_what_was_put_in() -> None:
    assert opened(closed()) == SECRET
    first, second = Exact([1]), Exact([2])
    assert (opened(first), opened(second)) == ([1], [2])


@pytest.mark.parametrize(
    "show", [repr, str, format, ascii, "{}".format, lambda box: f"{box!r:>30}{box}", lambda box: f"%s {box}"]
)
def test_texts_of_it_are_constant(show: Callable[[object], str]) -> None:
    assert show(Exact(SECRET)) == show(Exact([1, 2, 3]))
    assert SECRET not in show(closed())


@pytest.mark.parametrize(
    "use",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        json.dumps,
        iter,
        list,
        len,
        bool,
        hash,
        vars,
        int,
        float,
        sorted,
        lambda box: box == SECRET,
        lambda box: box != SECRET,
        lambda box: box == box,
        lambda box: box < SECRET,
        lambda box: SECRET in box,
        lambda box: box[0],
        lambda box: box(),
        lambda box: box.upper(),
        lambda box: box.__dict__,
        lambda box: box.__array__(),
        lambda box: setattr(box, "value", 1),
        lambda box: box.__getstate__(),
        lambda box: box.__sizeof__(),
    ],
)
def test_nothing_can_be_done_with_it_and_failures_carry_nothing(use: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        use(closed())
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.args)


def test_failures_are_the_same_whatever_is_inside() -> None:
    def text(box: Exact[object]) -> str:
        with pytest.raises(TypeError) as caught:
            bool(box)
        return str(caught.value)

    assert text(Exact(0)) == text(Exact(SECRET))


def test_dir_and_referents_show_no_content() -> None:
    box = closed()
    assert dir(box) == []
    assert SECRET not in repr(gc.get_referents(box))


def test_logs_carry_nothing(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("tacit.test")
    with caplog.at_level(logging.DEBUG):
        logger.info("got %s %r", closed(), {"answer": closed()})
    assert SECRET not in caplog.text
    assert "<Exact>" in caplog.text


def test_contents_go_with_their_box() -> None:
    contents = sys.modules["tacit.base.exact"]._contents
    gc.collect()
    before = len(contents)
    box = closed()
    assert len(contents) == before + 1
    del box
    gc.collect()
    assert len(contents) == before


def openers(folder: Path) -> set[str]:
    """Modules that name `opened` of base.exact, or reach into where contents are kept."""
    found = set()
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(("tacit", *path.relative_to(folder).with_suffix("").parts))
        if module == "tacit.base.exact":
            continue
        if any(_opens(node) for node in ast.walk(ast.parse(path.read_text()))):
            found.add(module)
    return found


def _opens(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(module=str(module), names=names) if module.endswith("base.exact"):
            return any(name.name != "Exact" for name in names)
        case ast.ImportFrom(names=names):
            return any(name.name == "opened" for name in names)
        case ast.Import(names=names):
            return any(name.name.endswith("base.exact") for name in names)
        case ast.Attribute(attr="opened", value=ast.Attribute(attr="exact")):
            return True
        case ast.Attribute(attr="_contents"):
            return True
        case ast.Constant(value="tacit.base.exact"):  # for importlib or sys.modules
            return True
    return False


def test_only_the_desk_opens_an_exact_answer() -> None:
    assert {module for module in openers(SOURCE) if not module.startswith(MAY_OPEN)} == set()


def test_the_search_finds_those_who_do(tmp_path: Path) -> None:
    for name, text in {
        "a": "from tacit.base.exact import opened",
        "b": "import tacit.base.exact",
        "c": "import tacit\ntacit.base.exact.opened(1)",
        "d": "from tacit.base.exact import Exact",
        "e": "sys.modules['tacit.base.exact']",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert openers(tmp_path) == {"tacit.a", "tacit.b", "tacit.c", "tacit.e"}
