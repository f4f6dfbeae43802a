"""What options stand for."""

import pytest

from tacit.base import TacitError
from tacit.cli.options import server_extra


def test_an_extra_that_is_not_installed_is_named_with_the_remedy() -> None:
    told = r"^serving needs fastapi, .* not installed: pip install 'tacit\[server\]'$"
    with pytest.raises(TacitError, match=told), server_extra():
        raise ImportError(name="fastapi")
