"""What ε does not promise: facts about everybody, records that depend on each other, and Dalenius' wish.

Each is a fair yes-or-no question about Ann that somebody answers from one count. Dalenius (1977) wished that nothing
could be learned about a person from a release that could not be learned without it. Dwork and Naor (2010) showed that
no useful release grants the wish, even to who is not in the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, log1p

import numpy as np
from scipy.special import gammaln

from tacit.attack.population import Floats, Integers, chance
from tacit.attack.registry import Attempt, Outcome, bars
from tacit.base import between, whole
from tacit.mechanism import DiscreteLaplace

__all__ = ["FairQuestion", "Guesses", "all_or_none", "dalenius", "private", "stage"]

RISK = (0.05, 0.10)  # of falling ill, for smokers: if smoking is harmless, and if it is not
DAYS = 30


@dataclass(frozen=True)
class FairQuestion:
    """A fair bit, and the law of the count from 0 upward for each of its values; `scale` is that of the noise in it."""

    asked: str
    laws: tuple[Floats, Floats]
    scale: Fraction

    @property
    def best(self) -> float:
        """How often the best guess from the exact count is right: (1 + the total variation of the laws)/2."""
        return _best(*self.laws)

    @property
    def best_private(self) -> float:
        """The same from the count with its noise."""
        return _best(*(private(law, self.scale) for law in self.laws))

    def played(self, rounds: int, seed: int, *, noisy: bool) -> Integers:
        """Whether the guess was right, round by round; the noise is tacit's."""
        dice = chance(seed)
        bits = dice.integers(0, 2, rounds)
        counts = np.where(bits, *(dice.choice(len(law), rounds, p=law) for law in reversed(self.laws)))
        laws = self.laws
        if noisy:
            noise = DiscreteLaplace(scale=self.scale)
            laws = private(laws[0], self.scale), private(laws[1], self.scale)
            reach = (len(laws[0]) - len(self.laws[0])) // 2
            counts = np.clip(noise.sample(counts) + reach, 0, len(laws[0]) - 1)
        one, other = laws[1][counts], laws[0][counts]
        guesses = np.where(one == other, dice.integers(0, 2, rounds), one > other)
        return np.asarray(guesses == bits, dtype=np.int64)


@dataclass(frozen=True)
class Guesses:
    """How often a secret is guessed from a riddle alone, from a release alone, and from both."""

    riddle: float
    release: float
    both: float


def dalenius(laws: tuple[Floats, Floats]) -> Guesses:
    """Dalenius' wish, by listing every case: Ann is not in the data, and what is known of her alone tells nothing.

    The world holds a fair bit B, and `laws` are those of the release for each value of it. Ann's secret S is a fair bit
    that depends on neither. Somebody heard the riddle R = S ⊕ B: that she is as B says, or the other way round.
    """
    joint = np.zeros((2, 2, len(laws[0])))  # secret, riddle, what is released
    for secret in (0, 1):
        for world in (0, 1):
            joint[secret, secret ^ world] += laws[world] / 4
    return Guesses(*(float(joint.sum(axis=hidden).max(axis=0).sum()) for hidden in (2, 1, ())))


def private(law: Floats, scale: Fraction) -> Floats:
    """The law of a count with discrete Laplace noise; it begins as far below 0 as noise of any chance reaches."""
    half = np.array(DiscreteLaplace(scale=scale).weights())
    half = half[half > 1e-18]
    noise = np.concatenate([half[:0:-1], half])
    return np.asarray(np.convolve(law, noise / noise.sum()))


