"""The chart of members found against false alarms."""

from tacit.plot.privacy import Line, roc


def test_every_line_and_bound_is_drawn_within_the_axes() -> None:
    lines = [
        Line("strong", [0.001, 1.0], [0.2, 1.0], defended=False),
        Line("weak", [0.001, 1.0], [0.0, 1.0], defended=True),
    ]
    spec = roc(lines, bounds={"most": ([0.001, 1.0], [0.002, 1.0])}, title=("Who?",)).to_dict()
    rows = next(iter(spec["datasets"].values()))
    assert {row["label"] for row in rows} == {"strong", "weak", "most", "guessing"}
    assert min(row["y"] for row in rows) == 0.001, "a logarithmic axis has no zero"
    colour = spec["layer"][0]["encoding"]["color"]["scale"]
    by_name = dict(zip(colour["domain"], colour["range"], strict=True))
    assert by_name["strong"] != by_name["weak"]
