"""Most people are found by a few ratings, strangers are not, and nobody is from tacit's averages."""

from tacit.attack.sparse import stage


def test_records_are_found_among_rows_and_not_in_private_averages() -> None:
    shares: list[float] = []
    found = stage(people=2000, items=1000, targets=100, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert found.undefended.low > 0.8
    assert found.facts["release"][0] < found.facts["release"][-1]
    assert found.facts["false_alarms"]["release"] <= 8
    assert found.facts["private"] == [0, 0, 0, 0]
    luck = found.facts["popular"]
    assert abs(luck["inside"] - luck["outside"]) < 0.06  # what is popular is so with everybody
