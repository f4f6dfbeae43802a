"""The random source: what it hands out is what AES says, once, to one process, and there is no seed."""

import ast
import copy
import inspect
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import tacit
from support.fixed_rng import FixedRng, ScriptedRng
from support.statistics import ALARM
from tacit import noise
from tacit.base import InputError, RandomnessError
from tacit.noise import Rng, SecureRng, rng_or_default, uniform
from tacit.noise.rng import BLOCK, KEY, PIECE, _alive


def aes(key: bytes, count: int) -> bytes:
    """`count` bytes of AES-256 counter mode from its definition: the blocks 0, 1, 2, … enciphered one by one."""
    blocks = b"".join(i.to_bytes(16, "big") for i in range(-(-count // 16)))
    return Cipher(AES256(key), ECB()).encryptor().update(blocks)[:count]


@pytest.fixture
def fixed_key(monkeypatch: pytest.MonkeyPatch) -> bytes:
    key = bytes(range(KEY))
    monkeypatch.setattr(os, "urandom", lambda count: key[:count])
    return key


def test_the_independent_aes_is_aes() -> None:
    """FIPS 197, appendix C.3."""
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    cipher = Cipher(AES256(bytes(range(32))), ECB()).encryptor().update(plain)
    assert cipher == bytes.fromhex("8ea2b7ca516745bfeafc49904b496089")


def test_the_keystream_is_aes_counter_mode_with_the_next_key_in_front(fixed_key: bytes) -> None:
    rng = SecureRng()
    first = aes(fixed_key, KEY + BLOCK)
    assert bytes(rng.read(100)) == first[KEY : KEY + 100]
    assert bytes(rng.read(BLOCK - 100)) == first[KEY + 100 :]
    second = aes(first[:KEY], KEY + BLOCK)
    assert bytes(rng.read(48)) == second[KEY : KEY + 48]
    # more than a block at once has a key of its own and leaves the buffer alone
    third = aes(second[:KEY], KEY + BLOCK + 5)
    assert bytes(rng.read(BLOCK + 5)) == third[KEY:]
    assert bytes(rng.read(8)) == second[KEY + 48 : KEY + 56]


def test_a_read_that_does_not_fit_the_buffer_starts_a_new_block(fixed_key: bytes) -> None:
    rng = SecureRng()
    rng.read(BLOCK - 8)
    second = aes(aes(fixed_key, KEY), KEY + 16)
    assert bytes(rng.read(16)) == second[KEY:]


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, 2 * PIECE, 5 * PIECE + 7])
def test_what_fills_a_room_is_keystream_behind_the_next_key(fixed_key: bytes, size: int) -> None:
    rng, room = SecureRng(), np.zeros(size, dtype=np.uint8)
    rng.fill(room)
    stream = aes(fixed_key, KEY + size)
    assert room.tobytes() == stream[KEY:]
    again = np.zeros(8, dtype=np.uint16)
    rng.fill(again)
    assert again.tobytes() == aes(stream[:KEY], KEY + 16)[KEY:], "under the key that was drawn"


def test_each_block_erases_its_key(fixed_key: bytes) -> None:
    rng = SecureRng()
    keys = [rng._key]
    for size in (1, BLOCK, BLOCK, 3 * BLOCK):
        rng.read(size)
        keys.append(rng._key)
        assert all(old not in vars(rng).values() for old in keys[:-1])
    assert len(set(keys)) == len(keys)
    for old in keys[:-1]:
        assert old not in bytes(rng._buffer.obj)  # the block in memory does not hold an earlier key


def test_every_source_has_its_own_key() -> None:
    assert len({SecureRng()._key for _ in range(20)}) == 20


def in_child(work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a forked child, which is killed after ten seconds."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python ≥ 3.12 warns of threads, which are the point here
        pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(10)
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


def stream(rng: Rng) -> bytes:
    return bytes(rng.read(64))


def stock(rng: Rng) -> bytes:
    return b"".join(rng.bits(64).to_bytes(8, "big") for _ in range(8))


@pytest.mark.parametrize("draw", [stream, stock])
@pytest.mark.parametrize("source", ["own", "default"])
def test_a_forked_child_never_repeats_its_parent(draw: Callable[[Rng], bytes], source: str) -> None:
    rng = SecureRng() if source == "own" else rng_or_default(None)
    stream(rng), stock(rng)  # both the buffer and the stock hold something to inherit
    children = [in_child(lambda: draw(rng)) for _ in range(3)]
    answers = {*children, draw(rng)}
    assert len(answers) == 4
    assert all(len(a) == 64 for a in answers)


@pytest.mark.parametrize("draw", [stream, stock])
def test_without_the_fork_hook_the_child_would_repeat(draw: Callable[[Rng], bytes]) -> None:
    """Power of the test above: a source the hook does not know is repeated, and this is how that looks."""
    rng = SecureRng()
    stream(rng), stock(rng)
    _alive.discard(rng)
    assert in_child(lambda: draw(rng)) == draw(rng)


def test_a_fork_while_another_thread_holds_the_lock_does_not_hang_the_child() -> None:
    rng = SecureRng()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with rng._lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = in_child(lambda: stream(rng))
    done.set()
    thread.join()
    assert len(child) == 64
    assert child != stream(rng)


def test_a_grandchild_differs_too() -> None:
    rng = SecureRng()
    stream(rng)

    def child() -> bytes:
        return stream(rng) + in_child(lambda: stream(rng))

    both = in_child(child)
    assert len(both) == 128
    assert len({both[:64], both[64:], stream(rng)}) == 3


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_differ_from_each_other_and_from_the_parent(method: str) -> None:
    rng_or_default(None).bits(64)
    draw = "(lambda r: (bytes(r.read(32)), r.bits(256)))(__import__('tacit.noise').noise.rng_or_default(None))"
    answers = [eval(draw)]
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with multiprocessing.get_context(method).Pool(1) as pool:
                answers.append(pool.apply(eval, (draw,)))
                pool.close()
                pool.join()
    assert len({read for read, _ in answers}) == 3
    assert len({bits for _, bits in answers}) == 3


def together(work: Callable[[], list[bytes]], threads: int = 8) -> list[bytes]:
    found: list[list[bytes]] = []
    start = threading.Barrier(threads)

    def run() -> None:
        start.wait()
        found.append(work())

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [item for items in found for item in items]


def test_threads_share_a_source_and_no_bytes_are_handed_out_twice() -> None:
    rng = SecureRng()
    blocks = together(lambda: [bytes(rng.read(16 + 8 * (i % 3)))[:16] for i in range(4000)])
    assert len(set(blocks)) == len(blocks) == 32_000
    words = together(lambda: [rng.bits(64).to_bytes(8, "big") for _ in range(4000)])
    assert len(set(words)) == len(words) == 32_000


def test_reading_waits_for_the_lock() -> None:
    rng = SecureRng()
    reader = threading.Thread(target=rng.read, args=(8,))
    with rng._lock:
        reader.start()
        reader.join(0.2)
        assert reader.is_alive()
    reader.join(5)
    assert not reader.is_alive()


def test_a_source_cannot_be_copied_or_pickled() -> None:
    rng = SecureRng()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(RandomnessError, match="copied or pickled"):
            pickle.dumps(rng, protocol)
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(RandomnessError, match="copied or pickled"):
            copied(rng)
    with pytest.raises(RandomnessError, match="copied or pickled"):
        copy.deepcopy({"inside": [rng]})


def test_there_is_no_seed_in_the_public_interface() -> None:
    assert list(inspect.signature(SecureRng).parameters) == []
    for public in noise.__all__:
        parameters = inspect.signature(getattr(noise, public)).parameters
        assert not [p for p in parameters if "seed" in p or "state" in p], public
    root = Path(tacit.__file__).parent
    arguments = {
        argument.arg
        for layer in ("base", "noise", "loss", "mechanism")
        for file in (root / layer).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.arguments)
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs)
    }
    assert "rng" in arguments
    assert not [a for a in arguments if "seed" in a or a == "random_state"]


