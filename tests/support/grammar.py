"""A grammar of questions for hypothesis: mostly what is supported, sometimes what is forbidden, and it says which."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["Written", "questions", "soups"]

Draw = Any
KEPT = 'patient_id, ward, note, "Ward Name", day, seen, urgent, age, drug, weight'
NUMBERS = ("cost", "age", "drug", "weight")
COLUMNS = {
    "number": NUMBERS,
    "text": ("ward", "note", '"Ward Name"'),
    "date": ("day", "seen"),
    "truth": ("urgent",),
}
FORBIDDEN = (
    "(SELECT MAX(cost) FROM visits)",
    "RANDOM()",
    "NOW()",
    "SUM(cost) OVER ()",
    "leak(age)",
    "salary",
    "ANY_VALUE(age)",
    "age & 1",
    "[age, cost]",
    "photo",
    "ROW_NUMBER() OVER ()",
    "UUID()",
    "EXISTS (SELECT 1 FROM wards)",
    "CURRENT_DATE",
)
TABLES = (
    "visits v JOIN treatments t ON v.drug = t.drug",
    "'x.parquet'",
    "visits, treatments",
    "staff JOIN wards USING (ward)",
    "wards LEFT JOIN visits USING (ward)",
    "(SELECT * FROM visits LIMIT 3) t",
    "visits TABLESAMPLE 10%",
)
ENDINGS = (" LIMIT 5%", " FOR UPDATE", "; SELECT 1", " UNION SELECT 1", " OFFSET -1")
AGGREGATES = (
    "COUNT(*)",
    "COUNT({})",
    "SUM({})",
    "AVG({})",
    "MIN({})",
    "MAX({})",
    "MEDIAN({})",
    "VARIANCE({})",
    "STDDEV_POP({})",
    "QUANTILE_CONT({}, 0.3)",
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {})",
    "CORR(age, {})",
    "COVAR_POP({}, cost)",
    "COUNT(DISTINCT patient_id)",
    "COUNT(DISTINCT {})",
    "COUNT_IF({} > 3)",
    "SUM({}) FILTER (WHERE urgent)",
    "SUM({}, contribution_bounds_per_group => (0, 10))",
)
UNIT_AGGREGATES = ("COUNT(*)", "SUM(cost)", "AVG({})", "MIN({})", "MAX({})", "COUNT({})", "SUM(CLAMP({}, 0, 9))")


@dataclass
class Written:
    """A query, and whether something forbidden went into it."""

    sql: str
    forbidden: bool = False


class _Writer:
    """Writes one query with the choices that hypothesis draws."""

    def __init__(self, draw: Draw, forbid: bool) -> None:
        self.draw, self.forbid = draw, forbid

    def one(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(1, of)) == 1)

    def number(self, deep: int = 2) -> str:
        if self.forbid and self.chance(8):
            return self.one(*FORBIDDEN)
        if deep == 0 or self.chance(3):
            return self.one(*NUMBERS, "1", "2.5", "-3", "0", "1e6")
        a, b = self.number(deep - 1), self.number(deep - 1)
        forms = (
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} / {b})",
            f"ABS({a})",
            f"-({a})",
            f"ROUND({a}, 1)",
            f"FLOOR({a})",
            f"CASE WHEN {self.truth(deep - 1)} THEN {a} ELSE {b} END",
            f"COALESCE({a}, {b})",
            f"LEAST({a}, {b})",
            f"CLAMP({a}, 0, 10)",
            f"SQRT({a})",
            f"LN({a})",
            f"LENGTH({self.text(deep - 1)})",
            f"YEAR({self.moment()})",
            f"EXTRACT(MONTH FROM {self.moment()})",
            f"CAST({a} AS INTEGER)",
            f"NULLIF({a}, {b})",
            f"POWER({a}, 2)",
            f"IF({self.truth(deep - 1)}, {a}, {b})",
            f"TRY_CAST({self.text(deep - 1)} AS DOUBLE)",
        )
        return self.one(*forms)

    def text(self, deep: int = 1) -> str:
        base = self.one(*COLUMNS["text"], "'east'", "'it''s'", "''")
        if deep == 0:
            return base
        forms = (
            base,
            f"LOWER({base})",
            f"SUBSTR({base}, 1, 3)",
            f"TRIM({base})",
            f"{base} || 'x'",
            f"CONCAT({base}, 'y')",
        )
        return self.one(*forms)

    def moment(self) -> str:
        base = self.one(*COLUMNS["date"])
        return self.one(base, f"DATE_TRUNC('month', {base})", f"{base} + INTERVAL 3 DAY", "DATE '2024-02-03'")

    def truth(self, deep: int = 2) -> str:
        if deep == 0:
            return self.one("urgent", "urgent IS NULL", "TRUE", "NOT urgent")
        forms = (
            f"{self.number(deep - 1)} {self.one('<', '>', '=', '<>', '>=')} {self.number(deep - 1)}",
            f"{self.text(deep - 1)} = {self.text(deep - 1)}",
            f"{self.text(deep - 1)} LIKE 'a%'",
            "ward IN ('east', 'west')",
            f"{self.number(0)} BETWEEN 1 AND 5",
            f"{self.moment()} >= DATE '2024-01-01'",
            f"({self.truth(deep - 1)} {self.one('AND', 'OR')} {self.truth(deep - 1)})",
            f"NOT ({self.truth(deep - 1)})",
            f"{self.text(deep - 1)} IS NOT NULL",
        )
        return self.one(*forms)

    def source(self) -> str:
        if self.forbid and self.chance(10):
            return self.one(*TABLES)
        where = f" WHERE {self.truth(1)}" if self.chance(2) else ""
        aggregate = self.one(*UNIT_AGGREGATES).format(self.number(1))
        return self.one(
            "visits",
            "visits v",
            f"(SELECT * FROM visits{where}) t",
            "visits v JOIN (SELECT patient, dose FROM treatments) t ON v.patient_id = t.patient",
            "visits LEFT JOIN (SELECT ward AS w, floor FROM wards) w ON ward = w.w",
            "(SELECT *, cost * 2 AS double FROM visits) t",
            f"(SELECT {KEPT}, {aggregate} AS cost FROM visits{where} GROUP BY {KEPT}) t",
        )

    def select(self) -> str:
        source = self.source()
        keys = [
            self.one(
                "ward",
                "urgent",
                "DATE_TRUNC('month', day)",
                "note",
                "age % 7",
                "CASE WHEN age > 9 THEN 'a' ELSE 'b' END",
            )
        ]
        keys = keys if self.chance(2) else []
        aggregates = [self.one(*AGGREGATES).format(self.number(1)) for _ in range(self.draw(st.integers(1, 3)))]
        items = [*keys, *aggregates, *([f"{aggregates[0]} / ({aggregates[-1]})"] if self.chance(3) else [])]
        named = [
            f"{item} AS {self.one('a', 'B', 'c_1')}{i}" if self.chance(2) else item for i, item in enumerate(items)
        ]
        where = f" WHERE {self.truth()}" if self.chance(2) else ""
        group = f" GROUP BY {self.one(keys[0], '1')}" if keys else ""
        having = f" HAVING {aggregates[0]} > 10" if self.chance(3) else ""
        order = (
            f" ORDER BY {self.one('1', aggregates[0])}{self.one('', ' DESC', ' NULLS FIRST')}" if self.chance(3) else ""
        )
        limit = f" LIMIT {self.draw(st.integers(0, 100))}" if self.chance(4) else ""
        if self.forbid and self.chance(10):
            limit = self.one(" LIMIT 5%", " FOR UPDATE", "; SELECT 1", " UNION SELECT 1", " OFFSET -1")
        return f"SELECT {', '.join(named)} FROM {source}{where}{group}{having}{order}{limit}"


@st.composite
def questions(draw: Draw, forbid: bool = False) -> Written:
    """A query of the grammar. Without `forbid` nothing in it is forbidden as such (types may still not fit)."""
    writer = _Writer(draw, forbid)
    sql = writer.select()
    return Written(sql, any(piece in sql for piece in (*FORBIDDEN, *TABLES, *ENDINGS)))


WORDS = [
    "SELECT",
    "FROM",
    "visits",
    "v",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "WITH",
    "a",
    "AS",
    "(",
    ")",
    ",",
    "*",
    "COUNT(*)",
    "SUM(",
    "cost",
    "ward",
    "patient_id",
    "JOIN",
    "LEFT",
    "ON",
    "USING",
    "=",
    "<",
    "+",
    "-",
    "/",
    "||",
    "1",
    "0.5",
    "'x'",
    '"ward"',
    "NULL",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "DISTINCT",
    "OVER",
    "FILTER",
    "UNION",
    "ALL",
    ";",
    "--",
    "/*",
    "*/",
    "$1",
    "?",
    "::",
    "INT",
    "CAST(",
    "DATE",
    "INTERVAL",
    "DAY",
    "=>",
    "OPTIONS",
    "DIFFERENTIAL_PRIVACY",
    "epsilon",
    "[",
    "]",
    "{",
    "}",
    ".",
    "\\",
    "`",
    "contribution_bounds_per_group",
    "EXISTS",
    "treatments",
    "wards",
    "LATERAL",
    "PIVOT",
    "@",
    "#",
    ":",
    "->",
    "MEDIAN(",
    "\n",
]


def soups() -> st.SearchStrategy[str]:
    """Words of SQL in no order, which begin like a query."""
    words = st.lists(st.sampled_from(WORDS), max_size=30)
    begin = st.sampled_from(
        ("SELECT ", "WITH ", "SELECT COUNT(*) FROM visits ", "SELECT COUNT(*) FROM visits WHERE ", "")
    )
    return st.tuples(begin, words).map(lambda pair: pair[0] + " ".join(pair[1]))
