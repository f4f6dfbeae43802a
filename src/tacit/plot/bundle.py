"""What a browser needs to draw: Vega and Vega-Embed as one script, out of a package and not from elsewhere."""

import threading
from functools import cache

from tacit.base import TacitError

__all__ = ["script"]

_once = threading.Lock()


def script() -> bytes:
    """The script, which sets `window.vegaEmbed`; made once, in some seconds."""
    with _once:
        return _made()


@cache
def _made() -> bytes:
    try:
        import vl_convert
    except ImportError as missing:
        raise TacitError(f"charts need {missing.name}, which is not installed: pip install 'tacit[plot]'") from None
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()
