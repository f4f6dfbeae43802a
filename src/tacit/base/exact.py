"""A true answer on its way to the noise: a box that shows nothing of what is in it.

Everything a program does to values without thinking (print, format, log, compare, copy, pickle, iterate, inspect)
either shows the constant text of the box or fails with one constant text. `opened` is for the release stage alone; a
test looks for every other use of it.
"""

from typing import Any, Generic, NoReturn, TypeVar
from weakref import finalize

__all__ = ["Exact"]

T = TypeVar("T", covariant=True)

CLOSED = "an exact answer is closed: only a release, which has paid for it and adds noise, opens it"

# Contents live apart from the boxes: vars(), dir() and a debugger's view of a box have nothing to show.
_contents: dict[int, Any] = {}


class Exact(Generic[T]):
    """An opaque box round a true answer."""

    __slots__ = ("__weakref__",)

    def __init__(self, value: T) -> None:
        _contents[id(self)] = value
        finalize(self, _contents.pop, id(self), None).atexit = False

    def __repr__(self) -> str:
        return "<Exact>"

    def __format__(self, spec: str) -> str:
        return "<Exact>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(CLOSED)

    def __dir__(self) -> list[str]:
        return []

    def _closed(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(CLOSED)

    __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _closed
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __call__ = __int__ = __float__ = __index__ = _closed
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _closed
    __sizeof__ = __array__ = __arrow_c_stream__ = __dataframe__ = _closed


def opened(exact: Exact[T]) -> T:
    """What is in the box. For the release stage, with a receipt in its hand, and for nobody else."""
    value: T = _contents[id(exact)]
    return value
