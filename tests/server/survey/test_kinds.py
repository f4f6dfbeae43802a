"""Every kind of question in a real Chromium: it can be answered, and what is said of a report is what it says."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from support.browser import visit
from support.fixed_rng import FixedRng
from support.service import Running, running
from support.surveys import written
from tacit.survey import CoinFlip, DirectResponse, HadamardResponse, LocalHashing, OptimizedUnary, SubsetSelection
from tacit.survey.frequency import Frequency
from tacit.survey.survey import parse

ONE = Fraction(1)
LISTED = ", ".join(f'"town {n}"' for n in range(300))
TEXT = f"""
name = "kinds"
title = "</script><b>Every kind</b>"
epsilon = 4
minimum = 1
public_results = true

[questions.town]
ask = "Where do you live?"
kind = "choice"
options = [{LISTED}]

[questions.age]
ask = "How old are you?"
kind = "number"
range = [0, 120]
show = "distribution"

[questions.pet]
ask = "What is your pet called?"
kind = "text"
longest = 8

[questions.likes]
ask = "What do you like?"
kind = "several"
options = ["cats & dogs", "<i>birds</i>"]
"""


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, surveys=(written(tmp_path, TEXT),), survey_rate=1_000_000) as found:
        yield found


def test_every_kind_is_answered(chromium: Browser, kinds: Running) -> None:
    survey = parse(TEXT)
    with visit(chromium, kinds) as page:
        page.goto(f"{kinds.url}/s/kinds")
        expect(page.get_by_role("heading", level=1)).to_have_text("</script><b>Every kind</b>")
        page.get_by_label("Where do you live?").select_option("town 77")
        page.get_by_label("How old are you?").fill("33")
        page.get_by_label("What is your pet called?").fill("Minka the great cat")
        page.get_by_role("checkbox", name="<i>birds</i>").check()
        page.get_by_role("button", name="Toss the coins").click()
        expect(page.get_by_role("alert")).to_contain_text("at most 8 bytes")
        page.get_by_label("What is your pet called?").fill("Zoë")
        page.get_by_role("button", name="Toss the coins").click()
        expect(page.locator(".own")).to_have_text(["“town 77”", "33", "Zoë", "“<i>birds</i>”"])
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_text("It was sent, and nothing else was.")).to_be_visible()
        page.goto(f"{kinds.url}/s/kinds/results")
        expect(page.get_by_text("1 reports are counted here")).to_be_visible()
    surveys = kinds.service.surveys
    assert surveys is not None
    for name, protocol in survey.protocols.items():
        (report,) = surveys.store.reports(survey, name)
        assert protocol.read(report).shape[0] == 1


SPEAKS = """
async given => {
  const {speaks} = await import("/survey-static/words.js");
  const {bytes} = await import("/survey-static/memo.js");
  return given.reports.map(report => speaks(given.question, bytes(report)));
}
"""


@pytest.mark.parametrize(
    "protocol",
    [
        DirectResponse(epsilon=ONE, categories=9),
        CoinFlip(),
        OptimizedUnary(epsilon=ONE, categories=9),
        SubsetSelection(epsilon=ONE, categories=9),
        HadamardResponse(epsilon=ONE, categories=9),
        LocalHashing(epsilon=ONE, categories=9),
    ],
    ids=lambda protocol: protocol.kind,
)
def test_what_is_said_of_a_report_is_what_it_speaks_for(chromium: Browser, kinds: Running, protocol: Frequency) -> None:
    rng = FixedRng(6)
    reports = [protocol.sample(n % protocol.categories, rng) for n in range(60)]
    options = [f"option {n}" for n in range(protocol.categories)]
    question: dict[str, Any] = {"kind": "choice", "options": options, **protocol.terms()}
    with visit(chromium, kinds) as page:
        page.goto(f"{kinds.url}/s/kinds")
        found = page.evaluate(SPEAKS, {"question": question, "reports": [report.hex() for report in reports]})
    for report, places in zip(reports, found, strict=True):
        support = protocol.support(protocol.tally(protocol.read(report)))
        assert places == [place for place, speaks in enumerate(support) if speaks > 0]


def test_the_list_of_surveys_is_for_those_who_are_known(chromium: Browser, kinds: Running) -> None:
    assert kinds.call(None, "GET", "/surveys").status_code == 401
    with visit(chromium, kinds, "ana") as page:
        page.goto(f"{kinds.url}/surveys")
        page.get_by_role("link", name="Results").click()
        expect(page.get_by_text("Nothing is shown before there are 1 reports")).to_be_visible()
