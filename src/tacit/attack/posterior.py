"""The best guess from private counts: what noisy counts of a person's group tell about that person's secret.

The attacker knows more than most: who is in each group, how the noise is drawn, and how common each value is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.attack.generalise import covers
from tacit.attack.population import Data, Floats, Integers, chosen, combined, encoded, table_of
from tacit.base import InputError
from tacit.session.single import EACH_ROW, ask

__all__ = [
    "Suspects",
    "evidence",
    "normalised",
    "places_of",
    "private_counts",
    "private_evidence",
    "ruled_out",
    "sure_and_right",
    "suspects",
]

SURE = 0.95


def evidence(noisy: Integers, others: Integers, prior: Floats, *, epsilon: float) -> Floats:
    """How much likelier each value of each person's secret becomes: a factor within e^±epsilon, one row a person.

    `noisy[i, v]` is the released count of value v in the group of person i, discrete Laplace noise of scale 1/epsilon
    added and negative answers shown as 0; `others[i]` says how many more people are in it, whose values are
    drawn from `prior`. Values are taken one by one, which loses what their sum tells.
    """
    from scipy.stats import binom  # takes long to import

    if noisy.shape != (len(others), len(prior)) or epsilon <= 0:
        raise InputError("noisy must have a row for each of `others` and a column for each of `prior`, epsilon above 0")
    reach = np.arange(int(others.max(initial=0)) + 1)
    factors = np.empty(noisy.shape)
    for value, share in enumerate(prior):
        among = binom.pmf(reach, others[:, None], share)  # of so many others, how many have this value
        seen = np.maximum(noisy[:, value], 0)[:, None]
        without, with_one = _chance(seen, reach, epsilon), _chance(seen, reach + 1, epsilon)
        factors[:, value] = (among * with_one).sum(axis=1) / (among * without).sum(axis=1)
    return factors


def _chance(seen: Integers, count: Integers, epsilon: float) -> Floats:
    """The chance that `count` is released as `seen`: the pmf of the noise, and for 0 all that lies below."""
    ratio = exp(-epsilon)
    tail = ratio ** count.astype(float) / (1 + ratio)
    return np.where(seen == 0, tail, (1 - ratio) / (1 + ratio) * ratio ** np.abs(seen - count).astype(float))


def ruled_out(posterior: Floats, truth: Integers, facts: int) -> Floats:
    """The posterior of somebody who knows of each person the `facts` likeliest wrong values to be wrong."""
    left = posterior.copy()
    people = np.arange(len(truth))
    if facts >= posterior.shape[1]:
        raise InputError(f"facts is {facts}: there are only {posterior.shape[1] - 1} wrong values")
    for _ in range(facts):
        wrong = left.copy()
        wrong[people, truth] = -1
        left[people, wrong.argmax(axis=1)] = 0
    return normalised(left)


def normalised(weights: Floats) -> Floats:
    """Rows of chances that add up to 1."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def sure_and_right(posterior: Floats, truth: Integers | Sequence[int], *, sure: float = SURE) -> tuple[int, int]:
    """How many people's values the attacker claims to know, being `sure` of them, and how many of these are right."""
    claimed = posterior.max(axis=1) >= sure
    right = claimed & (posterior.argmax(axis=1) == np.asarray(truth))
    return int(claimed.sum()), int(right.sum())


def private_counts(table: pa.Table, keys: Mapping[str, Sequence[Any]], *, epsilon: float) -> Integers:
    """Noisy counts of rows, an axis for each of `keys` in its order; every row is another person's."""
    names = ", ".join(f'"{name}"' for name in keys)
    release = ask(
        table,
        f"SELECT {names}, COUNT(*) AS many FROM data GROUP BY {names}",
        unit_column=EACH_ROW,
        group_keys=keys,
        epsilon=epsilon,
    )
    told = release.table.drop_null()  # the data have no missing values, and everybody knows
    counts = np.zeros([len(values) for values in keys.values()], np.int64)
    counts[places_of(told, keys)] = told.column("many").to_numpy()
    return counts


def places_of(table: pa.Table, keys: Mapping[str, Sequence[Any]]) -> tuple[Integers, ...]:
    """For each of `keys` where the value of each row stands in its list."""
    return tuple(
        pc.index_in(table.column(name), value_set=pa.array(list(values), table.schema.field(name).type)).to_numpy()
        for name, values in keys.items()
    )


def private_evidence(
    table: pa.Table, keys: Mapping[str, Sequence[Any]], prior: Floats, *, epsilon: float, people: int | None = None
) -> Floats:
    """What private counts by `keys`, the last being the secret, tell about the first `people` rows: see `evidence`."""
    noisy = private_counts(table, keys, epsilon=epsilon)
    group = places_of(table, dict(list(keys.items())[:-1]))
    present = np.zeros(noisy.shape[:-1], np.int64)
    np.add.at(present, group, 1)
    mine = tuple(axis[:people] for axis in group)
    return evidence(noisy[mine], present[mine] - 1, prior, epsilon=epsilon)


@dataclass(frozen=True)
class Suspects:
    """`rows[i, v]` is how many released rows may be person i's and say `values[v]`."""

    rows: Integers
    values: tuple[Any, ...]

    def of(self, person: int = 0) -> dict[Any, int]:
        """The values possible for one person, with their rows."""
        found = self.rows[person]
        return {value: int(found[place]) for place, value in enumerate(self.values) if found[place]}


def suspects(release: Data, people: Data | Mapping[str, Any], quasi: Sequence[str], sensitive: str) -> Suspects:
    """The rows of `release` that each of `people` may be behind, by what they say in the column `sensitive`.

    `people` has the columns `quasi` with plain values, and `release` the same with labels as `covers` reads them.
    """
    shown = table_of(release, "release")
    known = pa.table({name: [value] for name, value in people.items()}) if isinstance(people, Mapping) else people
    known = table_of(known, "people")
    names = chosen(shown, quasi, "quasi")
    chosen(known, names, "quasi of people")
    if sensitive in names:
        raise InputError(f'"{sensitive}" cannot be sensitive and a quasi-identifier at once')
    columns = [encoded(shown.column(name)) for name in names]
    secret = encoded(shown.column(chosen(shown, [sensitive], "sensitive")[0]))
    _, first, group = np.unique(combined(columns).of, return_index=True, return_inverse=True)
    held = np.zeros((len(first), secret.size), np.int64)
    np.add.at(held, (group, secret.of), 1)
    fits: NDArray[np.bool_] = np.ones((known.num_rows, len(first)), bool)
    for name, codes in zip(names, columns, strict=True):
        mine = encoded(known.column(name))
        labels, values = codes.values.to_pylist(), mine.values.to_pylist()
        within = np.array([[covers(label, value) for label in labels] for value in values])
        fits &= within[mine.of][:, codes.of[first]]
    return Suspects(fits.astype(np.int64) @ held, tuple(secret.values.to_pylist()))
