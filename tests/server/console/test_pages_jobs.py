"""The page Jobs in a real browser: a form of declared keys, a price while one types, a job that is stopped and goes on,
and the file it makes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser import overflow, unnamed, visit
from support.learning import policy_of
from support.service import Running, running
from tacit.learn.model import ModelFile

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def points(folder: Path) -> Path:
    policy = policy_of(folder)
    policy.write_text(policy.read_text(encoding="utf-8") + "\n[analysts.ana]\nlimit = 5\n", encoding="utf-8")
    return policy


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("jobs"), build=points) as found:
        yield found


def fill(page: "Page", **fields: str) -> None:
    for name, value in fields.items():
        page.get_by_label(name, exact=True).fill(value)


def choose(page: "Page", *columns: str, model: str = "logistic", label: str = "kind") -> None:
    page.locator("#form").get_by_label("Model", exact=True).select_option(model)
    for name in columns:
        page.locator(".names label", has_text=name).click()
    page.get_by_label("Label", exact=True).select_option(label)


def test_a_fit_from_the_first_price_to_the_file(service: Running, chromium: "Browser", tmp_path: Path) -> None:
    with visit(chromium, service, "ana", expected=("422",)) as page:
        page.goto(f"{service.url}/jobs")
        page.get_by_text("Still to fill in: features, epsilon, delta.").wait_for()
        assert not unnamed(page)
        choose(page, "a", "b")
        fill(page, Epsilon="-1", Delta="1e-4")
        page.locator(".error", has_text="must be greater than 0").wait_for()
        assert page.get_by_label("Epsilon", exact=True).get_attribute("aria-invalid") == "true"
        fill(page, Epsilon="1")
        page.get_by_role("button", name="Start for").click()
        with page.expect_download() as coming:
            page.get_by_role("link", name="Download").click()
        coming.value.save_as(tmp_path / "model.safetensors")
        page.get_by_role("button", name="Show again · free").wait_for()
        page.get_by_text("Train a model: logistic of points").wait_for()
        assert not overflow(page)
        page.reload()  # what was filled in is kept
        page.get_by_role("button", name="Show again · free").wait_for()
        page.goto(f"{service.url}/ask")
        page.get_by_text("None yet. To look at one again is free.").wait_for()  # a model is no answer
    assert ModelFile.read(tmp_path / "model.safetensors").certificate is not None


@pytest.mark.slow
def test_a_network_is_stopped_and_goes_on(service: Running, chromium: "Browser") -> None:
    pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    with visit(
        chromium, service, "ana", expected=("422",), viewport={"width": 390, "height": 844}, color_scheme="dark"
    ) as page:
        page.goto(f"{service.url}/jobs")
        choose(page, "a", model="mlp")
        fill(page, Epsilon="1", Delta="1e-4")
        page.locator(".error", has_text="about how many units there are").wait_for()  # its field was unfolded
        fill(page, Population="600", Batch="100", Steps="1500")
        page.get_by_role("button", name="Start for").click()
        page.get_by_text("so far").wait_for()
        page.get_by_role("button", name="Stop Train a model").click()
        page.get_by_text("To go on pays nothing more.").wait_for()
        assert not overflow(page)
    (job,) = [each for each in service.call("ana", "GET", "/v1/jobs").json()["items"] if "mlp" in each["title"]]
    assert job["state"] == "cancelled"


def test_who_has_the_page(service: Running) -> None:
    shown = {"Accept": "text/html"}
    assert service.call("ana", "GET", "/jobs", headers=shown).status_code == 200
    assert service.call("otto", "GET", "/jobs", headers=shown).status_code == 403
