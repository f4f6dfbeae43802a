"""The same ± before an answer and on it."""

import re
from typing import Any

import pyarrow as pa
import pytest

from tacit.session.single import OneTable

TABLE = pa.table(
    {"who": [n // 3 for n in range(3000)], "kind": ["a", "b", "c"] * 1000, "x": [n % 40 for n in range(3000)]}
)
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM data",
    "SELECT kind, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM data GROUP BY kind",
    "SELECT COUNT(DISTINCT who) AS n FROM data",
    "SELECT SUM(x) AS s FROM data WHERE x > 3",
]


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("offer", [{"epsilon": 0.3}, {"epsilon": 2}, {"rho": 0.05}])
def test_a_quote_and_its_answer_have_the_same_margin(sql: str, offer: dict[str, Any]) -> None:
    one = OneTable(
        data=TABLE.slice(0),  # a budget of its own
        unit_column="who",
        bounds={"x": (0, 50)},
        group_keys={"kind": ["a", "b", "c"]},
        clip_rows=3,
        currency="rho" if "rho" in offer else "epsilon",  # type: ignore[arg-type]  # its words are the same
        budget=100,
    )
    with one.session() as session:
        quoted = session.quote(sql, **offer)
        answer = session.ask(sql, **offer)
    told = {line.column: line.words for line in quoted.expected if line.error is not None}
    assert told
    names = answer.table.column_names
    for row in answer.cells():
        for name, cell in zip(names, row, strict=True):
            if name in told and not cell.startswith(("0 ", "-")):  # one that was cut at zero has a shorter side
                assert re.search("± [^ ]*", cell)[0] == told[name], (sql, offer)  # type: ignore[index]  # it is there
