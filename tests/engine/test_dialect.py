"""Names and constants in quotes that nothing leaves."""

from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest

from tacit.base import InputError
from tacit.engine.dialect import DIALECTS, DUCKDB, PLAIN, POSTGRES, SPARK, Dialect
from tacit.plan.facts import Type, Value

HOSTILE = [
    "'", "''", "\\", "\\'", "'; DROP TABLE r; --", "${spark.home}", "a\nb", "é😀", "%s %(x)s", "$1 $$ :x ?", "/* */",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT {DUCKDB.text(text)}").fetchone() == (text,)


@pytest.mark.parametrize("text", HOSTILE)
def test_spark_reads_nothing_but_plain_characters_and_hexadecimals(text: str) -> None:
    sql = SPARK.text(text)
    assert sql == f"CAST(X'{text.encode().hex()}' AS STRING)" or (sql == f"'{text}'" and PLAIN.fullmatch(text))


def test_postgres_does_not_depend_on_how_backslashes_are_read() -> None:
    assert POSTGRES.text("a\\'b") == "E'a\\\\''b'::text"
    assert POSTGRES.text("it's") == "'it''s'::text"


@pytest.mark.parametrize("name", ['a"b', "a b", "select", "é", '"; --'])
def test_a_name_stays_a_name(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({DUCKDB.identifier(name)} INTEGER)")
        described = connection.execute("SELECT * FROM t").description
        assert [column[0] for column in described] == [name]


def test_names_are_quoted_as_each_engine_does() -> None:
    assert POSTGRES.identifier('a"`b') == '"a""`b"'
    assert SPARK.identifier('a"`b') == '`a"``b`'


@pytest.mark.parametrize(("name", "dialect"), [("", DUCKDB), ("a\0", POSTGRES), ("é" * 32, POSTGRES), ("${x}", SPARK)])
def test_names_an_engine_would_change_are_refused(name: str, dialect: Dialect) -> None:
    with pytest.raises(InputError, match="name"):
        dialect.identifier(name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Type.DATE),
        (True, Type.BOOLEAN),
        (0, Type.INTEGER),
        (-(2**53), Type.INTEGER),
        (Fraction(1, 10), Type.NUMBER),
        (Fraction(-5e-324), Type.NUMBER),
        (Fraction(1.7976931348623157e308), Type.NUMBER),
        (Fraction(123456789012345678, 1000), Type.NUMBER),
        (date(1, 1, 1), Type.DATE),
        (date(9999, 12, 31), Type.DATE),
        (datetime(1, 1, 1, 0, 0, 0, 1), Type.TIMESTAMP),
    ],
)
def test_a_constant_comes_back_to_the_last_bit(value: Value, kind: Type) -> None:
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {DUCKDB.constant(value, kind)}").fetchone()
    assert found == (float(value) if isinstance(value, int | Fraction) and kind.numeric else value,)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_a_constant_of_another_type_is_refused(dialect: Dialect) -> None:
    for value, kind in ((1, Type.TEXT), ("1", Type.INTEGER), (True, Type.INTEGER), (datetime(2024, 1, 1), Type.DATE)):
        with pytest.raises(InputError, match="is no"):
            dialect.constant(value, kind)
    with pytest.raises(InputError, match="NUL"):
        dialect.constant("\0", Type.TEXT)
