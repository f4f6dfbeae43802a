"""The list of attacks: each has its stage, its page and its picture, and is found by its name."""

import re
import subprocess
import sys
from importlib import import_module
from inspect import signature

import pytest

from support.tree import ROOT
from tacit.attack import ATTACKS, Attack, attack_named, staged
from tacit.base import InputError

SMALL = {"homogeneity": {"people": 300}, "risk": {"count": 60, "attempts": 20}}  # without and with a bar


def test_names_and_titles_are_unique() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len({attack.title for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_each_has_a_stage_a_page_and_a_picture(attack: Attack) -> None:
    stage = import_module(attack.module).stage
    assert signature(stage).parameters["seed"].default == 1
    page = (ROOT / attack.page).read_text()
    assert f"tacit attack run {attack.name}" in page
    assert (ROOT / "docs" / "images" / f"attack-{attack.name}.svg").is_file()


def test_the_documentation_leads_to_each_and_counts_none() -> None:
    """A number of attacks in words is wrong as soon as one is added."""
    lab = ROOT / "docs" / "how-to" / "run-the-lab.md"
    assert "how-to/run-the-lab.md" in (ROOT / "docs" / "README.md").read_text()
    assert [attack.name for attack in ATTACKS if f"(../attacks/{attack.name}.md)" not in lab.read_text()] == []
    template = ROOT / "src" / "tacit" / "server" / "console" / "templates" / "lab.html"
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), template):
        assert not re.search(r"\b(\d+|\w+teen|ten|eleven|twelve|twenty(-\w+)?) attacks\b", page.read_text(), re.I), page


def test_every_page_is_of_an_attack() -> None:
    assert {path.stem for path in (ROOT / "docs" / "attacks").glob("*.md")} == {attack.name for attack in ATTACKS}


@pytest.mark.parametrize("name", SMALL)
def test_staged_runs_the_stage(name: str) -> None:
    told: list[float] = []
    outcome = staged(name, seed=2, progress=told.append, **SMALL[name])
    assert outcome.name == name
    assert outcome.undefended.success > outcome.defended.success
    assert (not told) == (name == "homogeneity")


@pytest.mark.parametrize(
    ("name", "message"),
    [("linkag", 'did you mean "linkage"'), ("Linkage", 'did you mean "linkage"'), ("zzz", "there are homogeneity, ")],
)
def test_an_unknown_name_is_told_what_there_is(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        attack_named(name)
    with pytest.raises(InputError, match=message):
        staged(name)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(InputError, match="seed"):
        staged("homogeneity", seed=seed)  # type: ignore[arg-type]  # the mistake is the point


@pytest.mark.parametrize("name", ["networks", "opting-out", "pixels", "search-logs", "tracing"])
@pytest.mark.parametrize("epsilon", [0, -1, float("nan")])
def test_an_epsilon_that_is_none_is_named(name: str, epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        staged(name, epsilon=epsilon)


def test_the_list_imports_no_attack() -> None:
    code = "import sys, tacit.attack; print([name for name in sys.modules if name.startswith('tacit.attack.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "['tacit.attack.registry']\n"


def test_what_an_attack_needs_and_is_not_there_is_known() -> None:
    assert Attack("x", "t", "m", "a_module_that_nobody_has").missing == "a_module_that_nobody_has"
    assert Attack("x", "t", "m", "numpy").missing is None
    assert Attack("x", "t", "m").missing is None
