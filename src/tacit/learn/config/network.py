"""The closed list of networks, with declared sizes. torch is needed to make one, and imported then."""

from itertools import pairwise
from math import prod
from typing import Any

from tacit.learn.config.columns import wrong
from tacit.learn.config.train import TrainSettings
from tacit.learn.need import need_torch
from tacit.learn.rows import InputSize

__all__ = ["loss_of", "network_of", "optimiser_of"]

USUAL_RATE = {"sgd": 0.2, "adam": 0.01}


def network_of(settings: TrainSettings, inputs: tuple[InputSize, ...]) -> Any:
    """The network for such inputs: rows of numbers, or of words, and a label."""
    torch = need_torch()
    (features, label), nn = inputs, torch.nn
    outputs = 1 if label.below is None else label.below
    if settings.model.value == "text":
        return _text(settings, outputs)
    (width,) = features.size
    if settings.model.value == "mlp":
        return nn.Sequential(*_dense((width, *settings.hidden, outputs)))
    image = settings.image or ()
    if prod(image) != width:
        raise wrong(
            "image",
            f"image = {list(image)} has {prod(image):,} numbers, and the features make {width:,}: they must be the "
            "same",
        )
    channels, height, breadth = image
    if min(height, breadth) >> len(settings.channels) < 1:
        raise wrong(
            "channels",
            f"channels = {list(settings.channels)} halve the image {len(settings.channels)} times, and it is "
            f"{height} x {breadth}: take fewer",
        )
    layers = [nn.Unflatten(1, tuple(image))]
    for more in settings.channels:
        layers += [nn.Conv2d(channels, more, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2)]
        channels, height, breadth = more, height // 2, breadth // 2
    return nn.Sequential(*layers, nn.Flatten(), *_dense((channels * height * breadth, *settings.hidden, outputs)))


def _dense(sizes: tuple[int, ...]) -> list[Any]:
    nn = need_torch().nn
    layers: list[Any] = []
    for low, high in pairwise(sizes):
        layers += [nn.Linear(low, high), nn.Tanh()]
    return layers[:-1]


def _text(settings: TrainSettings, outputs: int) -> Any:
    torch = need_torch()
    nn, width = torch.nn, settings.width

    class TextNetwork(nn.Module):  # type: ignore[misc, name-defined]  # torch is imported when it is used
        """Words and their places, an encoder, and the mean over the words that are there."""

        def __init__(self) -> None:
            super().__init__()
            self.word = nn.Embedding(settings.vocabulary, width)
            self.place = nn.Embedding(settings.length, width)
            layer = nn.TransformerEncoderLayer(width, settings.heads, 2 * width, 0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, settings.layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, outputs)

        def forward(self, words: Any) -> Any:
            places = torch.arange(words.shape[1]).expand(words.shape)
            there = (words > 0).to(torch.float32)[:, :, None]
            found = self.encoder(self.word(words) + self.place(places))
            return self.head((found * there).sum(1) / there.sum(1).clamp(min=1))

    return TextNetwork()


def loss_of(label: InputSize) -> Any:
    """One number for each example: of classes the cross entropy, of numbers the square."""
    functional = need_torch().nn.functional

    def classes(model: Any, inputs: Any, labels: Any) -> Any:
        return functional.cross_entropy(model(inputs), labels, reduction="none")

    def numbers(model: Any, inputs: Any, labels: Any) -> Any:
        return (model(inputs)[:, 0] - labels) ** 2

    return numbers if label.below is None else classes


def optimiser_of(settings: TrainSettings, network: Any) -> Any:
    """What follows the noisy gradients; it sees nothing else."""
    optim, kind = need_torch().optim, settings.optimiser.value
    rate = USUAL_RATE[kind] if settings.learning_rate is None else float(settings.learning_rate)
    if kind == "adam":
        return optim.Adam(network.parameters(), lr=rate)
    return optim.SGD(network.parameters(), lr=rate, momentum=float(settings.momentum))
