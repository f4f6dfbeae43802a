"""A picture whose every pixel is randomised, and which is recognised all the same: a pixel is not a unit.

Each pixel keeps its promise of ε. They all say the same thing, so what they say together is as many times stronger.
"""

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np

from tacit.attack.population import Array, Chance, Floats, Integers, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError, positive, whole
from tacit.mechanism import RandomizedResponse

__all__ = ["dots", "drawn", "recognised", "stage", "templates"]

# rows of a letter of five by seven dots, the leftmost dot the highest bit
GLYPHS = (
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
)
DOT, HIGH, WIDE = 4, 32, 24  # pixels of a dot, and of a picture
SHOWN = 3


def dots(number: int) -> Floats:
    """The digit as seven rows of five dots, 0 or 1."""
    return np.array([[row >> (4 - column) & 1 for column in range(5)] for row in GLYPHS[number]], dtype=float)


def templates() -> tuple[Array, Integers]:
    """Every digit at every place in the picture, a picture of 0 and 1 a row, and which digit each is."""
    found, of = [], []
    for number in range(len(GLYPHS)):
        digit = np.kron(dots(number), np.ones((DOT, DOT)))
        for top in range(HIGH - digit.shape[0] + 1):
            for left in range(WIDE - digit.shape[1] + 1):
                picture = np.zeros((HIGH, WIDE), dtype=np.int64)
                picture[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
                found.append(picture.ravel())
                of.append(number)
    return np.stack(found), np.array(of)


def drawn(count: int, dice: Chance) -> tuple[Array, Integers]:
    """So many pictures, a row each, of digits somewhere, and the digits."""
    shapes, of = templates()
    # each digit is as likely as any other, and so is each place
    which = dice.integers(0, len(of), count)
    return shapes[which], of[which]


def recognised(pictures: Any) -> Integers:
    """The digit in each row of 0 and 1: of the template that most pixels agree with, which is the likeliest one.

    Every pixel was kept with the same probability above a half, so that the likelihood grows with the agreements.
    """
    seen = np.asarray(pictures)
    shapes, of = templates()
    if seen.ndim != 2 or seen.shape[1] != shapes.shape[1] or not np.isin(seen, (0, 1)).all():
        raise InputError(f"pictures must be rows of {HIGH * WIDE} pixels, each 0 or 1")
    agreements = (2.0 * seen - 1) @ (2.0 * shapes - 1).T
    return np.asarray(of[agreements.argmax(axis=1)])


def stage(
    *,
    seed: int = 1,
    pictures: int = 300,
    epsilons: Sequence[float] = (1.0, 0.5, 0.1),
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """Digits with each pixel randomised at each of `epsilons`, the first to be judged, and at `epsilon` in all."""
    many, pixels = whole(pictures, "pictures", least=SHOWN), HIGH * WIDE
    if not epsilons:
        raise InputError("the stage needs at least one epsilon for a pixel")
    truth, digits = drawn(many, chance(seed))
    rates = [*(positive(each, "epsilons") for each in epsilons), positive(epsilon, "epsilon") / pixels]
    shown, right = [truth], []
    for number, rate in enumerate(rates):
        shown.append(RandomizedResponse(epsilon=rate).sample(truth))
        right.append(int((recognised(shown[-1]) == digits).sum()))
        progress((number + 1) / len(rates))
    names = [f"every pixel randomised at ε = {each:g}" for each in epsilons] + [f"the whole picture at ε = {epsilon:g}"]

    def draw() -> Any:
        from tacit.plot.attacks import pictures as pages

        def rows(page: Array) -> list[Any]:
            return [row.reshape(HIGH, WIDE).tolist() for row in page[:SHOWN]]

        reads = [f"{name}: {hits / many:.0%} read" for name, hits in zip(names, right, strict=True)]
        smooth = {"… and averaged over two by two pixels": rows(_smoothed(shown[1]))}
        noisy = {name: rows(page) for name, page in zip(reads, shown[1:], strict=True)}
        return pages(
            {"as it is": rows(shown[0]), reads[0]: noisy[reads[0]]} | smooth | noisy,
            title=(
                "Each pixel is private, the picture is not",
                f"a digit in {pixels} pixels; randomised response; read by the template that agrees most",
            ),
            pixel=3,
        )

    first = float(epsilons[0])
    return Outcome(
        name="pixels",
        headline="Every pixel is randomised, and everybody can read it",
        measure=f"digits read from {pixels} pixels, each of them black or white",
        chance=0.1,
        undefended=Attempt.counted(names[0], right[0], many),
        defended=Attempt.counted(names[-1], right[-1], many),
        remarks=(
            f"a pixel is kept with probability {1 / (1 + exp(-first)):.3g} at ε = {first:g}, and all {pixels} of a "
            f"picture together cost ε = {first * pixels:g}",
            f"at ε = {epsilon:g} for the picture a pixel has ε = {float(rates[-1]):.2g}: of ten digits that are all as "
            f"likely no reader whatever gets more than {1 / (1 + 9 * exp(-epsilon)):.1%} right",
            "the unit is what must not be recognised. A claim of ε that does not say for what is no claim",
        ),
        facts={"pixels": pixels, "pictures": many, "epsilon": epsilon}
        | {"read": {name: hits / many for name, hits in zip(names, right, strict=True)}},
        draw=draw,
    )


def _smoothed(pictures: Array) -> Array:
    """Each pixel as the mean of its square of two by two, for the eye."""
    blocks = pictures.reshape(-1, HIGH // 2, 2, WIDE // 2, 2).mean(axis=(2, 4))
    return np.kron(blocks, np.ones((1, 2, 2))).reshape(len(pictures), -1)
