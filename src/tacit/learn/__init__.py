"""Private training: a plan is a Loss before it is a run, charged once, and run under its receipt.

torch is needed to run a plan, and imported then; plans, prices and model files work without it.
"""

from tacit.learn.clip import AdaptiveClip
from tacit.learn.config.loaded import LoadedModel, load_model
from tacit.learn.correlated import Correlated
from tacit.learn.holdout import Holdout
from tacit.learn.individual import IndividualDescent, IndividualFilter, SoftmaxModel
from tacit.learn.labels import Labels, PublishedHindsight
from tacit.learn.loss_report import LossReport
from tacit.learn.model import ModelFile, TrainedModel
from tacit.learn.noise import GradientNoise
from tacit.learn.panel import Panel, PanelSum, PanelSums
from tacit.learn.ranks import Ranks
from tacit.learn.rows import ArrayRows, ArrowRows, DatasetRows, InputSize, rows_of
from tacit.learn.run import TrainingProgress, TrainingRun
from tacit.learn.stream import Counter, Stream, Tick
from tacit.learn.table_rows import TableRows
from tacit.learn.teachers import Teachers
from tacit.learn.thresholdout import Thresholdout
from tacit.learn.training import Training
from tacit.learn.votes import GNMax, LNMax

__all__ = [
    "AdaptiveClip",
    "ArrayRows",
    "ArrowRows",
    "Correlated",
    "Counter",
    "DatasetRows",
    "GNMax",
    "GradientNoise",
    "Holdout",
    "IndividualDescent",
    "IndividualFilter",
    "InputSize",
    "LNMax",
    "Labels",
    "LoadedModel",
    "LossReport",
    "ModelFile",
    "Panel",
    "PanelSum",
    "PanelSums",
    "PublishedHindsight",
    "Ranks",
    "SoftmaxModel",
    "Stream",
    "TableRows",
    "Teachers",
    "Thresholdout",
    "Tick",
    "TrainedModel",
    "Training",
    "TrainingProgress",
    "TrainingRun",
    "load_model",
    "rows_of",
]
