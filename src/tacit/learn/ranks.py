"""Several processes, one training: each clips what it holds, one draws the noise.

Rank 0 pays, draws the noise and saves. The others hold rows of their own, toss their own coins and add their clipped
sums, so the law and the price are those of one process with all rows. Units must not be split over ranks.
docs/decisions/0020-training.md has the design for many machines.
"""

from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.learn.need import need_torch

__all__ = ["Ranks"]

END = -1


class Ranks:
    """The processes of `torch.distributed`, which is to be set up already."""

    def __init__(self) -> None:
        dist = need_torch().distributed
        if not (dist.is_available() and dist.is_initialized()):
            raise InputError("torch.distributed is not set up: call init_process_group first, with gloo on processors")
        self._dist = dist
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.first = self.rank == 0

    def begin(self, model: Any) -> None:
        """All start from rank 0's weights, when it has paid."""
        for each in model.state_dict().values():
            self._dist.broadcast(each, 0)

    def start(self, step: int) -> None:
        """Nobody begins a step that rank 0 has not reserved."""
        told = self._told(step)
        if told != step:
            raise InputError(f"rank {self.rank} is at step {step}, and rank 0 at {told}: all run the same loop")

    def end(self) -> None:
        """No more steps."""
        self._told(END)

    def _told(self, value: int) -> int:
        told = need_torch().tensor([value], dtype=need_torch().int64)
        self._dist.broadcast(told, 0)
        return int(told)

    def add_up(self, vector: Any) -> Any:
        """The sum over all ranks, on rank 0; what others are left with is theirs."""
        total = need_torch().from_numpy(np.array(vector, dtype=np.float64))  # one may have added up in single precision
        self._dist.reduce(total, 0)
        return total.numpy()

    def share(self, noisy: Any) -> Any:
        """Rank 0's noisy vector, for all."""
        told = need_torch().from_numpy(np.array(noisy, dtype=np.float64))
        self._dist.broadcast(told, 0)
        return told.numpy()
