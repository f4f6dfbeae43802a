"""Who trains together, and what one round of it releases: a sum of clipped vectors with noise.

Three settings of one thing. `distributed`: every client adds a share of the noise, and the server learns the sum alone,
by a secure sum. `central`: the server adds all of the noise, and is trusted with the vectors. `local`: every client
adds all of the noise that it needs, and trusts nobody. One loss serves them all: that of a Gaussian whose variance is
what honest clients, or the trusted server, are sure to have added. Proofs: docs/theory/distributed-noise.md.
"""

from fractions import Fraction
from math import ceil, floor, isqrt, log2, sqrt
from typing import Any, Literal

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, positive, whole
from tacit.base.number import Number, Ratio, frozen
from tacit.base.stored import fraction_to_text
from tacit.learn.federated.channel import Words
from tacit.learn.federated.encode import Floats, centred, rotated, rotated_back, rounded
from tacit.learn.federated.terms import ServerTrust, SumTerms, check_trust
from tacit.loss import Loss
from tacit.mechanism import Gaussian
from tacit.noise import discrete_gaussians, rng_or_default

__all__ = ["Cohort", "VectorCode"]

Placement = Literal["distributed", "central", "local"]
STEPS = (
    3  # of the lattice that a share's sigma has at least: shares then add up to a Gaussian but for a factor 1 ± 1e-35
)
APART = 1 - Fraction(1, 10**9)  # of sigma: far more than that factor is worth
WIDEST = 32  # bits of a number
SPREAD = 4  # standard deviations of a coordinate of the sum that fit before it wraps round
FINEST = 30  # powers of two that a lattice is finer than the clip, at most
ROOT = 10**12  # parts in which a square root is rounded


@frozen
class VectorCode:
    """How vectors become whole numbers at one size of the noise: steps of `granularity`, squares adding up to at most
    `longest`, and shares of noise with `variance` in squared steps."""

    granularity: Ratio
    longest: int
    variance: Ratio

    @property
    def length(self) -> Fraction:
        """How long an encoded vector is at most."""
        return self.granularity * Fraction(isqrt(self.longest * ROOT**2) + 1, ROOT)


