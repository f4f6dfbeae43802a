"""Any `threshold` shares give the secret back; fewer say nothing."""

from itertools import combinations

import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.learn.federated.shamir import PRIME, join_shares, share_out
from tacit.noise import SecureRng


@pytest.mark.parametrize("secret", [bytes(32), b"\xff" * 32, bytes(range(32)), bytes(15) + b"\x01"])
def test_every_choice_of_enough_shares_gives_the_secret(secret: bytes) -> None:
    shares = share_out(secret, threshold=3, places=range(1, 6), rng=SecureRng())
    for some in combinations(shares, 3):
        assert join_shares({place: shares[place] for place in some}, threshold=3, size=len(secret)) == secret
    assert join_shares(shares, threshold=3, size=len(secret)) == secret


def test_fewer_shares_fit_every_secret() -> None:
    """For each secret there is exactly one third share that gives it, so two shares exclude none."""
    shares = share_out(b"\x07" * 32, threshold=3, places=range(1, 4), rng=SecureRng())
    for wanted in (0, 1, 2**255):
        rest = (wanted - 3 * shares[1] + 3 * shares[2]) % PRIME  # weights at 0: 3, −3, 1
        assert int.from_bytes(join_shares({1: shares[1], 2: shares[2], 3: rest}, threshold=3, size=33), "big") == wanted


def test_shares_are_uniform() -> None:
    """One share of a threshold of two is the secret plus a uniform number: all bits come up."""
    rng = FixedRng(3)
    tops = [share_out(b"\x01", threshold=2, places=range(1, 3), rng=rng)[1] >> 248 for _ in range(2000)]
    counts = [sum(top % 16 == value for top in tops) for value in range(16)]
    assert max(abs(count - 125) for count in counts) < 60


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        share_out(bytes(33), threshold=2, places=range(1, 4), rng=SecureRng())
    with pytest.raises(InputError, match="cannot have a threshold"):
        share_out(bytes(32), threshold=4, places=range(1, 4), rng=SecureRng())
    with pytest.raises(InputError, match="fewer than the 3"):
        join_shares({1: 1, 2: 2}, threshold=3, size=32)
