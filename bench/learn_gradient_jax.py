"""One cell of `bench.learn_gradient` in JAX: a plain step, or one of JAX Privacy with noise, jitted, on one processor.

Run by an interpreter that has jax-privacy: python learn_gradient_jax.py jax|jax-plain mlp|cnn|text rows
"""

import json
import os
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import jax
import jax.numpy as jnp
import jax_privacy
import numpy as np

SECONDS = 1.0
MICRO = 8  # examples at a time; the MLP at 64 took 33 ms so, 110 ms with 32, and 5 s all at once


def dense(rng: Any, inputs: int, outputs: int) -> dict[str, Any]:
    weight = rng.normal(size=(inputs, outputs)) / np.sqrt(inputs)
    return {"w": jnp.asarray(weight, jnp.float32), "b": jnp.zeros(outputs)}


def put(layer: dict[str, Any], x: Any) -> Any:
    return x @ layer["w"] + layer["b"]


def mlp(rng: Any) -> tuple[Any, Any]:
    layers = [dense(rng, 784, 512), dense(rng, 512, 256), dense(rng, 256, 10)]
    return layers, lambda p, x: put(p[2], jax.nn.relu(put(p[1], jax.nn.relu(put(p[0], x)))))


def cnn(rng: Any) -> tuple[Any, Any]:
    def kernel(inputs: int, outputs: int) -> dict[str, Any]:
        drawn = rng.normal(size=(3, 3, inputs, outputs)) / np.sqrt(9 * inputs)
        return {"w": jnp.asarray(drawn, jnp.float32), "b": jnp.zeros(outputs)}

    def run(p: Any, x: Any) -> Any:
        for layer in p[:2]:
            out = jax.lax.conv_general_dilated(
                x, layer["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(out + layer["b"])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return put(p[2], x.reshape(len(x), -1))

    return [kernel(1, 16), kernel(16, 32), dense(rng, 1568, 10)], run


def text(rng: Any) -> tuple[Any, Any]:
    width, heads = 64, 4
    p = {
        "words": jnp.asarray(rng.normal(size=(2000, width)), jnp.float32),
        "place": jnp.asarray(rng.normal(size=(32, width)), jnp.float32),
        "qkv": dense(rng, width, 3 * width),
        "mix": dense(rng, width, width),
        "up": dense(rng, width, 2 * width),
        "down": dense(rng, 2 * width, width),
        "out": dense(rng, width, 4),
        "norms": [{"w": jnp.ones(width), "b": jnp.zeros(width)} for _ in range(2)],
    }

    def norm(layer: Any, x: Any) -> Any:
        off = x - x.mean(-1, keepdims=True)
        return off / jnp.sqrt((off**2).mean(-1, keepdims=True) + 1e-5) * layer["w"] + layer["b"]

    def run(p: Any, x: Any) -> Any:
        h = p["words"][x] + p["place"]
        q, k, v = (each.reshape(*each.shape[:2], heads, -1) for each in jnp.split(put(p["qkv"], h), 3, -1))
        weight = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(width / heads), -1)
        mixed = jnp.einsum("bhts,bshd->bthd", weight, v).reshape(h.shape)
        h = norm(p["norms"][0], h + put(p["mix"], mixed))
        h = norm(p["norms"][1], h + put(p["down"], jax.nn.relu(put(p["up"], h))))
        return put(p["out"], h.mean(1))

    return p, run


def megabytes(line: str) -> float:
    """As `bench.learn_gradient` measures it."""
    told = Path("/proc/self/status").read_text().split(f"{line}:")[1]
    return int(told.split()[0]) / 1024


def cell(way: str, name: str, rows: int) -> dict[str, float]:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX starts its threads
    rng = np.random.default_rng(1)
    parameters, run = {"mlp": mlp, "cnn": cnn, "text": text}[name](rng)
    x = rng.integers(2000, size=(rows, 32)) if name == "text" else None
    if x is None:
        x = rng.normal(size=(rows, *((784,) if name == "mlp" else (28, 28, 1)))).astype(np.float32)
    batch = jnp.asarray(x), jnp.asarray(rng.integers(4 if name == "text" else 10, size=rows))

    def loss(p: Any, data: Any) -> Any:
        logits = jax.nn.log_softmax(run(p, data[0]))
        return -jnp.take_along_axis(logits, data[1][:, None], 1).mean()

    clipped = jax_privacy.clipped_grad(loss, l2_clip_norm=1.0, microbatch_size=min(MICRO, rows))

    @jax.jit  # type: ignore[untyped-decorator]  # jax may not be there, and then has no types
    def step(p: Any, key: Any, data: Any) -> Any:
        if way == "jax-plain":
            grads = jax.grad(loss)(p, data)
        else:
            grads = clipped(p, data)
            leaves, shape = jax.tree.flatten(grads)
            keys = jax.random.split(key, len(leaves))
            noisy = [g + jax.random.normal(k, g.shape) for g, k in zip(leaves, keys, strict=True)]
            grads = jax.tree.unflatten(shape, [g / rows for g in noisy])
        return jax.tree.map(lambda a, g: a - 0.01 * g, p, grads)

    key = jax.random.key(1)
    compiled = step.lower(parameters, key, batch).compile()
    jax.block_until_ready(parameters)
    held = megabytes("VmRSS")
    jax.block_until_ready(compiled(parameters, key, batch))
    grown = megabytes("VmHWM") - held
    spent: list[float] = []
    while sum(spent) < SECONDS or len(spent) < 3:
        key, here = jax.random.split(key)
        start = process_time()
        parameters = jax.block_until_ready(compiled(parameters, here, batch))
        spent.append(process_time() - start)
    return {"step": median(spent), "memory": grown}


if __name__ == "__main__":
    print(json.dumps(cell(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
