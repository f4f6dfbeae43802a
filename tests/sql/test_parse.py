"""Text to one tree: one statement, of a size, in a dialect."""

import logging
from typing import Any

import pytest
from sqlglot import exp

from tacit.base import Refused
from tacit.sql.parse import CLAUSE, DIALECTS, MOST_CHARACTERS, MOST_NESTED, MOST_TOKENS, parse

COUNT = "SELECT COUNT(*) FROM visits"


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_one_select_in_every_dialect(dialect: str | None) -> None:
    tree = parse(f"WITH a AS (SELECT * FROM visits) {COUNT};", dialect)
    assert type(tree) is exp.Select


def test_comments_and_closing_semicolons_do_not_matter() -> None:
    assert parse(COUNT) == parse(f"/* ; DROP TABLE visits */ {COUNT} -- ; DELETE FROM visits\n;;")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("", "no question"),
        (" ; ; ", "no question"),
        ("-- nothing", "no question"),
        (f"{COUNT}; {COUNT}", "second statement"),
        (f"{COUNT}; DROP TABLE visits", "second statement"),
        ("DROP TABLE visits", "DROP is refused"),
        ("PRAGMA database_list", "PRAGMA is refused"),
        ("COPY visits TO 'x.csv'", "COPY is refused"),
        ("EXPLAIN SELECT 1", "is refused"),
        (f"{COUNT} EXCEPT {COUNT}", "EXCEPT is refused"),
        ("WITH a AS (SELECT 1) DELETE FROM visits", "is refused"),
        ("SELECT COUNT(* FROM visits", "line 1, column"),
        ("SELECT 'open FROM visits", "never closed"),
        ("SELECT COUNT(*) FROM visits WHERE note = 'a\x00b'", "NUL"),
        ("SELECT '\ud800', COUNT(*) FROM visits", "half of a pair"),
    ],
)
def test_what_is_not_one_question_is_refused(sql: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        parse(sql)


@pytest.mark.parametrize("sql", [None, 7, b"SELECT 1", ["SELECT 1"]])
def test_only_text_is_parsed(sql: Any) -> None:
    with pytest.raises(Refused, match="text in SQL"):
        parse(sql)


@pytest.mark.parametrize("dialect", ["mysql", "", "DuckDB", "tsql"])
def test_other_dialects_are_refused(dialect: str) -> None:
    with pytest.raises(Refused, match="dialect"):
        parse(COUNT, dialect)


def test_quotes_are_read_as_the_dialect_has_them() -> None:
    assert isinstance(parse('SELECT "a" FROM t').expressions[0], exp.Column)
    assert isinstance(parse('SELECT "a" FROM t', "bigquery").expressions[0], exp.Literal)
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
    assert isinstance(parse(f'{clause} "a" FROM t').expressions[0], exp.Literal)
    assert isinstance(parse(f'{clause} "a" FROM t', "duckdb").expressions[0], exp.Column)


def test_limits_of_size() -> None:
    parse(COUNT + " " * (MOST_CHARACTERS - len(COUNT)))
    with pytest.raises(Refused, match="characters"):
        parse(COUNT + " " * (MOST_CHARACTERS - len(COUNT) + 1))
    with pytest.raises(Refused, match="words and signs"):
        parse("SELECT " + "a," * MOST_TOKENS + "a FROM t")


NESTS = {
    "parentheses": ("(", "1", ")"),
    "functions": ("abs(", "1", ")"),
    "subqueries": ("(SELECT ", "1", ")"),
    "tables": ("(SELECT a FROM ", "t", ")"),
    "cases": ("CASE WHEN ", "a", " THEN 1 END"),
    "casts": ("CAST(", "1", " AS INT)"),
    "lists": ("[", "1", "]"),
    "structures": ("{'a': ", "1", "}"),
    "negations": ("NOT ", "a", ""),
    "signs": ("- ", "a", ""),
    "types": ("CAST(1 AS ARRAY<", "INT", ">)"),
    "intervals": ("INTERVAL ", "1", ""),
    "lambdas": ("f(x -> ", "1", ")"),
}


@pytest.mark.parametrize("kind", NESTS)
@pytest.mark.parametrize("deep", [MOST_NESTED + 1, 300, 1600])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_deep_nesting_is_refused_and_never_overflows(kind: str, deep: int, dialect: str) -> None:
    begin, middle, end = NESTS[kind]
    with pytest.raises(Refused):
        parse(f"SELECT {begin * deep}{middle}{end * deep} FROM t", dialect)


def test_ordinary_nesting_is_read() -> None:
    deep = MOST_NESTED - 1
    assert len(parse(f"SELECT {'(' * deep}1{')' * deep} FROM t").expressions) == 1
    assert len(parse("SELECT " + " AND ".join(["a"] * 1000) + " FROM t").expressions) == 1


def test_the_clause_stays_beside_the_tree() -> None:
    tree = parse("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT(*) FROM visits")
    assert tree.meta[CLAUSE].options.epsilon == 2
    assert tree.copy().meta[CLAUSE].options.epsilon == 2


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for sql in (COUNT, "ALTER TABLE x FOO BAR", "SELECT * FROM t MATCH_RECOGNIZE (x)", "SHOW TABLES"):
            try:
                parse(sql)
            except Refused:
                continue
    assert not caplog.records