def stage(*, seed: int = 1, smokers: int = 400, rounds: int = 2_000, epsilon: float = 1.0) -> Outcome:
    """Questions about Ann from one count: exact, and with tacit's noise at `epsilon` for one person."""
    count, many = whole(smokers, "smokers", least=2), whole(rounds, "rounds", least=1)
    budget = between(epsilon, "epsilon", 0, 50)
    epsilon, one = float(budget), 1 / budget

    def study(people: int) -> tuple[Floats, Floats]:
        ill = np.arange(people + 1)
        ways = gammaln(people + 1) - gammaln(ill + 1) - gammaln(people - ill + 1)
        harmless, harmful = (np.exp(ways + ill * log(risk) + (people - ill) * log1p(-risk)) for risk in RISK)
        return harmless, harmful

    questions = {
        "in": FairQuestion("does smoking harm Ann? she took part", study(count), one),
        "out": FairQuestion("does smoking harm Ann? she opted out", study(count - 1), one),
        "own": FairQuestion("is Ann ill? she took part, all others are known", all_or_none(1), one),
        "family": FairQuestion("is Ann ill? she opted out, three relatives did not", all_or_none(3), one),
        "month": FairQuestion(f"does Ann work nights? {DAYS} days of hers are rows", all_or_none(DAYS), one),
    }
    kept = {
        "family": FairQuestion("… with the family as the unit", all_or_none(3), 3 * one),
        "month": FairQuestion(f"… with her {DAYS} days as the unit", all_or_none(DAYS), DAYS * one),
    }
    attempts: list[tuple[str, Attempt, bool]] = []
    for number, (name, question) in enumerate(questions.items()):
        for noisy in (False, True):
            right = int(question.played(many, 2 * seed + 1000 * number, noisy=noisy).sum())
            attempts.append((question.asked, Attempt.counted(_against(noisy, epsilon), right, many), noisy))
        if name in kept:
            right = int(kept[name].played(many, 2 * seed + 1 + 1000 * number, noisy=True).sum())
            attempts.append((kept[name].asked, Attempt.counted(_against(True, epsilon), right, many), True))
    harmless, harmful = questions["out"].laws
    wish = dalenius((private(harmless, one), private(harmful, one)))
    opted = [attempt for row, attempt, _ in attempts if row == questions["out"].asked]
    return Outcome(
        name="opting-out",
        headline="What a study finds out about smokers, it finds out about Ann",
        measure=f"fair questions about Ann, who opted out, that a count of {count - 1:,} others answers right",
        chance=0.5,
        undefended=opted[0],
        defended=opted[1],
        remarks=(
            "this is no failure: a study that could not tell would be useless. What ε promises is that it hardly "
            f"matters whether Ann takes part: {questions['in'].best_private:.2%} right if she does, "
            f"{questions['out'].best_private:.2%} if she does not",
            f"what her record alone can tell is guessed right at most e^ε/(1 + e^ε) = {_odds(epsilon):.1%} of the time",
            "three relatives with the same illness tell as much as three records of Ann, up to "
            f"{_odds(3 * epsilon):.1%}, and opting out does not help her. The family must be the unit, or her month",
            f"Dalenius' wish: Ann's secret is guessed {wish.riddle:.0%} of the time from a riddle, which is chance, "
            f"{wish.release:.0%} from tacit's count, and {wish.both:.1%} from both, though she is in no record",
        ),
        facts={"epsilon": epsilon, "smokers": count, "rounds": many, "exact": _exact(questions), "dalenius": vars(wish)}
        | {"unit": {name: each.best_private for name, each in kept.items()}},
        draw=bars(
            attempts,
            title=(
                "What one count tells about Ann",
                f"exact, and with noise at ε = {epsilon:g} for one person's record",
            ),
            axis="questions answered right",
            chance=0.5,
        ),
    )


def _best(*laws: Floats) -> float:
    return float(np.maximum(*laws).sum() / 2)


def all_or_none(rows: int) -> tuple[Floats, Floats]:
    """The laws of a count of these rows, which are all 0 or all 1; what others add to it is known."""
    none, each = np.zeros(rows + 1), np.zeros(rows + 1)
    none[0] = each[rows] = 1.0
    return none, each


def _odds(epsilon: float) -> float:
    return 1 / (1 + exp(-epsilon))


def _against(noisy: bool, epsilon: float) -> str:
    return f"tacit's count at ε = {epsilon:g}" if noisy else "an exact count"


def _exact(questions: Mapping[str, FairQuestion]) -> dict[str, dict[str, float]]:
    return {name: {"exact": each.best, "tacit": each.best_private} for name, each in questions.items()}
