"""The shape of the SQL: plain where it can be, quoted names alone of what was asked, refused where unproven."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from support.clipping import COUNT, FACTS, QUESTIONS, clip, column, visits
from tacit.base import InputError
from tacit.engine.clip import thresholds, whole_clip
from tacit.engine.dialect import DIALECTS, DUCKDB, SPARK
from tacit.engine.render import norms_sql, statements
from tacit.engine.unit import StoredTable
from tacit.plan.bounded import Bounded, Clip, Measure, Presence, Ranks
from tacit.plan.cells import Piece
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

TYPES = {Type.INTEGER: "BIGINT", Type.NUMBER: "DOUBLE", Type.TEXT: "VARCHAR"}
TABLES = {"visits": StoredTable(sql="visits", types={name: TYPES[facts.type] for name, facts in FACTS.items()})}
FULL = QUESTIONS["l2 by ward"]


def counting(**changes: Any) -> Bounded:
    plain = Bounded(source=visits(), keys=FULL.keys, measures=(COUNT,), clips=(clip("l2", 10, "count"),))
    return replace(plain, **changes)


def groups_sql(bounded: Bounded, dialect: Any) -> str:
    sql = statements(bounded, dialect, TABLES).groups
    assert sql is not None
    return sql


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_exempt_questions_are_plain(dialect: Any) -> None:
    sql = groups_sql(counting(clips=(clip("l2", 10, "count", exempt=True),)), dialect)
    assert "WITH" not in sql
    assert "JOIN" not in sql
    assert sql.count("GROUP BY") == 1


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_all_clips_share_one_pass_over_the_rows(dialect: Any) -> None:
    bounded = replace(FULL, measures=tuple(m for m in FULL.measures if m.kind != "distinct"),
                      clips=tuple(c for c in FULL.clips if "ages" not in c.names))  # fmt: skip
    sql = groups_sql(bounded, dialect)
    assert sql.count("FROM visits") == 1
    assert ("OVER" in sql) is (dialect is SPARK)  # a window, where a table of WITH is worked out at each place


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_only_units_with_many_rows_are_looked_at_where_few_rows_cannot_matter(dialect: Any) -> None:
    written = statements(QUESTIONS["l2 busy units"], dialect, TABLES)
    sql = written.light if dialect is SPARK else written.groups
    assert sql is not None
    assert "HAVING COUNT(*) > 16" in sql
    assert "HAVING" not in groups_sql(counting(), dialect)  # a bound of ten sixteenths of a row


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_nothing_is_asked_where_nothing_is_measured_and_groups_are_known(dialect: Any) -> None:
    bounded = QUESTIONS["l2 busy units"]
    cells = replace(bounded, measures=(), clips=bounded.clips[-1:])
    assert statements(cells, dialect, TABLES).groups is None
    assert len(statements(cells, dialect, TABLES).ranks) == 1


def test_names_cannot_leave_their_quotes() -> None:
    nasty = 'a" FROM x; DROP TABLE y --'
    scan = Scan(
        table="visits",
        columns=(Source(name=nasty, column=nasty, facts=Facts(type=Type.TEXT, domain=("it's", "\\"))),),
        is_private=True,
    )
    bounded = counting(source=scan, keys=(), clips=(clip("l2", 1, "count", exempt=True),))
    sql = str(statements(bounded, DUCKDB, {"visits": StoredTable(sql="visits", types={nasty: "VARCHAR"})}).groups)
    assert '"a"" FROM x; DROP TABLE y --"' in sql
    assert "'it''s'" in sql


REFUSED = {
    "no clip": (counting(clips=()), "in no clip"),
    "two clips": (counting(clips=(clip("l2", 1, "count"), clip("l1", 1, "count"))), "two clips"),
    "unknown": (counting(clips=(clip("l2", 1, "count", "other"),)), "unknown"),
    "open bound": (
        counting(clips=(Clip(names=("count",), scales=(Fraction(1),), norm="l2", bound=None),)),
        "not chosen",
    ),
    "large bound": (counting(clips=(clip("l2", 2**41, "count"),)), "coarser step"),
    "no scale": (counting(clips=(clip("l2", 1, "count", scales=(Fraction(0),)),)), "positive scales"),
    "rows are units": (counting(source=visits(unit=False)), "must be exempt"),
    "large rows": (counting(measures=(replace(COUNT, low=2**41, high=2**41),)), "2\\^40"),
    "uneven rows": (counting(measures=(replace(COUNT, low=0),)), "low and high equal"),
    "no bounds": (
        counting(
            measures=(Measure(name="count", value=replace(column("cost"), facts=Facts(type=Type.NUMBER)), high=9),)
        ),
        "without bounds",
    ),
    "distinct is clipped": (
        counting(measures=(Measure(name="count", kind="distinct", value=column("age"), cap=1),)),
        "cannot be scaled",
    ),
    "no cap": (
        counting(
            measures=(Measure(name="count", kind="distinct", value=column("age")),),
            clips=(clip("l2", 1, "count", exempt=True),),
        ),
        "needs a cap",
    ),
    "presence": (counting(presence=Presence(norm="l2", one=2**31)), "2\\^30"),
    "cells": (
        counting(
            ranks=(
                Ranks(name="r", value=column("cost"), pieces=(Piece(low=Fraction(0), width=Fraction(0), cells=4),)),
            ),
            clips=(clip("l2", 1, "count"), clip("l2", 1, "r")),
        ),
        "positive width",
    ),
    "names": (
        counting(
            source=Scan(
                table="visits",
                columns=tuple(Source(name=name, column="ward", facts=FACTS["ward"]) for name in ("ward", "Ward")),
                is_private=True,
            ),
            clips=(clip("l2", 1, "count", exempt=True),),
        ),
        "upper and lower case",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proven_is_refused(case: str) -> None:
    bounded, why = REFUSED[case]
    with pytest.raises(InputError, match=why):
        statements(bounded, DUCKDB, TABLES)


def test_clips_become_whole_without_loss() -> None:
    whole = whole_clip(clip("l2", Fraction(7, 2), "a", "b", scales=(Fraction(1, 3), Fraction(5, 2))), Fraction(7, 2))
    assert whole.factors == (2, 15)
    assert whole.threshold == 21**2  # 7/2 · 6
    assert Fraction(whole.reach) <= 21 * (1 - Fraction(1, 2**48)) < 21
    assert whole.bits == 32
    assert whole.limits() == (2**31, 2**32 // 15)
    assert whole_clip(clip("l1", 1, "a"), Fraction(7, 2)).threshold == 3


def test_edges_must_rise() -> None:
    assert thresholds(clip("l2", 1, "a"), [0, 2, 5])[1] == (0, 4, 25)
    for edges in ([], [2, 1], [1, 1], [-1, 2]):
        with pytest.raises(InputError, match="edges"):
            norms_sql(counting(), {0: edges}, DUCKDB, TABLES)
