"""Every protocol of a survey. Adding one is its file and a line here; laws, audits and stored forms read this list."""

from tacit.mechanism.registry import register_stored
from tacit.survey.bit_flip import BitFlip, SeveralResponse
from tacit.survey.bits import OptimizedUnary, SubsetSelection, SymmetricUnary
from tacit.survey.direct import CoinFlip, DirectResponse, HadamardResponse
from tacit.survey.local_hashing import LocalHashing, PooledHashing
from tacit.survey.mean import OneBitMean
from tacit.survey.parts import Marginals, RangeTree
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol
from tacit.survey.rappor import Rappor
from tacit.survey.sketch import CountMeanSketch, HadamardSketch
from tacit.survey.square_wave import SquareWave
from tacit.survey.window import HybridMean, PiecewiseMean

__all__ = ["PROTOCOLS"]

PROTOCOLS: tuple[type[Protocol], ...] = (
    CoinFlip,
    DirectResponse,
    SymmetricUnary,
    OptimizedUnary,
    LocalHashing,
    PooledHashing,
    HadamardResponse,
    SubsetSelection,
    SeveralResponse,
    OneBitMean,
    PiecewiseMean,
    HybridMean,
    SquareWave,
    PrefixText,
    BitFlip,
    CountMeanSketch,
    HadamardSketch,
    Rappor,
    RangeTree,
    Marginals,
)

register_stored(*PROTOCOLS)
