"""Edits say exactly what was wanted, keep everything else, and leave alone what they do not understand."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tacit.base import InputError, PolicyError
from tacit.policy import Policy, parse
from tacit.server.curate.edit import Edit, changes, edited, limits, with_analyst, without_analyst
from tacit.server.problem import Problem

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
    except Problem:
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
    with pytest.raises(Problem):
        without_analyst(parse(HEAD), "ana")


def test_a_file_that_says_something_else_is_left_alone() -> None:
    other = parse(text_of("tables").replace("budget = 3", "budget = 4"))
    with pytest.raises(Problem) as refused:
        edited(text_of("tables"), with_analyst(other, "zoe", {"limit": Fraction(1)}), Path("tacit.toml"))
    assert refused.value.name == "by-hand"
