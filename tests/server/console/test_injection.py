"""Names that would be markup, in everything that a policy or a question can name: they stay text on every page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PATIENCE, visit
from support.service import Running, running

expect.set_options(timeout=PATIENCE)
EVIL = "<img src=x onerror=alert(1)>"
POLICY = f"""\
[dataset]
name = "evil"
people = "people {EVIL}"
ledger = "evil.ledger"

[privacy]
unit = "person"
currency = "epsilon"
budget = 3
delta = 1e-6

[tables."t {EVIL}"]
source = "data.parquet"
unit_column = "id"
clip_rows = 1

[tables."t {EVIL}".columns]
id = {{ type = "integer" }}
"k {EVIL}" = {{ type = "text", nullable = false, group_keys = [
  "a {EVIL}", "{{{{constructor.constructor('alert(1)')()}}}}"
] }}
"n {EVIL}" = {{ type = "integer", bounds = [0, 10], nullable = false }}

[analysts.ana]
limit = 2
groups = ["g {EVIL}"]

[analysts.cora]
limit = 1

[groups."g {EVIL}"]
limit = 2
"""
BY_KEY = (
    f'SELECT "k {EVIL}", COUNT(*) AS "<b>{EVIL}", AVG("n {EVIL}") AS "\'""-->{EVIL}" '
    f'FROM "t {EVIL}" GROUP BY "k {EVIL}"'
)


def evil(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = [f"a {EVIL}", "{{constructor.constructor('alert(1)')()}}"] * 50
    columns = {"id": list(range(100)), f"k {EVIL}": keys, f"n {EVIL}": [n % 10 for n in range(100)]}
    pq.write_table(pa.table(columns), folder / "data.parquet")
    (folder / "tacit.toml").write_text(POLICY, encoding="utf-8")
    return folder / "tacit.toml"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, evil) as found:
        yield found


def harmless(page: Page) -> None:
    assert page.locator("main img").count() == 0


def test_names_stay_text_everywhere(chromium: Browser, service: Running) -> None:
    alerts: list[str] = []
    with visit(chromium, service, "ana", expected=("status of 422",)) as page:
        page.on("dialog", lambda dialog: alerts.append(dialog.message))
        expect(page.locator("#schema")).to_contain_text(f"k {EVIL}")
        expect(page.locator("#schema")).to_contain_text(f"keys: a {EVIL}")
        expect(page.locator("#about-data")).to_contain_text(EVIL)
        page.locator("#schema").get_by_role("button", name=f"n {EVIL}").click()
        expect(page.get_by_role("textbox", name="Your question")).to_have_value(f'"n {EVIL}"')
        page.get_by_role("textbox", name="Your question").fill(f"SELECT {EVIL}")
        expect(page.locator("#quote .note.bad")).to_be_visible()
        harmless(page)
        page.get_by_role("textbox", name="Your question").fill(BY_KEY)
        page.get_by_role("button", name="Ask for").click()
        expect(page.locator("#answer canvas")).to_be_visible()
        expect(page.locator("#answer thead")).to_contain_text(f"<b>{EVIL}")
        expect(page.locator("#answer tbody")).to_contain_text(f"a {EVIL}")
        expect(page.locator("#earlier")).to_contain_text(EVIL)
        harmless(page)
        page.goto(f"{service.url}/budget")
        expect(page.locator(".chart canvas")).to_be_visible()
        expect(page.locator("#datasets")).to_contain_text(f"The group g {EVIL}")
        harmless(page)
    assert not alerts
