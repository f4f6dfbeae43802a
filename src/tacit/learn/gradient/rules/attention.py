"""Attention: torch's own function, run so that the tape sees the matrices inside it."""

from typing import Any

import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from tacit.learn.gradient.tape import Tape, rule, unguarded

__all__ = ["attention"]


INSIDE = unguarded(F.multi_head_attention_forward)


@rule(F.multi_head_attention_forward)
def attention(tape: Tape, *values: Any, **named: Any) -> Any:
    with tape:
        return INSIDE(*values, **named)
