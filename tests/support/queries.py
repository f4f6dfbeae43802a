"""A grammar of questions about the tables of `databases`, nearly all accepted: every aggregate, every source."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["COMBINED", "SOURCES", "queries"]

Draw = Any
SOURCES = ("visits", "rows", "patients", "joins")

COMBINED = (
    "SELECT ward, COUNT(*), SUM(cost) FROM visits WHERE patient_id IN (SELECT patient FROM treatments WHERE dose > 0) "
    "GROUP BY ward",
    "SELECT COUNT(*), AVG(cost) FROM visits WHERE patient_id NOT IN (SELECT patient FROM treatments)",
    "SELECT urgent, SUM(age) FROM visits v WHERE EXISTS (SELECT 1 FROM treatments t WHERE t.patient = v.patient_id AND "
    "t.drug = v.drug) OR note IS NULL GROUP BY urgent",
    "SELECT COUNT(*), MEDIAN(cost) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE floor > 1)",
    "SELECT ward, COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards) GROUP BY ward",
    "SELECT grade, COUNT(*) FROM staff WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = staff.ward) GROUP BY grade",
    "SELECT COUNT(*), SUM(x), COUNT(DISTINCT p) FROM (SELECT patient_id AS p, cost AS x FROM visits UNION ALL SELECT "
    "patient, dose FROM treatments) u",
    "SELECT k, COUNT(*) FROM (SELECT patient_id, ward AS k FROM visits UNION ALL SELECT patient, kind FROM treatments) "
    "u GROUP BY k",
    "SELECT ward, urgent, COUNT(*), SUM(cost), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP (ward, urgent)",
    "SELECT ward, level, AVG(cost), MEDIAN(age) FROM visits GROUP BY CUBE (ward, level)",
    "SELECT note, urgent, COUNT(*) FROM visits GROUP BY GROUPING SETS ((note), (urgent), ())",
    "SELECT grade, ward, COUNT(*), SUM(bonus) FROM staff GROUP BY ROLLUP (grade, ward)",
    "SELECT kind, drug, COUNT(*), COUNT(DISTINCT dose, max_values_per_unit => 2) FROM treatments GROUP BY CUBE "
    "(drug, kind)",
    "SELECT ward, COUNT(*), SUM(cost) FROM (SELECT patient_id, ward, cost, ROW_NUMBER() OVER (PARTITION BY patient_id "
    "ORDER BY cost DESC) AS n FROM visits) t WHERE n <= 2 GROUP BY ward",
    "SELECT COUNT(*), SUM(CLAMP(cost - before, -9, 9)) FROM (SELECT patient_id, cost, LAG(cost) OVER (PARTITION BY "
    "patient_id, ward ORDER BY day) AS before, COUNT(*) OVER (PARTITION BY patient_id) AS k, RANK() OVER (PARTITION BY "
    "patient_id ORDER BY note) AS r FROM visits) t WHERE k > 1 AND r < 4",
    "SELECT COUNT(*), AVG(cost) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id, urgent "
    "ORDER BY seen) = 1) t",
    "SELECT ward, COUNT(*) FROM visits v SEMI JOIN treatments t ON v.patient_id = t.patient AND dose > 0 GROUP BY ward",
    "SELECT COUNT(*) FROM visits v ANTI JOIN wards w ON v.ward = w.ward AND floor > 1",
    "SELECT DISTINCT ward FROM visits",
    "SELECT DISTINCT note, urgent FROM visits",
    "SELECT ward, SUM(DISTINCT age, max_values_per_unit => 3), COUNT(*) FROM visits GROUP BY ward",
    "SELECT SUM(DISTINCT change, max_values_per_unit => 2), AVG(DISTINCT cost, max_values_per_unit => 4) FROM visits",
    "SELECT STDDEV(DISTINCT CASE WHEN urgent THEN age END, max_values_per_unit => 2) FROM visits",
    "SELECT note, urgent, SUM(DISTINCT third, max_values_per_unit => 1) FROM visits GROUP BY ROLLUP (note, urgent)",
    "SELECT grade, SUM(DISTINCT bonus), VARIANCE(DISTINCT bonus) FROM staff GROUP BY grade",
    "SELECT ward, COUNT(*), SUM(CLAMP(s, 0, 900)), AVG(CLAMP(m, 0, 90)) FROM (SELECT ward, SUM(cost) OVER (PARTITION "
    "BY patient_id ORDER BY day) AS s, AVG(age) OVER (PARTITION BY patient_id ORDER BY day, seen ROWS BETWEEN 2 "
    "PRECEDING AND 1 PRECEDING) AS m FROM visits) t GROUP BY ward",
    "SELECT f, l, COUNT(*), SUM(n), SUM(c) FROM (SELECT FIRST_VALUE(ward) OVER (PARTITION BY patient_id ORDER BY day) "
    "AS f, LAST_VALUE(level) OVER (PARTITION BY patient_id ORDER BY note DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
    "FOLLOWING) AS l, COUNT(note) OVER (PARTITION BY patient_id ORDER BY day ROWS 1 PRECEDING) AS n, SUM(change) OVER "
    "(PARTITION BY patient_id ORDER BY cost ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS c FROM visits) t GROUP BY f, "
    "l",
    "SELECT COUNT(*), MEDIAN(x), SUM(CLAMP(q, 0, 4)) FROM (SELECT MAX(cost) OVER (PARTITION BY patient_id ORDER BY "
    "ward DESC) - MIN(cost) OVER (PARTITION BY patient_id ORDER BY ward, day ROWS UNBOUNDED PRECEDING) AS x, NTILE(3) "
    "OVER (PARTITION BY patient_id ORDER BY age) AS q, PERCENT_RANK() OVER (PARTITION BY patient_id ORDER BY age) AS "
    "p, CUME_DIST() OVER (PARTITION BY patient_id ORDER BY age) AS d FROM visits) t WHERE p <= 1 AND d > 0.2",
    "SELECT w, COUNT(*), SUM(CLAMP(s, 0, 900)), SUM(CLAMP(k, 0, 3)) FROM (SELECT patient_id, ward AS w, "
    "COUNT(DISTINCT note) AS k, SUM(CLAMP(SUM(cost), 0, 700)) OVER (PARTITION BY patient_id ORDER BY ward) AS s FROM "
    "visits GROUP BY patient_id, ward QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY COUNT(*) DESC) < 4) "
    "t GROUP BY w",
    "WITH a AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), b AS (SELECT grade, SUM(bonus) AS s FROM staff "
    "GROUP BY grade) SELECT n / s FROM a JOIN b ON n = s",
)
"""Questions over rows that are combined: matched, stacked, grouped several ways."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """What may stand in FROM, and what its columns are good for. `loose` numbers need bounds before they are added."""

    sql: str
    unit: str | None
    numbers: tuple[str, ...]
    loose: tuple[str, ...] = ()
    texts: tuple[str, ...] = ("'x'",)
    times: tuple[str, ...] = ("DATE '2024-01-05'",)
    truths: tuple[str, ...] = ("TRUE",)
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    ahead: str = ""  # WITH


OF_VISITS: dict[str, Any] = {
    "unit": "patient_id",
    "numbers": ("cost", "age", "change", "narrow", "third", "fixed", "small", "level", "v.drug"),
    "loose": ("weight", "LENGTH(note)", "TRY_CAST(note AS DOUBLE)"),
    "texts": ("ward", "note", '"Ward Name"', "LOWER(note)", "SUBSTR(note, 1, 1)", "ward || '-' || note"),
    "times": ("day", "seen", "DATE_TRUNC('month', day)", "day + INTERVAL 3 DAY", "DATE_TRUNC('day', seen)"),
    "truths": ("urgent", "ward = 'east'", "note LIKE '%a%'", "ward IN ('east', 'west')", "note IS NULL"),
    "known": ("ward", "urgent", "DATE_TRUNC('month', day)", "level", "age % 4", "EXTRACT(MONTH FROM seen)",
              "CASE WHEN cost > 100 THEN 'much' WHEN cost > 2 THEN 'some' END", "day"),
    "unknown": ("note", '"Ward Name"', "CAST(cost AS INTEGER)", "UPPER(note)", "weight", "seen"),
}  # fmt: skip
PER_PATIENT = (
    "COUNT(*) AS n, SUM(cost) AS total, AVG(age) AS mean, MIN(change) AS least, MAX(narrow) AS most, "
    "COUNT(note) AS said, SUM(change) FILTER (WHERE urgent) AS some, MIN(day) AS begun, MAX(ward) AS last"
)
OF_PATIENTS: dict[str, Any] = {
    "unit": "patient_id",
    "numbers": ("mean", "least", "most", "CLAMP(n, 0, 4)", "CLAMP(total, 0, 700)", "LEAST(GREATEST(some, -50), 20)"),
    "loose": ("n", "said", "total", "some"),
    "texts": ("last",),
    "times": ("begun",),
    "truths": ("n > 1", "total > 100", "some IS NULL"),
    "known": ("last", "CLAMP(n, 0, 2)", "n > 2", "DATE_TRUNC('month', begun)"),
    "unknown": ("n", "said", "total"),
}


def sources(where: str) -> dict[str, tuple[Source, ...]]:
    """By kind."""
    per_patient = f"SELECT patient_id, {PER_PATIENT} FROM visits v{where} GROUP BY patient_id"
    per_note = f"SELECT patient_id, note AS key, {PER_PATIENT} FROM visits v{where} GROUP BY 1, 2"
    per_kind = "SELECT patient, kind AS key, COUNT(*) AS n, AVG(dose) AS mean, SUM(dose) AS total FROM treatments t"
    visits = Source(sql="visits v", **OF_VISITS)
    staff = Source(
        sql="staff",
        unit=None,
        numbers=("salary", "bonus", "grade"),
        loose=("LENGTH(title)",),
        texts=("ward", "title"),
        truths=("bonus > 0", "ward = 'east'"),
        known=("ward", "grade", "salary > 100"),
        unknown=("title", "salary"),
    )
    treatments = Source(
        sql="treatments t",
        unit="patient",
        numbers=("dose", "t.drug"),
        texts=("kind",),
        truths=("dose > 0", "kind IS NULL"),
        known=("t.drug", "dose > 0", "t.drug % 3"),
        unknown=("kind", "dose"),
    )
    both: dict[str, Any] = {
        **OF_VISITS,
        "numbers": (*OF_VISITS["numbers"], "dose"),
        "unknown": (*OF_VISITS["unknown"], "kind"),
    }
    floors: dict[str, Any] = {
        **OF_VISITS,
        "numbers": (*OF_VISITS["numbers"], "floor"),
        "known": ("v.ward", "floor", "urgent"),
    }
    floors |= {"texts": ("city", "v.ward"), "truths": ("city = 'X'", "floor > 1"), "unknown": ("city", "note")}
    priced: dict[str, Any] = {
        "numbers": ("dose", "price", "dose * price", "d.drug"),
        "known": ("d.drug",),
        "unknown": ("family",),
    }
    return {
        "visits": (
            visits,
            visits,
            Source(sql=f"(SELECT * FROM visits v{where}) v", **OF_VISITS),
            Source(sql="(SELECT DISTINCT patient_id, ward, level, cost FROM visits) s", unit="patient_id",
                   numbers=("cost", "level"), known=("ward", "level"), unknown=("cost",)),
        ),
        "rows": (staff, treatments),
        "patients": (
            Source(sql=f"({per_patient}) p", **OF_PATIENTS),
            Source(sql="p", ahead=f"WITH p AS ({per_patient}) ", **OF_PATIENTS),
            Source(sql=f"({per_note}) p", **{**OF_PATIENTS, "unknown": ("key", "n")}),
            Source(sql=f"({per_kind} GROUP BY 1, 2) k", unit="patient",
                   numbers=("mean", "CLAMP(n, 0, 2)", "CLAMP(total, -9, 90)"), texts=("key",), known=("n > 1",),
                   unknown=("key",)),
        ),
        "joins": (
            Source(sql="visits v JOIN treatments t ON v.patient_id = t.patient", **{**both, "unit": "v.patient_id"}),
            Source(sql="visits v LEFT JOIN treatments t ON patient_id = patient AND v.drug = t.drug", **both),
            Source(sql="visits v JOIN wards w ON v.ward = w.ward", **floors),
            Source(sql="visits v LEFT JOIN wards w ON w.ward = v.ward AND floor > 1", **floors),
            Source(sql="treatments t JOIN drugs d ON t.drug = d.drug", unit="patient", **priced),
            Source(sql="treatments t LEFT JOIN drugs d ON t.drug = d.drug", unit="patient", **priced),
            Source(sql=f"(SELECT patient_id AS who, cost, ward FROM visits) c JOIN ({per_patient}) ON who = patient_id",
                   **{**OF_PATIENTS, "numbers": ("cost", "mean", "cost - least"), "known": ("ward", "n > 1")}),
        ),
    }  # fmt: skip


AGGREGATES = (
    "COUNT(*)",
    "COUNT({x})",
    "COUNT({text})",
    "SUM({x})",
    "SUM({x})",
    "AVG({x})",
    "AVG({x})",
    "VARIANCE({x})",
    "VAR_POP({x})",
    "STDDEV({x})",
    "STDDEV_POP({x})",
    "MIN({x})",
    "MAX({x})",
    "MEDIAN({x})",
    "QUANTILE_CONT({x}, 0.3)",
    "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY {x})",
    "APPROX_QUANTILES({x}, 3)",
    "COVAR_POP({x}, {y})",
    "COVAR_SAMP({x}, {y})",
    "CORR({x}, {y})",
    "COUNT(DISTINCT {unit})",
    "COUNT(DISTINCT {unit}) FILTER (WHERE {truth})",
    "COUNT(DISTINCT {text}, max_values_per_unit => 2)",
    "COUNT(DISTINCT {x}, max_values_per_unit => 4)",
    "COUNT_IF({truth})",
    "SUM({x}) FILTER (WHERE {truth})",
    "SUM({x}, contribution_bounds_per_group => (-3, 10))",
    "AVG({x}, contribution_bounds_per_row => (-1, 2))",
    "MODE({known})",
    "HISTOGRAM({known})",
    "HISTOGRAM({x}, 4)",
    "MEDIAN({time})",
    "MAX({time})",
)


class _Writer:
    """Writes one query with the choices that hypothesis draws."""

    def __init__(self, draw: Draw, kind: str) -> None:
        self.draw = draw
        self.source = sources("")["visits"][0]
        where = f" WHERE {self.truth(1)}" if self.chance(3) else ""
        self.source = draw(st.sampled_from(sources(where)[kind]))

    def one(self, choices: tuple[str, ...]) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(1, of)) == of)

    def number(self, deep: int = 1) -> str:
        """With bounds, nearly always."""
        if not deep or not self.chance(3):
            return self.one(self.source.numbers)
        a, b = self.number(deep - 1), self.number(deep - 1)
        loose = self.one(self.source.loose or self.source.numbers)
        forms = (
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"CLAMP({a} / {b}, -10, 30)",
            f"CLAMP({loose}, -5, 9)",
            f"CLAMP({loose} * {a}, 0, 1000000)",
            f"ABS({a})",
            f"-({a})",
            f"ROUND({a}, 1)",
            f"FLOOR({a})",
            f"CASE WHEN {self.truth(deep - 1)} THEN {a} ELSE {b} END",
            f"CASE WHEN {self.truth(deep - 1)} THEN {a} END",
            f"COALESCE({a}, {b})",
            f"COALESCE({a}, 3)",
            f"GREATEST({a}, {b})",
            f"CLAMP(SQRT({a}), 0, 50)",
            f"CLAMP(LN({a}), -5, 5)",
            f"CAST({a} AS INTEGER)",
            f"NULLIF({a}, {b})",
            f"POWER({a}, 2)",
            f"{a} * 1e-20",
            f"{a} * 1e20",
            f"{a} * 0",
            f"{a} + 1e12",
            f"EXTRACT(DAY FROM {self.one(self.source.times)})",
            f"DATE_DIFF('day', DATE '2024-01-01', CAST({self.one(self.source.times)} AS DATE))",
            "1",
            "-2.5",
        )
        return self.one(forms)

    def truth(self, deep: int = 1) -> str:
        if not deep:
            return self.one(self.source.truths)
        sign = self.one(("<", ">", "=", "<>", ">="))
        forms = (
            f"{self.number(0)} {sign} {self.number(0)}",
            f"{self.number(1)} {sign} 3",
            f"{self.one(self.source.texts)} {sign} {self.one(self.source.texts)}",
            f"{self.number(0)} BETWEEN 1 AND 5",
            f"{self.one(self.source.times)} >= DATE '2024-01-01'",
            f"({self.truth(0)} {self.one(('AND', 'OR'))} {self.truth(0)})",
            f"NOT ({self.truth(0)})",
            f"{self.number(0)} IS NOT NULL",
            self.truth(0),
        )
        return self.one(forms)

    def aggregate(self) -> str:
        form = self.one(AGGREGATES)
        if "{unit}" in form and self.source.unit is None:
            form = "COUNT(*)"
        return form.format(
            x=self.number(),
            y=self.number(),
            text=self.one(self.source.texts),
            unit=self.source.unit,
            truth=self.truth(),
            known=self.one(self.source.known or ("TRUE",)),
            time=self.one(self.source.times),
        )

    def keys(self) -> list[str]:
        if self.chance(3):
            return []
        known, unknown = self.source.known, self.source.unknown
        count = 2 if self.chance(4) else 1
        return [self.one(unknown if unknown and self.chance(3) else known) for _ in range(count)]

    def select(self) -> str:
        keys = self.keys()
        aggregates = [self.aggregate() for _ in range(self.draw(st.integers(1, 3)))]
        where = f" WHERE {self.truth()}" if self.chance(3) else ""
        group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        said = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2)" if self.chance(5) else "SELECT"
        return f"{self.source.ahead}{said} {', '.join((*keys, *aggregates))} FROM {self.source.sql}{where}{group}"


@st.composite
def queries(draw: Draw, kind: str | None = None) -> str:
    """A query of the grammar, over one kind of source; a few are refused, since types or names do not fit."""
    return _Writer(draw, kind or draw(st.sampled_from(SOURCES))).select()
