"""The picture of one question in three models of trust."""

from fractions import Fraction

from tacit.plot.surveys import models
from tacit.survey.plan import Beside


def test_three_lines_over_respondents() -> None:
    rows = [Beside(10**i, 1 / 10**i, 2 / 10**i, 3 / 10 ** (i / 2), Fraction(i)) for i in (2, 3, 4)]
    spec = models(rows, title=("A question",)).to_dict()
    drawn = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["layer"][0]["data"]["values"]
    assert len(drawn) == 9
    assert {row["label"].split(":")[0] for row in drawn} == {"local", "shuffled", "central"}
    worst = max(drawn, key=lambda row: float(row["points"]))
    assert worst == {"label": "local: nobody is trusted", "respondents": 100, "points": 30.0}
    encoding = spec["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["type"] == encoding["y"]["scale"]["type"] == "log"
