"""The lab in a real browser, and its numbers against the library."""

from decimal import Decimal
from math import exp
from typing import TYPE_CHECKING

import pytest

from support.browser import visit
from support.service import Running
from support.tree import ROOT
from tacit.attack.registry import ATTACKS
from tacit.base import InputError
from tacit.loss import Approx
from tacit.server.console.lab import Play, densities, explored, playground

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_sliders_change_the_numbers(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "ana") as page:
        page.goto(f"{clinic.url}/lab")
        page.get_by_text("think it at least 26 % and at most 74 % likely").wait_for()
        page.get_by_text("× 2.72").wait_for()
        page.get_by_label("ε of one release").fill("0.6")  # a power of ten
        page.get_by_text("× 54.6").wait_for()
        before = page.locator("#tradeoff-picture path.one").get_attribute("d")
        page.get_by_label("How many such releases").fill("10")
        page.wait_for_function(
            "d => document.querySelector('#tradeoff-picture path.one').getAttribute('d') !== d", arg=before
        )
        page.get_by_label("Mechanism", exact=True).select_option("RandomizedResponse")
        page.get_by_text("more than 2.72 times likelier").wait_for()
        page.get_by_label("epsilon", exact=False).fill("2")
        page.get_by_text("more than 7.39 times likelier").wait_for()
        picture = page.locator("figure.attack img").first
        picture.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('figure.attack img').naturalWidth > 0")


def test_the_lab_fits_a_phone(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "ana", viewport={"width": 390, "height": 800}, color_scheme="dark") as page:
        page.goto(f"{clinic.url}/lab")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_pictures_are_those_of_the_documentation() -> None:
    static = ROOT / "src" / "tacit" / "server" / "console" / "static"
    for attack in ATTACKS:
        name = f"attack-{attack.name}.svg"
        assert (static / name).read_bytes() == (ROOT / "docs" / "images" / name).read_bytes(), name


def test_the_explorer_says_what_the_library_says() -> None:
    found = explored(Decimal(1), Decimal("0.000001"), 1, Decimal("0.5"))
    meaning = Approx(1, "1e-6", unit="person").meaning(0.5, delta="1e-6")
    assert found["meaning"] == meaning.json()
    for alarms, misses in zip(found["curves"][0]["alarms"], found["curves"][0]["misses"], strict=True):
        closed = max(0, 1 - 1e-6 - exp(1) * alarms, exp(-1) * (1 - 1e-6 - alarms))
        assert closed - 1e-9 <= misses <= closed + 1e-9
    gaussian = found["curves"][1]["misses"]
    assert all(more >= less - 1e-9 for more, less in zip(gaussian, found["curves"][0]["misses"], strict=True))


@pytest.mark.parametrize("times", [1, 7, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.01", "0"), ("20", "0.1"), ("3", "0.0000000001")])
def test_no_choice_breaks_the_explorer(epsilon: str, delta: str, times: int) -> None:
    found = explored(Decimal(epsilon), Decimal(delta), times, Decimal("0.5"))
    for curve in found["curves"]:
        assert all(0 <= misses <= 1 for misses in curve["misses"])


@pytest.mark.parametrize(
    "play", [play for play in playground() if play.name != "BoundedVariance"], ids=lambda p: p.name
)
def test_what_is_drawn_keeps_its_claim(play: Play) -> None:
    found = densities(play.name, tuple(knob.value for knob in play.knobs))
    claim = found["claim"]
    assert len(found["outputs"]) == len(found["left"]) == len(found["ratio"])
    if claim["delta"] == 0:
        assert all(ratio is None or abs(ratio) <= claim["epsilon"] * (1 + 1e-9) for ratio in found["ratio"])
    assert sum(found["left"]) <= 1 + 1e-9


def test_values_outside_a_slider_are_refused() -> None:
    for name, values in (
        ("Nothing", (1.0,)),
        ("DiscreteLaplace", (1.0,)),
        ("DiscreteLaplace", (99.0, 1.0)),
        ("Gaussian", (0.5,)),
    ):
        with pytest.raises(InputError):
            densities(name, values)


def test_who_may_play(clinic: Running) -> None:
    for path in ("/v1/lab/tradeoff", "/v1/lab/mechanisms", "/v1/lab/densities?mechanism=RandomizedResponse&values=1"):
        assert clinic.call(None, "GET", path).status_code == 401
        for who in ("ana", "cora", "otto"):
            assert clinic.call(who, "GET", path).status_code == 200
    for bad in ("epsilon=0", "epsilon=21", "epsilon=NaN", "delta=1", "times=0", "times=101", "prior=1"):
        assert clinic.call("ana", "GET", f"/v1/lab/tradeoff?{bad}").status_code == 422
    for bad in ("mechanism=Nothing", "mechanism=DiscreteLaplace&values=1", "mechanism=DiscreteLaplace&values=1,1e9"):
        assert clinic.call("ana", "GET", f"/v1/lab/densities?{bad}").status_code == 422
