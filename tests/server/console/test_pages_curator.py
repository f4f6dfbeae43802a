"""The curator's pages in a real browser: declare a dataset, decide about wishes, verify the ledger, let people in."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import pytest

from support.browser import visit
from support.declared import shop
from support.service import Running, running
from tacit.base import Sensitivity
from tacit.desk import Run
from tacit.engine import Stopped, Watch
from tacit.learn import Counter, Stream
from tacit.mechanism import DiscreteLaplace
from tacit.program import Program, Step
from tacit.server.auth.people import Identity
from tacit.session import Session

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    """The clinic, and a folder with a shop that can be declared."""
    with running(tmp_path, data=shop(tmp_path / "data")) as found:
        yield found


def declare(page: "Page", clinic: Running) -> None:
    """All steps up to the review, with one mistake on the way that the page points at."""
    page.goto(f"{clinic.url}/curator/declare")
    page.get_by_label("shop.csv").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Each row is about").select_option("unit")
    page.get_by_label("Column that names the person").select_option("customer")
    page.get_by_label("Rows of one person that count").fill("3")
    for column, kind in {"customer": "integer", "age": "integer", "branch": "text", "paid": "decimal"}.items():
        page.get_by_role("group", name=column).get_by_label("Type").select_option(kind)
    age = page.get_by_role("group", name="age")
    age.get_by_label("Least").fill("110")
    age.get_by_label("Most", exact=True).fill("0")
    age.get_by_text("are reversed").wait_for()
    assert age.get_by_label("Least").get_attribute("aria-invalid") == "true"
    age.get_by_label("Least").fill("0")
    age.get_by_label("Most", exact=True).fill("110")
    age.get_by_text("are reversed").wait_for(state="hidden")
    page.get_by_role("group", name="branch").get_by_label("Possible values").fill("east\nnorth\nwest")
    page.get_by_role("group", name="branch").get_by_label("never missing").check()
    page.get_by_role("group", name="day").get_by_label("may be used").uncheck()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Budget", exact=True).fill("4")
    page.get_by_label("One protected").fill("customer")
    page.get_by_text("one particular customer was in the data").wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Add somebody").click()
    page.get_by_label("Name", exact=True).fill("ana")
    page.get_by_label("May spend").fill("2")
    page.get_by_role("button", name="Next").click()


def test_a_dataset_is_declared_and_then_asked(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        declare(page, clinic)
        page.get_by_text("paid: bounds: needed for").wait_for()  # still open, and said so
        page.get_by_role("button", name="Save and serve it").click()
        page.wait_for_url("**/curator/datasets/shop")
        page.get_by_role("heading", name="shop").wait_for()
        page.get_by_text("declared the dataset, with a budget of 4 rho").wait_for()
    sql = "SELECT branch, COUNT(*) AS n FROM shop GROUP BY branch"
    answer = clinic.call("ana", "POST", "/v1/datasets/shop/ask", json={"sql": sql, "epsilon": 0.5})
    assert [row[0] for row in answer.json()["rows"]] == ["east", "north", "west"]
    assert "day" not in clinic.call("ana", "GET", "/v1/datasets/shop").text


def test_a_draft_with_mistakes_cannot_be_saved(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/declare")
        page.get_by_label("shop.csv").check()
        page.get_by_role("button", name="3. Promise").click()
        page.get_by_label("Budget", exact=True).fill("plenty")
        page.get_by_text("must be a number such as 0.5").wait_for()
        page.get_by_role("button", name="5. Review").click()
        page.get_by_text("To put right").wait_for()
        assert page.get_by_role("button", name="Save and serve it").is_disabled()


def test_a_budget_is_chosen_by_somebody_who_never_heard_of_epsilon(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora", expected=("status of 400",)) as page:
        page.goto(f"{clinic.url}/curator/choose")
        page.get_by_role("heading", name="Both fit").wait_for()
        page.get_by_label("How near each has to be: ±").fill("5")
        page.get_by_role("button", name="Work it out").click()
        page.get_by_role("heading", name="Not both").wait_for()
        way_out = page.get_by_text("Take a larger error").bounding_box()
        assert way_out is not None
        assert 0 < way_out["y"] < 900, "the answer is below the fold"
        page.get_by_label("After all answers they may think").fill("0.9")
        page.get_by_role("button", name="Work it out").click()
        page.get_by_role("alert").get_by_text("in per cent, at least 51 and below 100").wait_for()


def test_a_wish_is_sent_and_approved(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "zoe") as page:
        page.goto(f"{clinic.url}/requests")
        page.get_by_label("Dataset").fill("clinic")
        page.get_by_label("How much in all").fill("0.5")
        page.get_by_label("What for?").fill(f"the yearly report {EVIL}")
        page.get_by_role("button", name="Send").click()
        page.get_by_text(f"the yearly report {EVIL}").wait_for()
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator")
        page.get_by_text("A request waits for a decision.").wait_for()
        page.get_by_role("link", name="Look at them").click()
        page.get_by_text(EVIL).wait_for()
        page.get_by_label("May spend in all").fill("0.25")
        page.get_by_role("button", name="Approve the request of zoe").click()
        page.get_by_role("dialog").get_by_role("button", name="Approve").click()
        page.get_by_text("approved", exact=True).wait_for()
    assert clinic.ask("zoe", epsilon=0.2).is_success
    assert clinic.ask("zoe", epsilon=0.1).json()["type"] == "urn:tacit:problem:over-budget"


def test_limits_are_changed_after_a_look(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_role("button", name="Change ana").click()
        page.get_by_label("May spend in all").fill("1.5")
        page.get_by_role("button", name="Look at the change").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("ana: at most 2 → at most 1.5").wait_for()
        dialog.get_by_role("button", name="Leave it").click()
        assert clinic.service.datasets.policy(_cora(clinic), "clinic").analysts["ana"].limit == 2
        page.get_by_role("button", name="Look at the change").click()
        page.get_by_role("dialog").get_by_role("button", name="Change it").click()
        page.get_by_role("cell", name="1.5", exact=True).wait_for()
        page.get_by_role("cell", name="ana: at most 2 → at most 1.5").wait_for()
    assert float(clinic.service.datasets.policy(_cora(clinic), "clinic").analysts["ana"].limit or 0) == 1.5


def _late(route: "Route") -> None:
    sleep(0.5)
    route.continue_()


def _wait(page: "Page", words: str) -> None:
    """Until some words are there; the test that misses them says what was there instead."""
    for _ in range(600):
        if page.get_by_text(words).is_visible():
            return
        page.wait_for_timeout(100)
    pytest.fail(f"no {words!r} in: {page.locator('main').inner_text()}")


def test_the_ledger_is_seen_and_verified(clinic: Running, chromium: "Browser") -> None:
    for step in range(1, 31):
        assert clinic.ask("ana", epsilon=step / 1000).is_success
    with visit(chromium, clinic, "otto") as page:
        page.route("**/v1/datasets/clinic/policy", _late)  # the list of entries needs its currency
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("It was never verified here.").wait_for()
        page.get_by_role("button", name="Verify it now").click()
        _wait(page, "every hash and every balance")
        page.get_by_text("ana paid 0.03 epsilon", exact=True).wait_for()
        page.get_by_role("button", name="Older").click()
        page.get_by_text("account of “patients of a made-up clinic” opened").wait_for()
        page.get_by_role("button", name="Newer").click()
        page.get_by_text("ana paid 0.03 epsilon", exact=True).wait_for()
        assert page.get_by_role("button", name="Change").count() == 0  # an auditor looks
        assert page.get_by_role("link", name="People").count() == 0


def test_what_runs_is_seen_and_stopped(clinic: Running, chromium: "Browser") -> None:
    watch = Watch()
    with (
        clinic.service.running.question("ana", "clinic", "SELECT COUNT(*) FROM visits", watch),
        visit(chromium, clinic, "cora") as page,
    ):
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("SELECT COUNT(*) FROM visits").wait_for()
        page.get_by_role("button", name="Stop the question of ana").click()
        page.get_by_text("stopped a question of ana").wait_for()
        assert watch.stopped


def test_a_long_job_is_seen_and_stopped(clinic: Running, chromium: "Browser") -> None:
    """The curator's own code runs beside the service, with the policy and the ledger that it serves."""
    policy = clinic.service.datasets._opened["clinic"].path
    step = Step(name="<b>train", mechanism=DiscreteLaplace(scale=100), sensitivity=Sensitivity(l1=10))
    begun, ended = threading.Event(), threading.Event()

    def work(run: Run) -> bytes:
        while True:
            run.save(b"state", done=0.37)
            begun.set()
            sleep(0.05)

    def curate() -> None:
        with Session(policy, "ana") as session, suppress(Stopped):
            session.spend(Program(steps=(step,), tables=("visits",), unit="patient"), work)
        ended.set()

    threading.Thread(target=curate, daemon=True).start()
    assert begun.wait(60)
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("37\u00a0%").wait_for()
        page.get_by_role("button", name="Stop the job <b>train").click()
        page.get_by_text("stopped a job of ana").wait_for()
        assert ended.wait(60)
        page.get_by_role("cell", name="stopped", exact=True).wait_for()
    (job,) = clinic.call("cora", "GET", "/v1/datasets/clinic/saved-jobs").json()["items"]
    assert (job["name"], job["analyst"], job["done"], job["running"]) == ("<b>train", "ana", 0.37, False)
    again = clinic.call("cora", "DELETE", f"/v1/datasets/clinic/saved-jobs/{job['entry']}")
    assert again.status_code == 404


