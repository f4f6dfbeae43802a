"""The page holds everything as text, runs nothing, and asks nobody."""

import re
import shutil
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.certified import Issued, issued, leaves, put
from tacit.base import InputError
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.page import CONTENT_POLICY

EVIL = "<img src=x onerror=alert(1)>\"'&\x1b[31m"
NUMBERS = ("epsilon", "rho", "delta", "odds_factor", "prior", "upper", "lower", "false_positives", "at_most",
           "least", "median", "most", "confidence")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    sql = "SELECT drug, AVG(cost) AS c, COUNT(*) AS n FROM visits GROUP BY drug"
    return issued(tmp_path_factory.mktemp("made"), sql, currency="rho")


def test_what_matters_is_on_it(made: Issued) -> None:
    page = made.certificate.html()
    told: Any = made.certificate.content
    assert made.certificate.signature is not None
    for text in (made.sql, "hospital", told["ledger"]["after"]["digest"], told["answer"]["csv_sha256"],
                 told["software"]["source"], made.certificate.signature, "Signed", "selected privately"):  # fmt: skip
        assert text in page
    assert "Not signed: nobody vouches for it" in made.release.certificate().html()


def test_everything_from_outside_is_text(made: Issued) -> None:
    content: Any = dict(made.certificate.content)
    for place in leaves(content):
        value = content
        for step in place:
            value = value[step]
        if isinstance(value, str) and place[-1] not in NUMBERS and place != ("guarantee", "currency"):
            content = put(content, place, lambda _: EVIL)
    content = put(content, ("keys",), lambda _: {EVIL: EVIL})
    page = Certificate(content=content, public_key=EVIL, signature=EVIL).html()
    assert page.count("&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;\ufffd[31m") > 40
    assert "<img" not in page
    assert "\x1b" not in page


def test_it_is_alone_and_runs_nothing(made: Issued) -> None:
    page = made.certificate.html()
    key = re.search(r"<code>(-----BEGIN PUBLIC KEY.*?)</code>", page, re.DOTALL)
    assert key is not None
    page = page.replace(key[1], "")  # base64 may hold //, as text
    assert not re.search(r"<script|<link|<img|<iframe|https?:|//|javascript:|\son\w+=|\sstyle=", page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in CONTENT_POLICY
    assert CONTENT_POLICY in page


def test_bounds_are_rounded_outward(made: Issued) -> None:
    content = put(
        made.certificate.content, ("meaning", "posterior"), lambda _: {"lower": "0.42999", "upper": "0.57001"}
    )
    content = put(content, ("meaning", "odds_factor"), lambda _: "1.3501")
    page = Certificate(content=content).html()
    assert "<td>57.1 %</td>" in page
    assert "<td>42.9 %</td>" in page
    assert "<td>1.36</td>" in page


def test_what_cannot_be_shown(made: Issued) -> None:
    for place, value in ((("meaning", "prior"), "no number"), (("steps",), None), (("data",), {}), (("answer",), [])):
        with pytest.raises(InputError, match="cannot be shown"):
            Certificate(content=put(made.certificate.content, place, lambda _, value=value: value)).html()


def test_a_browser_shows_it_with_its_style(made: Issued, tmp_path: Path) -> None:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: the page was not looked at in a browser")
    from playwright.sync_api import sync_playwright

    made.certificate.save(tmp_path / "c.html")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            said: list[str] = []
            for width in (390, 1280):
                page = browser.new_page(viewport={"width": width, "height": 800})
                page.on("console", lambda message: said.append(message.text))
                page.goto((tmp_path / "c.html").as_uri())
                assert page.evaluate("getComputedStyle(document.querySelector('header')).borderTopWidth") == "4px"
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert said == []
        finally:
            browser.close()
