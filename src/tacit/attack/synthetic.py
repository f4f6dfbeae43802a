"""Who was in the table that synthetic rows were made of, and what do the rows tell of them?

Membership: a person is called a member if a synthetic row is exactly theirs. Linkage: the secret of a person is read
off the synthetic rows that have their other values, if these agree. Both are tried on the people of the table and on as
many others like them, once against a generator without privacy (it knows the whole table by heart and draws from it),
once against tacit's synthetic rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.population import Chance, Data, Integers, chance, grouped, table_of
from tacit.attack.registry import Attempt, Outcome, Progress, bars, silent
from tacit.base import InputError
from tacit.policy import Currency
from tacit.session.single import EACH_ROW, OneTable

__all__ = ["RowAttack", "row_attack", "stage"]

TOWNS, YEARS, JOBS, ILLS = 40, 60, 12, 8


@dataclass(frozen=True, kw_only=True)
class RowAttack:
    """Of so many members and as many others: whose exact row was there, and whose secret the rows told rightly."""

    people: int
    found: int  # members whose row is there
    alarms: int  # others whose row is there all the same
    told: int  # members whose secret was read off, rightly
    guessed: int  # others of whom it was

    @property
    def right(self) -> int:
        """How often members were told from others, in twice `people` tries."""
        return self.found + self.people - self.alarms

    @property
    def advantage(self) -> float:
        """How much more often a member is called one than another person is."""
        return (self.found - self.alarms) / self.people


def row_attack(rows: Data, members: Data, others: Data, *, secret: str) -> RowAttack:
    """Both attacks on tables with the same columns, of which one is the secret."""
    shown, inside, outside = table_of(rows, "rows"), table_of(members, "members"), table_of(others, "others")
    if inside.num_rows != outside.num_rows:
        raise InputError("there must be as many others as members, so that chance is one half")
    names = inside.column_names
    known = [name for name in names if name != secret]
    found, alarms = (_there(shown, each, names) for each in (inside, outside))
    told, guessed = (_read_off(shown, each, known, secret) for each in (inside, outside))
    return RowAttack(people=inside.num_rows, found=found, alarms=alarms, told=told, guessed=guessed)


def _keys(shown: pa.Table, people: pa.Table, names: Sequence[str]) -> tuple[Integers, Integers]:
    """A number for each combination of values, the same in both tables."""
    try:
        both = pa.concat_tables([shown.select(names), people.select(names)], promote_options="permissive")
    except (pa.ArrowException, KeyError):
        raise InputError("the tables must have the same columns, of the same types") from None
    _, key = np.unique(grouped(both, list(names)).of, return_inverse=True)
    return key[: shown.num_rows], key[shown.num_rows :]


def _there(shown: pa.Table, people: pa.Table, names: Sequence[str]) -> int:
    mine, theirs = _keys(shown, people, names)
    return int(np.isin(theirs, mine).sum())


def _read_off(shown: pa.Table, people: pa.Table, known: Sequence[str], secret: str) -> int:
    """People whose secret all the rows agree on that have their other values, and rightly."""
    mine, theirs = _keys(shown, people, known)
    values, truth = _keys(shown, people, [secret])
    first, last = (np.full(int(max(mine.max(), theirs.max())) + 1, -1) for _ in range(2))
    order = np.argsort(values, kind="stable")
    last[mine[order]] = values[order]
    first[mine[order[::-1]]] = values[order[::-1]]
    return int(((first[theirs] == last[theirs]) & (first[theirs] == truth)).sum())


def made_up(count: int, dice: Chance) -> pa.Table:
    """People in towns with jobs that follow from them, and an illness that follows from age a little."""
    town = (dice.random(count) ** 2 * TOWNS).astype(int)
    year = dice.integers(0, YEARS, count)
    job = (town + dice.integers(0, 4, count)) % JOBS
    ill = np.where(dice.random(count) < 0.3, year * ILLS // YEARS, dice.integers(0, ILLS, count))
    sex = dice.integers(0, 2, count)
    return pa.table({"town": town, "year": year, "sex": sex, "job": job, "ill": ill})


DOMAINS: Mapping[str, int] = {"town": TOWNS, "year": YEARS, "sex": 2, "job": JOBS, "ill": ILLS}


def stage(*, seed: int = 1, people: int = 3000, epsilon: float = 1.0, progress: Progress = silent) -> Outcome:
    """A table of so many people; synthetic rows of it from a generator that knows it by heart, and from tacit."""
    dice = chance(seed)
    members, others = made_up(people, dice), made_up(people, dice)
    copied = members.take(pa.array(dice.integers(0, people, people)))
    undefended = row_attack(copied, members, others, secret="ill")
    progress(0.3)
    keys: dict[str, Sequence[Any]] = {name: range(size) for name, size in DOMAINS.items()}
    one = OneTable(data=members, unit_column=EACH_ROW, group_keys=keys, currency=Currency.EPSILON)
    with one.session() as session:
        made = session.synthesise("data", epsilon=epsilon, columns=list(DOMAINS)).release()
    progress(0.9)
    drawn = made.rows(people).table
    defended = row_attack(drawn, members, others, secret="ill")
    against = "a generator that knows the table by heart", f"tacit's synthetic rows at ε = {epsilon:g}"
    tries = 2 * people
    both = {against[0]: undefended, against[1]: defended}

    return Outcome(
        name="synthetic",
        headline="Synthetic rows are not private because they are synthetic",
        measure="people rightly told to be in the table or not, by looking for their exact row",
        chance=0.5,
        undefended=Attempt.counted(against[0], undefended.right, tries),
        defended=Attempt.counted(against[1], defended.right, tries),
        remarks=tuple(
            f"{label}: the exact row is there for {each.found / people:.1%} of the members, for "
            f"{each.alarms / people:.1%} of other people; the illness is read off rightly for "
            f"{each.told / people:.1%} and {each.guessed / people:.1%}"
            for label, each in both.items()
        ),
        facts={"epsilon": epsilon, "people": people}
        | {name: dict(vars(each)) for name, each in (("undefended", undefended), ("defended", defended))},
        draw=bars(
            [
                (f"{what}, {who}", Attempt.counted(label, count, people), label == against[1])
                for label, each in both.items()
                for what, counts in (
                    ("exact row is there", (each.found, each.alarms)),
                    ("illness is read off", (each.told, each.guessed)),
                )
                for who, count in zip(("members", "other people"), counts, strict=True)
            ],
            title=("Who was in the table, and what are they ill with?", " against ".join(against)),
            axis="share of the people",
        ),
    )
