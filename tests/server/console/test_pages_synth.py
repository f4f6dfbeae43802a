"""A synthetic table in the console: made as a job, its report read in a frame, its rows and measurements at hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from support.browser import overflow, unnamed, visit
from support.service import Running, running
from support.synthetic import policy_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("synth"), build=policy_of) as found:
        yield found


def test_a_report_is_read_where_it_was_made(service: Running, chromium: "Browser", tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="a report needs pictures: pip install 'tacit[plot]'")
    settings = {"kind": "synth", "settings": {"table": "people", "columns": ["sex", "job"], "rho": "0.5"}}
    assert service.call("ana", "POST", "/v1/datasets/people/jobs", json=settings).status_code == 202
    narrow = {"width": 390, "height": 844}
    with visit(chromium, service, "ana", viewport=narrow, color_scheme="dark") as page:
        page.goto(f"{service.url}/jobs?kind=synth")
        report = page.get_by_role("button", name="Report of Make a synthetic table")
        report.click()
        frame = page.frame_locator("iframe.page")
        frame.get_by_role("heading", name="Synthetic table people").wait_for()
        frame.get_by_text("An interval that is computed from them as if they were data is too short").wait_for()
        assert frame.locator("svg").count() == 4
        assert report.get_attribute("aria-expanded") == "true"
        assert not overflow(page)
        assert not unnamed(page)
        with page.expect_download() as coming:
            page.get_by_role("link", name="Rows (Parquet)").click()
        coming.value.save_as(tmp_path / "rows.parquet")
        report.click()
        page.locator("iframe.page").wait_for(state="detached")
    assert pq.read_schema(tmp_path / "rows.parquet").metadata[b"synthetic"] == b"true"
