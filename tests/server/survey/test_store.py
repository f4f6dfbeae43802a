"""The store of reports: counted once, in batches, without sender, order or time, on SQLite and PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import inspect

from support.fixed_rng import FixedRng, drawing_from
from support.surveys import SLEEP, sleep
from tacit.base import InputError
from tacit.server.survey.store import Delivery, ReportStore
from tacit.survey.device import Device
from tacit.survey.survey import Survey, parse

GOOD: dict[str, Any] = {"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}


def deliveries(survey: Survey, count: int, seed: int = 0) -> list[Delivery]:
    with drawing_from(FixedRng(seed)):
        made = [Device(survey).answer(GOOD) for _ in range(count)]
    return [Delivery(each.id, each.reports) for each in made]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReportStore]:
    where = request.getfixturevalue("database") if request.param == "postgres" else tmp_path / "surveys.db"
    found = ReportStore(where)
    yield found
    found.close()


def test_each_is_counted_once(store: ReportStore) -> None:
    survey = sleep(minimum=1)
    store.enter(survey)
    sent = deliveries(survey, 20)
    assert store.add(survey, sent[:12]) == [True] * 12
    assert store.add(survey, [*sent[8:], sent[19], sent[0]]) == [False] * 4 + [True] * 8 + [False, False]
    assert store.add(survey, sent) == [False] * 20
    assert store.size(survey) == 20
    counted = store.counted(survey)
    for name, protocol in survey.protocols.items():
        every = b"".join(each.reports[name] for each in sent)
        assert counted.tallies[name] == protocol.tally(protocol.read(every)), "tallies are those of all reports"
        assert list(store.reports(survey, name)) == sorted(each.reports[name] for each in sent)


def test_a_changed_report_under_an_old_name_changes_nothing(store: ReportStore) -> None:
    survey = sleep(minimum=1)
    store.enter(survey)
    (first,) = deliveries(survey, 1)
    store.add(survey, [first])
    before = store.counted(survey).tallies
    other = deliveries(survey, 1, seed=9)[0]._replace(id=first.id)
    assert store.add(survey, [other]) == [False]
    assert store.counted(survey).tallies == before


def test_results_grow_by_whole_batches(store: ReportStore) -> None:
    survey = sleep(minimum=10)
    store.enter(survey)
    sent = deliveries(survey, 25)
    seen = []
    for each in sent:
        store.add(survey, [each])
        counted = store.counted(survey)
        seen.append((counted.tallies["slept"].reports, counted.waiting))
        if counted.tallies["slept"].reports == 0:
            assert not counted.tallies["slept"].counts.any()
    assert [shown for shown, _ in seen] == [0] * 9 + [10] * 10 + [20] * 6
    assert [shown + waiting for shown, waiting in seen] == list(range(1, 26))


def test_many_add_at_once(store: ReportStore) -> None:
    survey = sleep(minimum=1)
    store.enter(survey)
    sent = deliveries(survey, 60)
    parts = [sent[n : n + 20] for n in range(0, 50, 10)]  # each overlaps the next
    with ThreadPoolExecutor(4) as pool:
        new = list(pool.map(lambda part: store.add(survey, part), parts))
    assert sum(part.count(True) for part in new) == 60
    tally = store.counted(survey).tallies["slept"]
    assert tally.reports == 60 == tally.counts.sum() == store.size(survey)


def test_a_survey_whose_reports_mean_something_else_is_refused(store: ReportStore) -> None:
    store.enter(sleep())
    store.enter(parse(SLEEP.replace("How do we", "Do we")))
    for old, new in (("noise", "sound"), ("epsilon = 4", "epsilon = 5")):
        with pytest.raises(InputError, match="another name"):
            store.enter(parse(SLEEP.replace(old, new)))


def test_nothing_says_who_or_when_or_in_what_order(store: ReportStore) -> None:
    columns = {
        table: {column["name"] for column in inspect(store.engine).get_columns(table)}
        for table in ("tacit_received", "tacit_reports", "tacit_tallies")
    }
    assert columns["tacit_received"] == {"survey", "id"}
    assert columns["tacit_reports"] == {"survey", "question", "key", "heap"}
    assert columns["tacit_tallies"] == {"survey", "question", "counts", "reports", "held", "waiting"}


def test_what_is_kept_of_a_respondent_has_nothing_in_common(tmp_path: Path) -> None:
    survey, path = sleep(minimum=1), tmp_path / "surveys.db"
    store = ReportStore(path)
    store.enter(survey)
    sent = deliveries(survey, 200)
    for each in sent[:100]:
        store.add(survey, [each])
    store.add(survey, sent[100:])
    store.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT question, key, heap FROM tacit_reports").fetchall()
        assert connection.execute("SELECT id FROM tacit_received").fetchall() != [(each.id,) for each in sent]
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            connection.execute("SELECT rowid FROM tacit_reports")  # which would be the order of arrival
    connection.close()
    keys = [key for _, key, _ in rows]
    assert len(set(keys)) == len(rows) == 4 * 101
    assert not {each.id for each in sent} & set(keys)
    alone = [heap for question, _, heap in rows if question == "wakes" and len(heap) == 1]
    assert alone != [each.reports["wakes"] for each in sent[:100]], "lying in the order of random names"
    (heap,) = [heap for question, _, heap in rows if question == "wakes" and len(heap) > 1]
    assert list(heap) == sorted(heap), "in the order of bytes"


def test_tallies_survive_and_keep_their_shape(tmp_path: Path) -> None:
    text = SLEEP.replace('options = ["nothing"', f"options = [{', '.join(repr(str(n)) for n in range(600))}, 'nothing'")
    survey = parse(text.replace("minimum = 5", "minimum = 1"))
    store = ReportStore(tmp_path / "surveys.db")
    store.enter(survey)
    store.add(survey, deliveries(survey, 3))
    store.close()
    again = ReportStore(tmp_path / "surveys.db")
    again.enter(survey)
    again.add(survey, deliveries(survey, 4, seed=1))
    tally = again.counted(survey).tallies["wakes"]
    assert tally.reports == 7
    protocol = survey.protocols["wakes"]
    assert np.array_equal(tally.counts, protocol.tally(protocol.read(b"".join(again.reports(survey, "wakes")))).counts)
    again.close()
