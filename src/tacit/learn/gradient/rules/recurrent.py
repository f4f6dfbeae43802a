"""LSTM and GRU, unrolled: torch's kernels hide the steps, in which the same matrices are used again and again."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor

from tacit.base import InputError
from tacit.learn.gradient.tape import Tape, rule

__all__ = ["STEPS"]


def _lstm_step(enter: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Any) -> tuple[Tensor, ...]:
    hidden, cell = state
    into, forget, new, out = (enter + F.linear(hidden, weight, bias)).chunk(4, 1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell


def _gru_step(enter: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Any) -> tuple[Tensor, ...]:
    (hidden,) = state
    reset, update, new = enter.chunk(3, 1)
    reset_by, update_by, new_by = F.linear(hidden, weight, bias).chunk(3, 1)
    update = torch.sigmoid(update + update_by)
    fresh = torch.tanh(new + torch.sigmoid(reset + reset_by) * new_by)
    return ((1 - update) * fresh + update * hidden,)


def _tanh_step(enter: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Any) -> tuple[Tensor, ...]:
    return (torch.tanh(enter + F.linear(state[0], weight, bias)),)


def _relu_step(enter: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Any) -> tuple[Tensor, ...]:
    return (torch.relu(enter + F.linear(state[0], weight, bias)),)


STEPS = {torch.lstm: _lstm_step, torch.gru: _gru_step, torch.rnn_tanh: _tanh_step, torch.rnn_relu: _relu_step}


def _unrolled(
    tape: Tape,
    step: Any,
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    if len(weights) != each * directions * num_layers:
        raise InputError("a recurrent layer with proj_size is not taken apart: leave it out, and put nn.Linear behind")
    ends: list[tuple[Tensor, ...]] = []
    with tape:
        here = x if batch_first else x.transpose(0, 1)
        for layer in range(num_layers):
            outs = []
            for direction in range(directions):
                number = layer * directions + direction
                enter_by, weight, *biases = weights[number * each : (number + 1) * each]
                enter_bias, bias = biases or (None, None)
                entered = F.linear(here, enter_by, enter_bias).unbind(1)
                state = tuple(each[number] for each in states)
                out = []
                for one in reversed(entered) if direction else entered:
                    state = step(one, state, weight, bias)
                    out.append(state[0])
                outs.append(torch.stack(out[::-1] if direction else out, 1))
                ends.append(state)
            here = torch.cat(outs, 2) if bidirectional else outs[0]
            if dropout and train and layer + 1 < num_layers:
                here = F.dropout(here, dropout)
        last = tuple(torch.stack(each) for each in zip(*ends, strict=True))
        return (here if batch_first else here.transpose(0, 1), *last)


def _register(function: Any, step: Any) -> None:
    @rule(function)
    def recurrent(tape: Tape, x: Tensor, states: Any, weights: Any, *rest: Any) -> Any:
        """`x` with its lengths beside it is a packed sequence, which is left alone, as are frozen weights."""
        if isinstance(weights, Tensor) or x.dim() != 3 or all(tape.number(each) is None for each in weights):
            return NotImplemented
        return _unrolled(tape, step, x, (states,) if isinstance(states, Tensor) else states, weights, *rest)


for each, how in STEPS.items():
    _register(each, how)
