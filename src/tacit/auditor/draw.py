"""Many outputs of anything: a mechanism of the product, a vectorised function, or one called again and again."""

import inspect
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np

from tacit.auditor.outputs import Outputs
from tacit.base import InputError, whole
from tacit.mechanism import Mechanism
from tacit.mechanism.additive import Additive
from tacit.noise import Rng

__all__ = ["OutputSource", "opened_source"]

CHUNK = 1 << 16
HEAD = 64  # outputs compared to notice that a batch came twice
DISTINCT = 8  # so many different outputs among them do not repeat in order by chance

Draw = Callable[[Any, int], Any]


class Repeat:
    """`size` outputs of a mechanism, or of a function of the data alone. A class, to be sent to other processes."""

    def __init__(self, target: Mechanism | Callable[..., Any], rng: Rng | None) -> None:
        self._target, self._rng = target, rng

    def __call__(self, data: Any, size: int) -> Any:
        target = self._target
        if isinstance(target, Additive):
            each = np.asarray(data)
            if each.dtype.kind in "iu" and target.lattice.granularity != 1 and np.abs(each).max(initial=0) < 2**52:
                each = each.astype(float)  # the same numbers, and a fine lattice reads an array of doubles faster
            return target.sample(np.broadcast_to(each, (size, *each.shape)).copy(), self._rng)
        if isinstance(target, Mechanism):
            return [target.sample(data, self._rng) for _ in range(size)]
        return [target(data) for _ in range(size)]


class Sized:
    """A vectorised function: `target(data, size=…)` returns so many outputs."""

    def __init__(self, target: Callable[..., Any]) -> None:
        self._target = target

    def __call__(self, data: Any, size: int) -> Any:
        batch = self._target(data, size=size)
        try:
            count = len(batch)
        except TypeError:
            raise InputError(
                f"{_name(self._target)} takes size, so it must return that many outputs, not {type(batch).__name__}"
            ) from None
        if count != size:
            raise InputError(f"{_name(self._target)} was asked for {size} outputs and returned {count}")
        return batch


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))


def _drawn(draw: Draw, data: Any, size: int) -> Outputs:
    return Outputs.of(draw(data, size))


class OutputSource:
    """Draws outputs, in other processes where there are several, and notices noise that repeats itself."""

    def __init__(self, draw: Draw, name: str, pool: ProcessPoolExecutor | None, workers: int) -> None:
        self._draw, self._name, self._pool, self._workers = draw, name, pool, workers
        self._heads: set[bytes] = set()

    def batches(self, data: Any, size: int) -> Iterator[Outputs]:
        """`size` fresh outputs, in pieces."""
        piece = CHUNK if self._pool is None else max(HEAD, min(CHUNK, -(-size // self._workers)))
        sizes = [min(piece, size - start) for start in range(0, size, piece)]
        if self._pool is None:
            drawn: Iterator[Outputs] = (_drawn(self._draw, data, count) for count in sizes)
        else:
            drawn = self._pool.map(_drawn, [self._draw] * len(sizes), [data] * len(sizes), sizes)
        for batch in drawn:
            self._refuse_repeats(batch)
            yield batch

    def outputs(self, data: Any, size: int) -> Outputs:
        """`size` fresh outputs."""
        return Outputs.joined(self.batches(data, size))

    def _refuse_repeats(self, batch: Outputs) -> None:
        if len(batch) < HEAD:
            return
        head = batch.part(slice(HEAD))
        rows = [(head.shapes[kind], row.tobytes()) for kind, row in zip(head.kinds.tolist(), head.numbers, strict=True)]
        mark = repr(rows).encode()
        if mark in self._heads and len(set(rows)) >= DISTINCT:
            raise InputError(
                f"{self._name} gave the same {HEAD} outputs twice: its random source has a fixed seed, or a copy of it "
                "in every process. An audit needs independent outputs: draw fresh randomness in each call"
            )
        self._heads.add(mark)


@contextmanager
def opened_source(target: Mechanism | Callable[..., Any], *, workers: int, rng: Rng | None) -> Iterator[OutputSource]:
    """A source of outputs of `target`, with as many processes as `workers` says."""
    count = whole(workers, "workers", least=1)
    draw: Draw = Repeat(target, rng)
    if not isinstance(target, Mechanism) and _takes_size(target):
        draw = Sized(target)
    if count == 1:
        yield OutputSource(draw, _name(target), None, 1)
        return
    if rng is not None:
        raise InputError("workers must be 1 when rng is given: a random source cannot be shared between processes")
    try:
        pickle.dumps(draw)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"{_name(target)} cannot be sent to other processes: define it at the top of a module, or pass workers=1"
        ) from error
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield OutputSource(draw, _name(target), pool, count)


def _takes_size(target: Callable[..., Any]) -> bool:
    try:
        return "size" in inspect.signature(target).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