def test_a_stream_is_drawn_as_it_goes(clinic: Running, chromium: "Browser") -> None:
    """Its noisy counts, beside what a tree would have: of the ticks that were told, a new one with each."""
    policy = clinic.service.datasets._opened["clinic"].path
    counter = Counter(steps=40, sigma=2000, name="arrivals")
    told, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def loop(stream: Stream) -> None:
        for step in range(20):
            stream.tick([f"{step} {each}" for each in range(900)])
        told.set()
        assert go_on.wait(120)
        stream.tick(["late"])
        over.wait(120)

    def curate() -> None:
        with Session(policy, "ana") as session:
            counter.run(session, loop, table="visits", delta="1e-6")

    thread = threading.Thread(target=curate, daemon=True)
    thread.start()
    assert told.wait(60)
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/datasets/clinic")
        page.get_by_text("arrivals, tick 19:").wait_for()
        page.get_by_role("img", name="The noisy running count of arrivals").wait_for()
        page.locator(".stream canvas").wait_for()
        go_on.set()
        page.get_by_text("arrivals, tick 20:").wait_for()
        assert "A binary tree of the same price" in page.locator(".stream figcaption").inner_text()
        over.set()
    (job,) = [
        each
        for each in clinic.call("cora", "GET", "/v1/datasets/clinic/saved-jobs").json()["items"]
        if each["name"] == "arrivals"
    ]
    assert [tick for tick, _, _ in job["chart"]["ticks"]] == list(range(21))
    assert "late" not in str(job)
    thread.join(60)


