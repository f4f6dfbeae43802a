"""A curator makes the profile of a table in a real browser: the price first, then who pays, then how far it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser import overflow, visit
from support.profiled import profiled
from support.service import Running, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, build=profiled) as found:
        yield found


def test_a_profile_is_made_after_its_price_is_shown(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("0.5 epsilon, from the dataset's budget").wait_for()
        page.get_by_text("none declared: add profile = …").wait_for()  # of the other table
        button = page.get_by_role("button", name="Make the profile of visits")
        button.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("It costs 0.5 epsilon").wait_for()
        dialog.get_by_role("button", name="Leave it").click()
        assert page.get_by_role("cell", name="never").first.is_visible()
        button.click()
        dialog.get_by_role("button", name="Pay and make it").click()
        page.get_by_text("The profile of visits is made.").wait_for()
        page.get_by_text("of the data as they are").wait_for()
        page.get_by_text("up to date").wait_for()
        assert not overflow(page)
    (job,) = clinic.call("cora", "GET", "/v1/jobs").json()["items"]
    assert job["state"] == "done"


def test_auditors_look_and_make_nothing(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "otto") as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("0.5 epsilon, from the dataset's budget").wait_for()
        assert page.get_by_role("button", name="Make the profile of visits").count() == 0


def test_what_is_refused_is_said_where_it_was_asked(clinic: Running, chromium: "Browser") -> None:
    """The budget was spent by somebody else since the page was read."""
    with visit(chromium, clinic, "cora", expected=("403",), viewport={"width": 390, "height": 800}) as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_role("heading", name="Profiles").click()  # folded on a phone
        button = page.get_by_role("button", name="Make the profile of visits")
        button.wait_for()
        assert clinic.call("cora", "PUT", "/v1/datasets/clinic/limits", json={"budget": 0.7}).is_success
        assert clinic.ask("ana", epsilon=0.25).is_success
        button.click()
        page.get_by_role("dialog").get_by_role("button", name="Pay and make it").click()
        page.get_by_text("too little left for the profile").wait_for()
        assert not overflow(page)
