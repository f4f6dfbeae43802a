"""What arrives from one device: a picture where the server is trusted, nothing where it is not."""

import pytest

from tacit.attack.together import SETTINGS, SUM, stage
from tacit.base import InputError


def test_pictures_arrive_where_the_server_is_trusted_and_nowhere_else() -> None:
    told: list[float] = []
    found = stage(devices=8, progress=told.append)
    assert told[-1] == 1
    assert found.undefended.success == 1
    recovered, errors = found.facts["recovered"], found.facts["mean squared error"]
    assert recovered[SETTINGS["central"]] == 1, "noise that a server adds is no protection from it"
    grey = found.facts["mean squared error of grey"]
    for words in (SETTINGS["local"], SETTINGS["distributed"], SUM):
        assert recovered[words] == 0
        assert errors[words] > 0.8 * grey
    assert found.defended.success == 0
    sigma = found.facts["sigma"]
    assert sigma["distributed"] * 8**0.5 == pytest.approx(sigma["central"], rel=1e-3)
    assert sigma["local"] == pytest.approx(sigma["central"], rel=1e-3)
    assert found.plot() is not None


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="devices"):
        stage(devices=1)
    with pytest.raises(InputError, match="above 0"):
        stage(epsilon=0)