def test_somebody_is_let_in_and_barred(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora") as page:
        page.goto(f"{clinic.url}/curator/people")
        page.get_by_label("Name").fill(EVIL)
        page.get_by_role("button", name="Add").click()
        page.get_by_role("button", name=f"Sign-in link for {EVIL}").click()
        link = page.locator("code.kept").inner_text()
        with visit(chromium, clinic) as other:
            other.goto(link)
            other.get_by_role("button", name="Sign in").click()
            other.wait_for_url("**/ask")
        page.get_by_role("button", name=f"New token for {EVIL}").click()
        page.get_by_text("A token for programs.").wait_for()
        token = page.locator("code.kept").inner_text()
        assert clinic.service.people.by_token(token) is not None
        page.get_by_role("button", name=f"Bar {EVIL}").click()
        page.get_by_role("dialog").get_by_role("button", name="Bar").click()
        page.get_by_text("let in no more", exact=True).wait_for()
        assert clinic.service.people.by_token(token) is None


@pytest.mark.parametrize("path", ["/curator", "/curator/people", "/curator/declare", "/curator/datasets/clinic"])
def test_an_analyst_does_not_come_in(clinic: Running, path: str) -> None:
    answer = clinic.call("ana", "GET", path, headers={"Accept": "text/html"})
    assert answer.status_code == 403
    assert "text/html" in answer.headers["content-type"]


def test_pages_fit_a_phone(clinic: Running, chromium: "Browser") -> None:
    clinic.call("zoe", "POST", "/v1/datasets/clinic/requests", json={"reason": "w" * 300})
    with visit(chromium, clinic, "cora", viewport={"width": 390, "height": 800}) as page:
        for path in ("", "/datasets/clinic", "/people", "/declare", "/requests", "/releases"):
            page.goto(f"{clinic.url}/curator{path}")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_without_a_data_folder_the_page_says_what_to_do(tmp_path: Path) -> None:
    with running(tmp_path) as clinic:
        text = clinic.call("cora", "GET", "/curator/declare", headers={"Accept": "text/html"}).text
        assert "Nothing can be declared here yet" in text


def _cora(clinic: Running) -> Identity:
    found = clinic.service.people.named("cora")
    assert found is not None
    return found


def test_a_budget_is_chosen_step_by_step(clinic: Running, chromium: "Browser") -> None:
    with visit(chromium, clinic, "cora", expected=("400",)) as page:
        page.goto(f"{clinic.url}/curator")
        page.get_by_role("link", name="Choose a budget").click()
        page.get_by_role("heading", name="Both fit").wait_for()
        page.get_by_label("How near each has to be").fill("5")
        page.get_by_role("button", name="Work it out").click()
        page.get_by_role("heading", name="Not both").wait_for()
        page.get_by_text("Take a larger error").wait_for()
        page.get_by_label("How near each has to be").fill("<b>0</b>")
        page.get_by_role("button", name="Work it out").click()
        page.get_by_text("error must be a finite number").wait_for()
        assert page.locator("section b").count() == 0
