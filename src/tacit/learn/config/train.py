"""What `tacit train`, HTTP and the console take: every key of a training, and the kind of job that they make."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from tacit.base import InputError, Problem
from tacit.desk import Job, Spender
from tacit.desk.kind import JobKind, JobSettings, job_setting
from tacit.learn.config.pack import with_certificate
from tacit.policy.declaration import declared
from tacit.policy.kind import Kind, choice, names, number, text, whole

__all__ = ["FITS", "NETWORKS", "TRAIN", "ModelName", "TrainSettings"]


class ModelName(StrEnum):
    """The models that settings can name."""

    LOGISTIC = "logistic"
    NAIVE_BAYES = "naive_bayes"
    BOOSTING = "boosting"
    LINEAR = "linear"
    RIDGE = "ridge"
    KMEANS = "kmeans"
    PCA = "pca"
    MLP = "mlp"
    CNN = "cnn"
    TEXT = "text"


class OptimiserName(StrEnum):
    """How a network follows its noisy gradients."""

    SGD = "sgd"
    ADAM = "adam"


NETWORKS = ("mlp", "cnn", "text")
FITS = tuple(each.value for each in ModelName if each.value not in NETWORKS)
UNLABELLED = ("kmeans", "pca")
LABELLED = tuple(each.value for each in ModelName if each.value not in UNLABELLED)
NETWORK = {"model": NETWORKS}


def _at_most(kind: Kind, most: int) -> Kind:
    """The same, up to a number: settings are no way to keep a machine busy for ever."""

    def read(value: object) -> Any:
        found = kind.read(value)
        if found > most:
            raise InputError(f"must be at most {most:,}")
        return found

    return replace(kind, read=read)


def _sizes(most: int, many: int) -> Kind:
    """A list of whole numbers."""

    def read(value: object) -> tuple[int, ...]:
        if isinstance(value, str) or not isinstance(value, list | tuple) or not 1 <= len(value) <= many:
            raise InputError(f"must be a list of 1 to {many} whole numbers such as [64, 32]")
        return tuple(_at_most(whole, most).read(each) for each in value)

    return Kind("list of whole numbers", read, "list")


positive = number(above=0)


@declared
class TrainSettings(JobSettings):
    """One training."""

    model: ModelName = job_setting(
        "The model: one of a closed list. The last three are networks, and need torch.",
        choice(ModelName), example='"logistic"',
    )  # fmt: skip
    table: str = job_setting("The table of the policy to learn from.", text, example='"visits"', suggests="tables")
    features: tuple[str, ...] = job_setting(
        "The columns to learn from. Numbers need bounds in the policy; networks also take columns with a short list "
        'of values; "text" takes one column of text. A name that ends in * is every column that begins so.',
        names, example='["age", "cost"]', suggests="columns",
    )  # fmt: skip
    label: str | None = job_setting(
        "The column to predict: one with a list of values (or whole numbers with bounds) for classes, else a number "
        "with bounds.",
        text, example='"ward"', default=None, suggests="columns", only={"model": LABELLED}, shown=True,
    )  # fmt: skip
    epsilon: Fraction = job_setting("What the whole training may cost one unit.", positive, example="1")
    delta: Fraction = job_setting("The δ of that promise.", number(above=0, below=1), example="1e-7")
    name: str = job_setting(
        "Tells one training from another: the same settings of the same data under the same name are one release.",
        text, example='"first"', default="training",
    )  # fmt: skip
    population: int | None = job_setting(
        "About how many units there are, as the public knows it. Default: the policy's population.",
        _at_most(whole, 10**12), example="10000", default=None, only=NETWORK,
    )  # fmt: skip
    batch: int = job_setting(
        "How many units one step looks at on average. More is slower, and less noise.",
        _at_most(whole, 10**6), example="512", default=256, only=NETWORK,
    )  # fmt: skip
    steps: int = job_setting(
        "How many steps are made and paid for.", _at_most(whole, 10**6), example="500", default=200, only=NETWORK
    )
    clip: Fraction = job_setting(
        "The length to which the gradient of one unit is cut.", positive, example="1", default=Fraction(1), only=NETWORK
    )
    per_unit: int = job_setting(
        "How many rows of one unit count.", _at_most(whole, 10_000), example="5", default=1, only=NETWORK
    )
    optimiser: OptimiserName = job_setting(
        "How the noisy gradients are followed.", choice(OptimiserName), example='"adam"', default=OptimiserName.SGD,
        only=NETWORK,
    )  # fmt: skip
    learning_rate: Fraction | None = job_setting(
        "How far one step goes. Default: 0.2 for sgd, 0.01 for adam.", number(above=0, most=1000), example="0.2",
        default=None, only=NETWORK,
    )  # fmt: skip
    momentum: Fraction = job_setting(
        "How much of the last steps goes into the next.", number(least=0, below=1), example="0.9",
        default=Fraction(9, 10), only={**NETWORK, "optimiser": ("sgd",)},
    )  # fmt: skip
    show_loss: Fraction | None = job_setting(
        "Tell the mean loss with noise while it learns, each loss counted up to this. It is paid for by 3 % more noise "
        "in every step.",
        positive, example="4", default=None, only=NETWORK,
    )  # fmt: skip
    hidden: tuple[int, ...] = job_setting(
        "The sizes of the hidden layers.", _sizes(4096, 8), example="[64, 32]", default=(64,),
        only={"model": ("mlp", "cnn")},
    )  # fmt: skip
    image: tuple[int, ...] | None = job_setting(
        "How the features make an image: channels, height, width.", _sizes(4096, 3), example="[1, 8, 8]", default=None,
        only={"model": ("cnn",)},
    )  # fmt: skip
    channels: tuple[int, ...] = job_setting(
        "The channels of the convolutions; each halves the image.", _sizes(512, 6), example="[16, 32]",
        default=(16, 32), only={"model": ("cnn",)},
    )  # fmt: skip
    vocabulary: int = job_setting(
        "Words are hashed to so many numbers, so that no word list is read from the rows.",
        _at_most(whole, 65_536), example="2048", default=2048, only={"model": ("text",)},
    )  # fmt: skip
    length: int = job_setting(
        "How many words of a text count.", _at_most(whole, 512), example="32", default=32, only={"model": ("text",)}
    )
    width: int = job_setting(
        "The size of a word's vector.", _at_most(whole, 512), example="32", default=32, only={"model": ("text",)}
    )
    layers: int = job_setting(
        "How many layers the encoder has.", _at_most(whole, 8), example="1", default=1, only={"model": ("text",)}
    )
    heads: int = job_setting(
        "How many heads of attention each layer has; they divide the width.", _at_most(whole, 32), example="2",
        default=2, only={"model": ("text",)},
    )  # fmt: skip
    iterations: int | None = job_setting(
        "How many steps a fit makes. Default: the model's own, which follows from epsilon.",
        _at_most(whole, 10_000), example="20", default=None, only={"model": ("logistic", "boosting", "kmeans")},
    )  # fmt: skip
    clusters: int = job_setting(
        "How many centres are looked for.", _at_most(whole, 1000), example="8", default=8, only={"model": ("kmeans",)}
    )
    components: int = job_setting(
        "How many directions are looked for.", _at_most(whole, 1000), example="2", default=2, only={"model": ("pca",)}
    )
    alpha: Fraction = job_setting(
        "How strongly slopes are drawn to zero.", number(least=0), example="1", default=Fraction(1),
        only={"model": ("ridge",)},
    )  # fmt: skip
    file: str | None = job_setting(
        "A Parquet or Arrow file that was made of the table, to learn from in its place; one row is one unit.",
        text, example='"prepared.parquet"', default=None, only={"model": ("mlp", "cnn")}, local=True,
    )  # fmt: skip
    classes: int | None = job_setting(
        "With a file: how many labels there are, as whole numbers from 0. Left out, the label is a number.",
        _at_most(whole, 100_000), example="10", default=None, only={"model": ("mlp", "cnn")}, local=True,
    )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.model.value} of {self.table}" + (f" ({self.name})" if self.name != "training" else "")

    def contradictions(self) -> Iterator[Problem]:
        yield from super().contradictions()
        if self.model.value in LABELLED and self.label is None:
            yield Problem(("label",), f'label is missing: {self.model.value} predicts a column, add label = "ward"')
        if self.label is not None and self.label in self.features:
            yield Problem(
                ("features",), f'features hold the label "{self.label}", which is to be predicted: leave it out'
            )
        if self.model is ModelName.CNN and (self.image is None or len(self.image) != 3):
            yield Problem(("image",), "image is missing: a cnn takes features as an image, add image = [1, 8, 8]")
        if self.model is ModelName.TEXT and len(self.features) != 1:
            yield Problem(("features",), "features must be one column of text for the model text")
        if self.model is ModelName.TEXT and self.width % self.heads:
            yield Problem(("heads",), f"heads = {self.heads} must divide width = {self.width}")
        if self.classes is not None and self.file is None:
            yield Problem(("classes",), "classes goes with a file: of a table, the policy declares them")


def _job(settings: TrainSettings, spender: Spender) -> Job:
    if settings.model.value in NETWORKS:
        from tacit.learn.config.network_job import network_job

        job: Callable[[TrainSettings, Spender], Job] = network_job
    else:
        from tacit.learn.config.fit_job import fit_job

        job = fit_job
    return job(settings, spender)


TRAIN = JobKind(
    name="train",
    title="Train a model",
    words="A model that learns from a table with noise: priced before it reads a row, and charged once.",
    settings=TrainSettings,
    job_of=_job,
    makes="model",
    certified=with_certificate,
)
