"""A property that is computed once for each object, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["cached_property"]

T = TypeVar("T", covariant=True)


class cached_property(Generic[T]):  # noqa: N801 - takes the place of the standard library's, under its name
    """Computed at the first access and then kept in the object's `__dict__`, which Python looks in first.

    That of `functools` in Python 3.11 computes under a lock of the class. A process that forks while another of its
    threads holds it leaves its child with a lock that nobody will open. Here, as in Python 3.12, two threads may both
    compute the value: it must depend on the object alone.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = vars(instance)[self.name] = self.compute(instance)
        return value
