"""Edits say exactly what was wanted, keep everything else, and leave alone what they do not understand."""

import threading
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tacit.base import InputError, PolicyError
from tacit.policy import Policy, parse
from tacit.server.curate.edit import (
    Edit,
    changes,
    create,
    edited,
    file_name,
    limits,
    locked,
    replace_text,
    trial,
    with_analyst,
    without_analyst,
)
from tacit.server.problem import HttpProblem

HEAD = """\
# a policy
[dataset]
name = "shop"   # the shop

[privacy]
currency = "epsilon"
budget = 3  # all of it
delta = 1e-6
population = 1000

[tables.visits]
each_row_is_a_unit = true
"""
ANALYSTS = {
    "tables": '[analysts.ana]\nlimit = 2 # hers\n\n[analysts."ben b"]\nlimit = 1\n',
    "inline": '[analysts]\nana = { limit = 2 } # hers\n"ben b" = { limit = 1 }\n',
    "dotted": 'analysts.ana.limit = 2 # hers\nanalysts."ben b".limit = 1\n',
    "none": "",
    "apart": '[analysts.ana]\nlimit = 2 # hers\n[groups.all]\nlimit = 1\n[analysts."ben b"]\nlimit = 1\n',
}


def text_of(layout: str) -> str:
    own = ANALYSTS[layout]
    return own + HEAD if layout == "dotted" else HEAD + own


def done(text: str, edit: Edit) -> Policy:
    return parse(edited(text, edit, Path("tacit.toml")))


@pytest.mark.parametrize("layout", ANALYSTS)
@pytest.mark.parametrize(
    "given",
    [
        {"limit": Fraction(1, 2)},
        {"limit": Fraction(1, 3), "each": Fraction(1, 10**7)},
        {"limit": None},
        {"tables": ("visits",)},
        {"tables": ()},
    ],
)
@pytest.mark.parametrize("name", ["ana", "ben b", "zoe", "*", 'a"b.c', "ü", "x]\ny"])
def test_every_layout_says_what_was_wanted_or_is_left_alone(layout: str, given: dict[str, Any], name: str) -> None:
    text = text_of(layout)
    before = parse(text)
    try:
        edit = with_analyst(before, name, given)
    except InputError:
        assert "\n" in name
        return
    try:
        after = done(text, edit)
    except HttpProblem:
        assert layout in ("apart", "dotted")
        return
    assert after == edit.policy
    assert {key: value for key, value in after.analysts.items() if key != name} == {
        key: value for key, value in before.analysts.items() if key != name
    }
    for key, value in given.items():
        assert getattr(after.analysts[name], key) == value


@pytest.mark.parametrize("layout", ["tables", "inline", "none"])
def test_common_layouts_can_be_edited(layout: str) -> None:
    text = text_of(layout)
    new = edited(text, with_analyst(parse(text), "zoe", {"limit": Fraction(1)}), Path("tacit.toml"))
    assert "# all of it" in new
    assert "# the shop" in new
    if layout != "none":
        assert "# hers" in new
        assert "ana" not in done(text, without_analyst(parse(text), "ana")).analysts


def test_whoever_was_anybody_keeps_what_bound_them() -> None:
    text = (
        HEAD
        + '[groups.all]\nlimit = 1\n[analysts."*"]\neach = 0.1\ntables = ["visits"]\ngroups = ["all"]\nslack = 1e-8\n'
    )
    after = done(text, with_analyst(parse(text), "zoe", {"limit": Fraction(1)})).analysts["zoe"]
    assert (after.each, after.tables, after.groups) == (Fraction(1, 10), ("visits",), ("all",))
    assert after.slack == Fraction(1, 10**8)


def test_limits() -> None:
    text = text_of("tables")
    old = parse(text)
    after = done(text, limits(old, {"budget": Fraction(5, 2), "each": Fraction(1, 10)}))
    assert (after.privacy.budget, after.privacy.each) == (Fraction(5, 2), Fraction(1, 10))
    assert changes(old, after) == ["budget: 3 → 2.5 epsilon", "each: none → 0.1 epsilon"]
    back = done(
        edited(text, limits(old, {"each": Fraction(1)}), Path("x")),
        limits(after, {"each": None, "budget": Fraction(3)}),
    )
    assert back == old
    with pytest.raises(InputError):
        limits(old, {"budget": None})
    with pytest.raises(PolicyError):
        limits(old, {"each": Fraction(9)})


def test_changes_in_words() -> None:
    text = text_of("tables")
    old = parse(text)
    given = {"limit": Fraction(1), "each": Fraction(1, 10), "tables": ("visits",)}
    assert changes(old, old) == []
    assert changes(old, with_analyst(old, "ana", given).policy) == [
        "ana: at most 2 → at most 1, 0.1 for one question, tables visits"
    ]
    assert changes(old, with_analyst(old, "zoe", {"limit": None}).policy) == ["zoe may ask: up to the dataset's budget"]
    assert changes(old, without_analyst(old, "ana").policy) == ["ana may ask no more"]


def test_nobody_cannot_be_removed() -> None:
    with pytest.raises(HttpProblem):
        without_analyst(parse(HEAD), "ana")


def test_a_file_that_says_something_else_is_left_alone() -> None:
    other = parse(text_of("tables").replace("budget = 3", "budget = 4"))
    with pytest.raises(HttpProblem) as refused:
        edited(text_of("tables"), with_analyst(other, "zoe", {"limit": Fraction(1)}), Path("tacit.toml"))
    assert refused.value.name == "by-hand"


def test_names_of_files() -> None:
    assert file_name("shop") == "shop.toml"
    strange = [file_name(name) for name in ("..", "a/b", "a b", "Ä", "", ".hidden", "x" * 100, "-rf")]
    assert len(set(strange)) == len(strange)
    assert all(name.startswith("dataset-") and "/" not in name for name in strange)


def test_a_new_file_is_whole_and_never_in_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    with trial(tmp_path, "one\n") as tried:
        assert not list(tmp_path.glob("*.toml"))
        create(tried, path)
    with trial(tmp_path, "two\n") as tried, pytest.raises(HttpProblem) as refused:
        create(tried, path)
    assert refused.value.status == 409
    assert path.read_text(encoding="utf-8") == "one\n"
    assert [each.name for each in tmp_path.iterdir()] == ["shop.toml"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text("one\n", encoding="utf-8")
    path.chmod(0o640)
    with trial(tmp_path, "two\n") as tried, pytest.raises(HttpProblem):
        replace_text(path, tried, before="another\n")
    assert path.read_text(encoding="utf-8") == "one\n"
    with trial(tmp_path, "two\n") as tried:
        replace_text(path, tried, before="one\n")
    assert path.read_text(encoding="utf-8") == "two\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["shop.toml"]


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"), trial(tmp_path / "nowhere", "x"):
        pass


def test_one_at_a_time(tmp_path: Path) -> None:
    order = []

    def other() -> None:
        with locked(tmp_path):
            order.append("second")

    with locked(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
