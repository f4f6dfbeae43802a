"""The page Markets in a real browser: a market from its opening to one agent's own good."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from support.browser import overflow, unnamed, visit
from support.service import Running, running

from ..http.test_market import fair

if TYPE_CHECKING:
    from playwright.sync_api import Browser

AGENTS = ["ben", "zoe", *(f"agent-{number:02}" for number in range(58))]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("markets"), build=fair) as found:
        for name in AGENTS[2:]:
            found.service.people.add(name, "analyst")
            found.tokens[name] = found.service.people.issue(name).text
        yield found


def test_a_market_from_opening_to_one_s_own_good(service: Running, chromium: "Browser") -> None:
    with visit(chromium, service, "cora", expected=("422",)) as page:
        page.goto(f"{service.url}/markets")
        page.get_by_text("None that you opened").wait_for()
        page.get_by_text("Open a market").click()
        page.get_by_label("Name", exact=True).fill("seats")
        page.get_by_label("Agents", exact=True).fill("\n".join(AGENTS))
        page.get_by_label("Goods", exact=True).fill("window = 40\naisle")
        page.get_by_role("button", name="Open for reports").click()
        page.locator(".error", has_text="is needed").wait_for()  # rho
        page.get_by_label("Rho", exact=True).fill("20")
        page.get_by_role("button", name="Open for reports").click()
        page.get_by_text("An argument is wrong").wait_for()
        page.get_by_label("Goods", exact=True).fill("window = 40\naisle = 35")
        assert not unnamed(page)
        page.get_by_role("button", name="Open for reports").click()
        page.locator("[data-market=seats]").get_by_text("takes reports").wait_for()
        assert not overflow(page)
    values = np.random.default_rng(2).uniform(0.2, 1, (60, 2)).round(2)
    for agent, value in zip(AGENTS[1:], values, strict=False):
        path = "/v1/markets/fair/seats/report"
        assert service.call(agent, "PUT", path, json={"report": value.tolist()}).is_success
    with visit(chromium, service, "ben") as page:  # an agent, who may ask nothing
        page.goto(f"{service.url}/markets")
        page.get_by_label("window").fill("0.9")
        page.get_by_label("aisle").fill("0.1")
        page.get_by_role("button", name="Seal my report").click()
        page.get_by_text("Your report is sealed.").wait_for()
        assert not unnamed(page)
    with visit(chromium, service, "cora") as page:
        page.goto(f"{service.url}/markets")
        page.get_by_role("button", name="Close and run").click()
        page.get_by_role("dialog").get_by_role("button", name="Close and run").click()
        page.get_by_text("chance to get it").wait_for()
        assert page.locator(".plots polyline").count() == 4
        assert not unnamed(page)
    with visit(chromium, service, "ben", viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
        page.goto(f"{service.url}/markets")
        page.get_by_text("For you alone").wait_for()
        assert page.get_by_text("You get").is_visible()
        assert not overflow(page)


def test_whoever_opened_it_can_forget_it(service: Running, chromium: "Browser") -> None:
    body = {"name": "gone", "rules": {"table": "people", "rule": "price", "epsilon": 1}, "agents": ["ben"]}
    assert service.call("cora", "POST", "/v1/datasets/fair/markets", json=body).status_code == 201
    with visit(chromium, service, "cora") as page:
        page.goto(f"{service.url}/markets")
        page.locator("[data-market=gone]").get_by_role("button", name="Forget it").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
        page.locator("[data-market=gone]").wait_for(state="detached")
    assert service.call("ben", "GET", "/v1/markets/fair/gone").status_code == 404