def test_only_a_tacit_rng_is_accepted() -> None:
    assert isinstance(rng_or_default(None), SecureRng)
    assert rng_or_default(None) is rng_or_default(None)
    mine = FixedRng()
    assert rng_or_default(mine) is mine
    others: list[Any] = [np.random.default_rng(0), np.random, 42, b"seed"]
    for other in others:
        with pytest.raises(RandomnessError, match="tacit Rng"):
            rng_or_default(other)


def test_bits_below_and_words() -> None:
    rng = FixedRng(1)
    assert {rng.bits(1) for _ in range(100)} == {0, 1}
    assert rng.bits(0) == 0
    assert max(rng.bits(200).bit_length() for _ in range(50)) in (199, 200)
    assert {rng.below(1) for _ in range(5)} == {0}
    assert chisquare(np.bincount([rng.below(6) for _ in range(30_000)], minlength=6)).pvalue >= ALARM
    huge = 3**200
    thirds = np.bincount([3 * rng.below(huge) // huge for _ in range(9000)], minlength=3)
    assert chisquare(thirds).pvalue >= ALARM
    assert rng.words(5, np.uint8).dtype == np.uint8
    for bad in (0, -3):
        with pytest.raises(InputError, match="bound"):
            rng.below(bad)


def test_below_rejects_and_never_folds() -> None:
    """6 and 7 are thrown away: folded, they would make 0 and 1 likelier."""
    assert ScriptedRng([bytes([7]), bytes([6]), bytes([5])]).below(6) == 5
    assert ScriptedRng([bytes([0])]).below(6) == 0


def test_the_stock_is_the_stream() -> None:
    """`bits` hands out the words of `words`, each once."""
    words = FixedRng(3).words(512).tolist()
    rng = FixedRng(3)
    assert sorted(rng.bits(64) for _ in range(512)) == sorted(words)


EDGES = [1, 2, 3, 5, 127, 128, 129, 255, 256, 257, 2**16 - 1, 2**16, 2**16 + 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1]
EDGES += [2**62 + 1, 2**63 - 1, 2**63, 2**63 + 1, 10**40]


@pytest.mark.parametrize("bound", EDGES)
def test_every_sixteenth_part_is_alike(bound: int) -> None:
    sample = uniform(bound, 20_000, FixedRng(1))
    assert sample.dtype == (np.int64 if bound <= 2**63 else object)
    assert sample.min() >= 0
    assert sample.max() < bound
    parts = min(bound, 16)
    edges = [-(-bound * k // parts) for k in range(1, parts)]
    counts = np.bincount([sum(int(v) >= e for e in edges) for v in sample], minlength=parts)
    sizes = np.diff([0, *edges, bound]).astype(float) / bound * len(sample)
    assert parts == 1 or chisquare(counts, sizes).pvalue >= ALARM


def test_modulo_bias_would_be_seen() -> None:
    """Power: 16 bits folded to 40,000 values make the first 25,536 twice as likely."""
    folded = FixedRng(2).words(20_000, np.uint16) % 40_000
    fair = uniform(40_000, 20_000, FixedRng(2))
    sizes = [20_000 * 25_536 / 40_000, 20_000 * 14_464 / 40_000]
    assert chisquare([(folded < 25_536).sum(), (folded >= 25_536).sum()], sizes).pvalue < ALARM
    assert chisquare([(fair < 25_536).sum(), (fair >= 25_536).sum()], sizes).pvalue >= ALARM


def test_values_at_or_above_the_bound_are_thrown_away() -> None:
    want = int(2 * 8 / 5 * 1.02) + 16  # bytes asked for two values below 5; the top three bits of each are used
    script = bytes([7 << 5, 5 << 5, 4 << 5, 6 << 5, 3 << 5] + [0] * (want - 5))
    assert uniform(5, 2, ScriptedRng([script])).tolist() == [4, 3]


@given(st.integers(1, 2**70), st.integers(0, 50))
def test_size_and_range(bound: int, size: int) -> None:
    sample = uniform(bound, size, FixedRng(3))
    assert sample.shape == (size,)
    assert all(0 <= int(v) < bound for v in sample)


@pytest.mark.parametrize("bound", [0, -1])
def test_an_empty_range_is_refused(bound: int) -> None:
    with pytest.raises(InputError, match="bound"):
        uniform(bound, 3, FixedRng())
