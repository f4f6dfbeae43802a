"""What curators did, the newest first, page by page."""

from tacit.server.auth.people import Identity
from tacit.server.curate.save import Journal
from tacit.server.db import State


def test_lines_by_dataset_and_page(state: State) -> None:
    journal, cora = Journal(state), Identity("cora", "curator")
    for number in range(5):
        journal.write(cora, "shop", f"change {number}")
    journal.write(cora, "clinic", "another")
    first = journal.page("shop", before=None, limit=3)
    assert [line["what"] for line in first] == ["change 4", "change 3", "change 2"]
    rest = journal.page("shop", before=first[-1]["number"], limit=3)
    assert [(line["who"], line["what"]) for line in rest] == [("cora", "change 1"), ("cora", "change 0")]
