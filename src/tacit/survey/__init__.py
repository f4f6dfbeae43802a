"""Surveys that never see the truth: answers are randomised on the respondent's device."""

from tacit.survey.bit_flip import BitFlip
from tacit.survey.bits import OptimizedUnary, SubsetSelection, SymmetricUnary
from tacit.survey.choose import Candidate, Choice, choose
from tacit.survey.device import MeanMemo, Memo, device_secret
from tacit.survey.direct import CoinFlip, DirectResponse, HadamardResponse
from tacit.survey.frequency import Frequency
from tacit.survey.local_hashing import LocalHashing, PooledHashing
from tacit.survey.mean import OneBitMean
from tacit.survey.parts import Marginals, RangeTree
from tacit.survey.plan import Beside, beside
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol, Tally, consistent
from tacit.survey.rappor import Rappor, RapporDevice, decode
from tacit.survey.registry import PROTOCOLS
from tacit.survey.shuffle import Shuffler, local_epsilon, shuffled_loss
from tacit.survey.sketch import CountMeanSketch, HadamardSketch
from tacit.survey.square_wave import SquareWave
from tacit.survey.window import HybridMean, PiecewiseMean

__all__ = [
    "PROTOCOLS",
    "Beside",
    "BitFlip",
    "Candidate",
    "Choice",
    "CoinFlip",
    "CountMeanSketch",
    "DirectResponse",
    "Frequency",
    "HadamardResponse",
    "HadamardSketch",
    "HybridMean",
    "LocalHashing",
    "Marginals",
    "MeanMemo",
    "Memo",
    "OneBitMean",
    "OptimizedUnary",
    "PiecewiseMean",
    "PooledHashing",
    "PrefixText",
    "Protocol",
    "RangeTree",
    "Rappor",
    "RapporDevice",
    "Shuffler",
    "SquareWave",
    "SubsetSelection",
    "SymmetricUnary",
    "Tally",
    "beside",
    "choose",
    "consistent",
    "decode",
    "device_secret",
    "local_epsilon",
    "shuffled_loss",
]
