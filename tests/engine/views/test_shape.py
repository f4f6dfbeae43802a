"""Views whose rows come from one unit each, and those whose rows can come from several."""

import pytest

from tacit.base import PolicyError
from tacit.engine.dialect import DIALECTS, DUCKDB, POSTGRES, Dialect
from tacit.engine.views.shape import View, check_shape

VIEWS = {
    "good": "SELECT pid, ward FROM visits WHERE cost > 1",
    "counted": "SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid",
    "cut": "SELECT * FROM visits LIMIT 5",
}
KEPT = (
    "SELECT * FROM visits",
    "SELECT v.* FROM visits v WHERE cost > 1 ORDER BY cost",
    "SELECT pid, CAST(cost AS INT) AS cost FROM visits",
    "SELECT DISTINCT pid, ward FROM visits",
    "SELECT v.pid, w.name FROM visits v JOIN wards w ON w.ward = v.ward",
    "SELECT pid FROM visits UNION ALL SELECT who FROM others",
    "SELECT pid FROM visits UNION SELECT pid FROM good",
    "SELECT pid, MAX(cost) AS c FROM visits GROUP BY pid",
    "SELECT pid, ward, COUNT(*) AS n FROM visits GROUP BY ward, pid HAVING COUNT(*) > 2",
    "SELECT pid, SUM(cost) AS c FROM visits GROUP BY 1",
    "SELECT p AS pid, SUM(cost) AS c FROM (SELECT pid AS p, cost FROM visits) v GROUP BY p",
    "SELECT UPPER(code) AS pid, SUM(cost) AS c FROM visits GROUP BY UPPER(code)",
    "SELECT UPPER(code) AS pid, SUM(cost) AS c FROM visits GROUP BY code",
    "SELECT CONCAT(a, b) AS pid, SUM(cost) AS c FROM visits GROUP BY a, b",
    "SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day) AS i FROM visits",
    "SELECT pid, ROW_NUMBER() OVER (PARTITION BY ward, pid ORDER BY day) AS i FROM visits",
    "SELECT pid, SUM(cost) OVER w AS i FROM visits WINDOW w AS (PARTITION BY pid)",
    "SELECT v.pid FROM visits v JOIN (SELECT pid, MAX(day) AS d FROM visits GROUP BY pid) m ON m.pid = v.pid",
    "SELECT v.pid FROM visits v LEFT JOIN (SELECT pid, MAX(day) AS d FROM visits GROUP BY pid) m ON m.pid = v.pid",
    "SELECT v.pid FROM visits v JOIN (SELECT pid, MAX(day) AS d FROM visits GROUP BY pid) m USING (pid)",
    "SELECT v.pid FROM visits v WHERE day = (SELECT MAX(o.day) FROM visits o WHERE o.pid = v.pid)",
    "SELECT pid FROM visits WHERE ward IN (SELECT ward FROM wards)",
    "SELECT pid FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward)",
    "WITH a AS (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) SELECT pid, n FROM a",
    "WITH a (p, n) AS (SELECT pid, COUNT(*) FROM visits GROUP BY pid) SELECT p AS pid, n FROM a",
    "SELECT pid, n FROM counted",
    "SELECT pid, ward FROM good",
    "SELECT visits.pid FROM (visits JOIN wards ON visits.ward = wards.ward)",
    "SELECT pid, current_date AS d FROM visits",
    "SELECT v.pid FROM visits v JOIN visits w ON w.pid = v.pid AND w.day < v.day",
    "SELECT v.pid FROM visits v, visits w WHERE w.pid = v.pid",
    "SELECT v.pid FROM visits v WHERE v.pid IN (SELECT o.pid FROM visits o WHERE o.cost > 1)",
    "SELECT v.pid FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits o WHERE o.pid = v.pid AND o.day < v.day)",
)
REFUSED = (
    "SELECT * FROM visits LIMIT 5",
    "SELECT * FROM visits OFFSET 5",
    "SELECT pid FROM (SELECT pid FROM visits ORDER BY cost LIMIT 5) v",
    "SELECT pid FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    "SELECT pid FROM visits WHERE day = (SELECT MAX(o.day) FROM visits o WHERE o.ward = 'x')",
    "SELECT pid FROM visits WHERE day IN (SELECT day FROM visits ORDER BY day LIMIT 1)",
    "SELECT MAX(pid) AS pid FROM visits",
    "SELECT MAX(pid) AS pid, ward FROM visits GROUP BY ward",
    "SELECT ward AS pid, COUNT(*) AS n, pid AS other FROM visits GROUP BY pid",
    "SELECT pid, COUNT(*) AS n FROM visits GROUP BY ROLLUP (pid)",
    "SELECT pid, ROW_NUMBER() OVER (ORDER BY day) AS i FROM visits",
    "SELECT pid, SUM(cost) OVER () AS i FROM visits",
    "SELECT pid, SUM(cost) OVER (PARTITION BY ward) AS i FROM visits",
    "SELECT pid, SUM(cost) OVER w AS i FROM visits WINDOW w AS (PARTITION BY ward)",
    "SELECT CONCAT(a, b) AS pid, SUM(cost) AS c FROM visits GROUP BY a",
    "SELECT CONCAT(v.a, w.b) AS pid FROM (SELECT a, COUNT(*) AS n FROM visits GROUP BY a) v JOIN w ON w.k = v.a",
    "SELECT v.pid FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) m ON m.ward = v.ward",
    "SELECT v.pid FROM visits v LEFT JOIN others o ON o.pid = v.pid GROUP BY o.pid, v.pid + 0",
    "SELECT pid FROM visits UNION ALL SELECT MAX(pid) FROM others",
    "WITH a AS (SELECT pid FROM visits LIMIT 3) SELECT pid FROM a",
    "WITH RECURSIVE a AS (SELECT pid FROM visits UNION ALL SELECT pid FROM a) SELECT pid FROM a",
    "SELECT pid FROM cut",
    "SELECT pid FROM (SELECT pid, i FROM (SELECT pid, RANK() OVER (ORDER BY cost) AS i FROM visits) a) b",
    "SELECT pid, my_sum(cost) AS c FROM visits",
    "SELECT v.pid FROM visits v JOIN visits w ON w.ward = v.ward",
    "SELECT v.pid FROM visits v JOIN good w ON w.ward = v.ward",
    "SELECT v.pid FROM visits v WHERE EXISTS (SELECT 1 FROM visits o WHERE o.ward = v.ward AND o.pid <> v.pid)",
    "SELECT v.pid FROM visits v WHERE v.ward IN (SELECT o.ward FROM visits o)",
    "SELECT v.pid FROM visits v WHERE v.pid NOT IN (SELECT o.pid FROM visits o WHERE o.cost > 1)",
)


