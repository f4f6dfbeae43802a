"""The risk report on a copy and on a table drawn from tacit's counts."""

from tacit.attack.risk import stage


def test_the_copy_is_risky_and_the_private_table_is_not() -> None:
    shares: list[float] = []
    found = stage(count=1000, attempts=250, progress=shares.append)
    assert shares == [1 / 3, 2 / 3, 1.0]
    copy, loose, private = list(found.facts.values())[3:]
    for kind in ("singling out", "linking", "inferring"):
        assert copy[kind][1] > 0.9
        for other in (loose, private):
            assert other[kind][2] < 0.3
            assert other[kind][1] <= 0.02
    assert found.defended.high < found.undefended.low