@frozen
class Cohort:
    """`clients` who may take part, of whom at least `survivors` are in every sum that is released, or nothing is.

    Each brings a vector of `dimension` numbers, clipped to the length `clip`. Up to `colluding` clients may tell the
    server what they know, their noise too. Sums are of whole numbers modulo 2^`bits`. `sigma`, in every method, is the
    standard deviation of what one client adds to each number (of what the server adds, where `noise` is central).
    """

    clients: int
    survivors: int
    clip: Ratio
    dimension: int
    bits: int = 16
    noise: Placement = "distributed"
    colluding: int = 0
    server: ServerTrust = "curious"
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, least in (("clients", 2), ("survivors", 1), ("dimension", 1), ("colluding", 0), ("bits", 2)):
            put(self, name, whole(getattr(self, name), name, least=least))
        put(self, "clip", positive(self.clip, "clip"))
        put(self, "relation", Relation(self.relation))
        if self.bits > WIDEST:
            raise InputError(f"bits must be at most {WIDEST}, not {self.bits}")
        if self.noise not in ("distributed", "central", "local"):
            raise InputError(f"noise must be 'distributed', 'central' or 'local', not {self.noise!r}")
        check_trust(self.clients, self.survivors, self.colluding, self.server)

    # --- what a round costs

    @property
    def shares(self) -> int:
        """How many shares of noise are sure to be in a sum, and to be nobody's but honest clients' or the server's."""
        return self.survivors - self.colluding if self.noise == "distributed" else 1

    @property
    def size(self) -> int:
        """Numbers of a rotated vector: the next power of two."""
        return 1 << (self.dimension - 1).bit_length()

    def code(self, sigma: Number) -> VectorCode:
        """The finest lattice on which sums of everybody's vectors and noise fit into the bits."""
        size = positive(sigma, "sigma")
        least, most = log2(float(self.clip)) - FINEST, floor(log2(float(size) / STEPS))
        power = next((power for power in range(floor(least), most + 1) if self._fits(2.0**power, float(size))), None)
        if power is None:
            bits = self._bits(float(size))
            raise InputError(
                f"sums of {self.clients} vectors of {self.dimension:,} numbers with noise of {float(size):.3g} do not "
                f"fit into {self.bits} bits: "
                + (f"say bits={bits}" if bits <= WIDEST else f"nor into {WIDEST}; take more noise, or a smaller clip")
            )
        step = Fraction(2) ** power
        clip, root = float(self.clip / step), sqrt(self.size)
        longest = min(clip**2 + self.size / 4 + clip + root / 2, (clip + root) ** 2)
        return VectorCode(granularity=step, longest=ceil(longest), variance=(size / step) ** 2)

    def _fits(self, step: float, sigma: float) -> bool:
        return self._needed(step, sigma) <= self.bits

    def _needed(self, step: float, sigma: float) -> float:
        """Bits for a sum: a coordinate is about Gaussian after the rotation, with what noise and rounding add."""
        clip, noises = float(self.clip) * self.clients, 1 if self.noise == "central" else self.clients
        deviation = sqrt(clip**2 / self.size + noises * sigma**2 + self.clients * step**2 / 4)
        return log2(2 * SPREAD * deviation / step + 2)

    def _bits(self, sigma: float) -> int:
        return ceil(self._needed(2.0 ** floor(log2(sigma / STEPS)), sigma))

    def mechanism(self, sigma: Number) -> Gaussian:
        """What is priced: a little less noise than all sure shares are together."""
        code = self.code(sigma)
        total = self.shares * positive(sigma, "sigma") ** 2
        root = Fraction(isqrt(floor(total * ROOT**2)), ROOT)
        return Gaussian(sigma=root * APART, granularity=code.granularity)

    def sensitivity(self, sigma: Number) -> Sensitivity:
        """How far one client's data move a sum: by its vector, or under replace by two of them."""
        length = self.code(sigma).length
        return Sensitivity(l2=length * (1 if self.relation is Relation.ADD_REMOVE else 2), dimension=self.size)

    def loss(self, sigma: Number, *, unit: str = "client") -> Loss:
        """What one round costs one client, whose taking part is public and whose data are not."""
        return self.mechanism(sigma).loss(self.sensitivity(sigma), relation=self.relation, unit=unit)

    # --- what a client and the server do with numbers

    @property
    def letters(self) -> str:
        """How numbers modulo 2^bits are stored."""
        return "<u2" if self.bits <= 16 else "<u4"

    def encode(self, vector: Any, *, sigma: Number, name: bytes) -> Words:
        """A client's vector, clipped, rotated and rounded, with its noise. One that is not finite counts as zero."""
        source, code = rng_or_default(None), self.code(sigma)
        clipped = self._clipped(vector)
        steps = rotated(clipped, name=name, size=self.size) / float(code.granularity)
        numbers = rounded(steps, longest=code.longest, rng=source)
        if self.noise != "central":
            numbers = numbers + discrete_gaussians(code.variance, self.size, source)
        return np.asarray(numbers & ((1 << self.bits) - 1)).astype(self.letters)

    def _clipped(self, vector: Any) -> Floats:
        given = np.asarray(vector, dtype=np.float64)
        if given.shape != (self.dimension,):
            raise InputError(f"a vector of {self.dimension} numbers was declared, not of shape {given.shape}")
        largest = float(np.abs(given).max())
        if not np.isfinite(largest) or largest == 0:
            return np.zeros(self.dimension)
        length = largest * float(np.linalg.norm(given / largest))  # whose square may overflow
        return given * min(1.0, float(self.clip) / length) if np.isfinite(length) else np.zeros(self.dimension)

    def decode(self, words: Words, *, sigma: Number, name: bytes) -> Floats:
        """The noisy sum, from numbers modulo 2^bits. Where noise is central, this is where it is added, modulo 2^bits
        too: read as a number before, a sum that wraps round would move by 2^bits for one client's last step."""
        code, numbers = self.code(sigma), np.asarray(words).astype(np.int64)
        if self.noise == "central":
            numbers = numbers + discrete_gaussians(code.variance, self.size, rng_or_default(None))
        sums: Floats = centred(numbers, bits=self.bits).astype(np.float64) * float(code.granularity)
        return rotated_back(sums, name=name, size=self.dimension)

    def terms(self, *, run: bytes, round: int, registered: tuple[bytes, ...] = ()) -> SumTerms:  # noqa: A002
        """The secure sum of one round."""
        return SumTerms(
            clients=self.clients,
            threshold=self.survivors,
            size=self.size,
            bits=self.bits,
            run=run,
            round=round,
            colluding=self.colluding,
            server=self.server,
            registered=registered,
        )

    def json(self) -> dict[str, Any]:
        return {
            "clients": self.clients,
            "survivors": self.survivors,
            "clip": fraction_to_text(Fraction(self.clip), "clip"),
            "dimension": self.dimension,
            "bits": self.bits,
            "noise": self.noise,
            "colluding": self.colluding,
            "server": self.server,
        }