def view_of(parts: tuple[str, ...]) -> View | None:
    return View(sql=VIEWS[parts[-1]]) if parts[-1] in VIEWS else None


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
@pytest.mark.parametrize("sql", KEPT)
def test_rows_of_one_unit(sql: str, dialect: Dialect) -> None:
    check_shape(View(sql=sql), "pid", dialect, view_of, ["my_sum"])


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
@pytest.mark.parametrize("sql", REFUSED)
def test_rows_of_several(sql: str, dialect: Dialect) -> None:
    with pytest.raises(PolicyError, match="rows of one unit would then depend on another's"):
        check_shape(View(sql=sql), "pid", dialect, view_of, ["my_sum"])


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("SELECT DISTINCT ON (ward) pid, ward FROM visits", POSTGRES),
        ("SELECT pid FROM visits FETCH FIRST 5 ROWS ONLY", POSTGRES),
        ("SELECT pid FROM visits TABLESAMPLE BERNOULLI (5)", POSTGRES),
        ("SELECT pid FROM visits USING SAMPLE 5", DUCKDB),
        ("SELECT pid FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY day) = 1", DUCKDB),
        (
            "SELECT pid, LIST(cost) AS c FROM visits GROUP BY ALL HAVING COUNT(*) > (SELECT COUNT(*) FROM visits)",
            DUCKDB,
        ),
        ("FROM visits LIMIT 3", DUCKDB),
        ("SELECT pid FROM visits WHERE rowid < 100", DUCKDB),
        ("SELECT v.pid FROM visits v POSITIONAL JOIN wards w", DUCKDB),
        ("SELECT pid FROM visits WHERE visits.ctid < '(3,0)'::tid", POSTGRES),
        ("PIVOT visits ON ward USING SUM(cost)", DUCKDB),
    ],
)
def test_words_of_one_engine(sql: str, dialect: Dialect) -> None:
    with pytest.raises(PolicyError):
        check_shape(View(sql=sql), "pid", dialect, view_of, [])


def test_words_of_one_engine_that_keep_within_a_unit() -> None:
    check_shape(View(sql="SELECT DISTINCT ON (pid) pid, ward FROM visits"), "pid", POSTGRES, view_of, [])
    check_shape(View(sql="SELECT pid, LIST(cost) AS c FROM visits GROUP BY ALL"), "pid", DUCKDB, view_of, [])
    check_shape(View(sql="FROM visits"), "pid", DUCKDB, view_of, [])


def test_names_that_a_view_gives_its_columns() -> None:
    grouped = "SELECT ward, pid, COUNT(*) FROM visits GROUP BY ward, pid"
    check_shape(View(sql=grouped, columns=("w", "who", "n")), "who", DUCKDB, view_of, [])
    with pytest.raises(PolicyError):
        check_shape(View(sql="SELECT * FROM visits GROUP BY pid", columns=("w", "who")), "who", DUCKDB, view_of, [])


def test_where_each_row_is_a_unit_nothing_is_grouped() -> None:
    check_shape(View(sql="SELECT DISTINCT ward FROM visits WHERE cost > 1"), None, DUCKDB, view_of, [])
    with pytest.raises(PolicyError):
        check_shape(View(sql=VIEWS["counted"]), None, DUCKDB, view_of, [])


@pytest.mark.parametrize("sql", ["SELECT FROM WHERE", "DELETE FROM visits", "", "SELECT 1; SELECT 2"])
def test_what_cannot_be_read_is_refused(sql: str) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        check_shape(View(sql=sql), "pid", POSTGRES, view_of, [])


NESTED = {"named": View(sql="SELECT pid, ward, day FROM visits", columns=("PID", "Ward", "Day"))}


@pytest.mark.parametrize(
    ("sql", "unit", "columns"),
    [
        # a view's own names for its columns, in other capitals
        ("SELECT v.pid FROM named v JOIN named w ON w.ward = v.ward", "pid", ()),
        # a unit of two columns
        ("SELECT CONCAT(v.a, v.b) AS pid FROM visits v JOIN visits w ON w.ward = v.ward", "pid", ()),
        ("SELECT CONCAT(v.a, v.b) AS pid FROM visits v WHERE v.ward IN (SELECT ward FROM visits)", "pid", ()),
        ("SELECT pid FROM others UNION ALL SELECT v.a || v.b FROM visits v, visits w WHERE v.k < w.k", "pid", ()),
        # names that a view gives to columns which are not listed
        ("SELECT * FROM visits v JOIN visits w ON w.ward = v.ward", "who", ("who", "ward", "other", "place")),
        # columns that a star stands for, of which DuckDB gives the first the name
        ("SELECT * FROM visits v JOIN visits w ON w.ward = v.ward", "pid", ()),
        ("FROM visits v, visits w, visits x WHERE v.pid = w.pid", "pid", ()),
        # rows that are units
        ("SELECT v.cost FROM visits v JOIN visits w ON w.ward = v.ward", None, ()),
        ("SELECT cost FROM (SELECT v.cost FROM visits v JOIN named w ON w.ward = v.ward) j", None, ()),
        ("SELECT cost FROM visits v WHERE EXISTS (SELECT 1 FROM visits o WHERE o.ward = v.ward)", None, ()),
    ],
)
def test_a_table_is_not_joined_to_itself_where_its_unit_cannot_be_followed(
    sql: str, unit: str | None, columns: tuple[str, ...]
) -> None:
    with pytest.raises(PolicyError, match="rows of one unit would then depend on another's"):
        check_shape(View(sql=sql, columns=columns), unit, DUCKDB, lambda parts: NESTED.get(parts[-1]), [])


@pytest.mark.parametrize(
    ("sql", "unit", "columns"),
    [
        ("SELECT v.pid FROM named v JOIN named w ON w.pid = v.pid", "pid", ()),
        ("SELECT CONCAT(v.a, v.b) AS pid FROM visits v JOIN wards w ON w.ward = v.ward", "pid", ()),
        ("SELECT * FROM visits v JOIN wards w ON w.ward = v.ward", "who", ("who", "ward", "other", "place")),
        ("SELECT * FROM visits v JOIN wards w ON w.ward = v.ward", "pid", ()),
        ("SELECT * FROM visits v JOIN visits w ON w.pid = v.pid", "pid", ()),
        ("SELECT * FROM visits v JOIN visits w USING (pid)", "pid", ()),
        ("SELECT * FROM visits v WHERE day = (SELECT MAX(o.day) FROM visits o WHERE o.pid = v.pid)", "pid", ()),
        ("SELECT cost FROM visits v JOIN wards w ON w.ward = v.ward", None, ()),
        ("SELECT cost FROM visits WHERE cost > 1 UNION ALL SELECT cost FROM visits WHERE cost < 0", None, ()),
    ],
)
def test_other_joins_are_let_through(sql: str, unit: str | None, columns: tuple[str, ...]) -> None:
    check_shape(View(sql=sql, columns=columns), unit, DUCKDB, lambda parts: NESTED.get(parts[-1]), [])
