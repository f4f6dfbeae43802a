"""The heart: whatever is asked, one unit moves what an engine computes by no more than the program says it does.

A random query is priced in both currencies and for both relations, its parts are run by a real engine on databases
that differ by one unit, and the integers before noise are compared, exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.databases import CATALOG, VERSIONS, Answer, Family
from support.facts import check_facts
from support.grammar import Written, questions
from support.queries import COMBINED, SOURCES, queries
from support.shop import PAIRED, SHOP, Shop
from support.shop import questions as shop_questions
from tacit.base import Exact, Relation, TacitError
from tacit.base.exact import opened
from tacit.engine.render import Statements
from tacit.engine.result import Fetch, answer_groups
from tacit.ledger import Receipt
from tacit.mechanism import (
    BinnedQuantiles,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    KeyedCounts,
    KeySelection,
)
from tacit.plan.bounded import LARGEST, Bounded, Clip
from tacit.plan.centre import centre_part, with_centre
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.price import Budget, PricedPlan, price
from tacit.plan.question import LoweredQuestion
from tacit.policy.account import Amount
from tacit.program import Program, Step, Task
from tacit.sql import Catalog, lower, parse
from tacit.sql.noise import choose_bound

QUICK, LONG = 30, 5000
SEEDS = 12
DELTA = Fraction(1, 10**6)
BUDGETS = (
    Budget(currency="rho", amount=Fraction(1, 8), delta=DELTA),
    Budget(currency="mu_squared", amount=Fraction(1, 4), delta=DELTA),
    Budget(currency="epsilon", amount=Fraction(3, 4), delta=DELTA),
    Budget(currency="epsilon", amount=Fraction(1)),
)
CONTRIBUTIONS = (
    Contribution(rows=Fraction(3)),
    Contribution(rows=PRIVATE),
    Contribution(rows=Fraction(5, 2), columns={"cost": Fraction(150), "change": PRIVATE}, max_groups=2),
    Contribution(max_groups=3, rows_per_group=2, per_group={"age": (Fraction(0), Fraction(30))}),
    Contribution(rows=PRIVATE, columns={"cost": PRIVATE, "age": Fraction(1, 2)}),
)
PAIRS = {
    Relation.ADD_REMOVE: (("whole", "without"), ("without", "replaced")),
    Relation.REPLACE: (("whole", "replaced"),),
}


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    for kept in FAMILIES.values():
        kept.close()
    FAMILIES.clear()


FAMILIES: dict[int, Family] = {}


def family(seed: int) -> Family:
    """Kept for the next example, and only so many."""
    if seed not in FAMILIES:
        if len(FAMILIES) >= SEEDS:
            FAMILIES.pop(next(iter(FAMILIES))).close()
        FAMILIES[seed] = Family(seed)
    return FAMILIES[seed]


contributions = st.sampled_from(CONTRIBUTIONS)
seeds = st.integers(0, SEEDS - 1)
many_seeds = st.integers(0, 10**6)
choices = st.integers(0, 17)  # which budget's plan is run, and which bound is taken where one is chosen privately


@pytest.mark.parametrize("kind", SOURCES)
def test_one_unit_moves_nothing_further_than_stated(kind: str) -> None:
    @examples(QUICK)
    @given(queries(kind), contributions, seeds, choices)
    def holds(sql: str, said: Contribution, seed: int, pick: int) -> None:
        check(sql, said, family(seed), pick)

    holds()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(cost) FROM visits",
        "SELECT ward, AVG(change), AVG(cost), COUNT(cost) FROM visits GROUP BY ward",
        "SELECT note, SUM(age), AVG(age), COUNT(*) FROM visits GROUP BY note",
        "SELECT urgent, AVG(dose * cost) FROM visits v JOIN treatments t ON v.patient_id = t.patient GROUP BY 1",
    ],
)
def test_a_private_centre(sql: str) -> None:
    for pick in (0, 4):  # both currencies, and bounds and centres of two sizes
        assert check(sql, Contribution(rows=PRIVATE), family(pick), pick)


@examples(QUICK)
@given(questions(), contributions, seeds, choices)
def test_the_grammar_of_the_fuzzer(written: Written, said: Contribution, seed: int, pick: int) -> None:
    check(written.sql, said, family(seed), pick)


@pytest.mark.parametrize("sql", COMBINED)
def test_combined_rows(sql: str) -> None:
    """In both currencies, with a declared clip and with one that is chosen."""
    assert check(sql, CONTRIBUTIONS[0], family(0), 0)
    assert check(sql, CONTRIBUTIONS[1], family(1), 2)


@pytest.mark.slow
@examples(LONG // 10)
@given(st.sampled_from(COMBINED), contributions, many_seeds, choices)
def test_combined_rows_long(sql: str, said: Contribution, seed: int, pick: int) -> None:
    check(sql, said, family(seed), pick)


UNLISTED = (
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT note, urgent, COUNT(*), SUM(cost), MEDIAN(age) FROM visits GROUP BY note, urgent",
    "SELECT note, COUNT(DISTINCT patient_id), AVG(change) FROM visits GROUP BY note",
    "SELECT note, AVG(level), VARIANCE(level) FROM visits GROUP BY note",  # a count beside its moments
)


@examples(QUICK)
@given(st.sampled_from(UNLISTED), contributions, seeds, choices)
def test_keys_that_a_count_decides_on(sql: str, said: Contribution, seed: int, pick: int) -> None:
    """Also where the quote would decide on them by weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.plan.price.answer_error", lambda bounded, steps: bounded.parts[0].counted is None)
        assert check(sql, said, family(seed), pick) or BUDGETS[pick % len(BUDGETS)].delta == 0


SHOPPED = [(catalog, sql) for catalog in (SHOP, PAIRED) for sql in shop_questions(catalog)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_customer_who_reuses_everybodys_keys(seed: int) -> None:
    """Over links, at every depth: what others add does not depend on her, and what she adds is within the bound."""
    for catalog in (SHOP, PAIRED):
        shop = Shop(seed, catalog)
        try:
            for number, sql in list(enumerate(shop_questions(catalog)))[seed % 3 :: 3]:
                said = CONTRIBUTIONS[(number + seed) % 2]
                assert check(sql, said, shop, number + seed, catalog) or BUDGETS[(number + seed) % 4].delta == 0, sql
        finally:
            shop.close()


@pytest.mark.parametrize("catalog", [SHOP, PAIRED], ids=["one column", "two columns"])
def test_the_shorter_way_over_links(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without her, and of her alone, each key leads to one customer; with her, to two: then the longer way is taken."""
    monkeypatch.setattr("tacit.engine.per_unit.WORTHWHILE", 1)
    monkeypatch.setattr("tacit.engine.per_unit.MANY", 1)
    ways: set[int] = set()

    def spied(statements: Statements, keys: int, fetch: Fetch) -> Sequence[Sequence[Any]]:
        asked: list[str] = []

        def noted(sql: str) -> Sequence[Any]:
            asked.append(sql)
            return fetch(sql)

        found = answer_groups(statements, keys, noted)
        if statements.light is not None:
            ways.add(len(asked))
        return found

    monkeypatch.setattr("tacit.engine.result.answer_groups", spied)
    for seed in (1, 2):
        shop = Shop(seed, catalog, tidy=True)
        for number, sql in enumerate(shop_questions(catalog)):
            if "FROM items" in sql and "orders" not in sql:
                said = (CONTRIBUTIONS[0], Contribution(rows=Fraction(9)))[number % 2]
                assert check(sql, said, shop, number + seed, catalog) or BUDGETS[(number + seed) % 4].delta == 0, sql
        shop.close()
    assert ways == {1, 2}


@pytest.mark.slow
@examples(1000)
@given(st.sampled_from(SHOPPED), contributions, many_seeds, choices)
def test_a_customer_who_reuses_everybodys_keys_long(
    asked_of: tuple[Catalog, str], said: Contribution, seed: int, pick: int
) -> None:
    catalog, sql = asked_of
    shop = Shop(seed, catalog)
    try:
        check(sql, said, shop, pick, catalog)
    finally:
        shop.close()


@pytest.mark.slow
@examples(LONG)
@given(queries(), contributions, many_seeds, choices)
def test_one_unit_moves_nothing_further_than_stated_long(sql: str, said: Contribution, seed: int, pick: int) -> None:
    check(sql, said, family(seed), pick)


@pytest.mark.slow
@examples(LONG)
@given(questions(), contributions, many_seeds, choices)
def test_the_grammar_of_the_fuzzer_long(written: Written, said: Contribution, seed: int, pick: int) -> None:
    check(written.sql, said, family(seed), pick)


def asked(sql: str, catalog: Catalog = CATALOG) -> LoweredQuestion | None:
    """None where it is refused; any other exception is a failure."""
    try:
        return lower(parse(sql, None), catalog)
    except TacitError:
        return None


def check(sql: str, said: Contribution, data: Family | Shop, pick: int, catalog: Catalog = CATALOG) -> bool:
    """Whether the question was answered; if so, everything that the program states of it holds."""
    question = asked(sql, catalog)
    if question is None:
        return False
    check_facts(question, data)
    seen: dict[tuple[Bounded, ...], list[Run]] = {}
    for place, budget in enumerate(BUDGETS):
        for relation in Relation:
            try:
                priced = price(question, budget, relation=relation, unit="patient", contribution=said)
            except TacitError:
                continue
            check_program(priced, budget, relation)
            parts = priced.parts
            if parts not in seen and place == pick % len(BUDGETS):
                seen[parts] = [Run(part, data, pick // len(BUDGETS)) for part in parts]
            for number, run in enumerate(seen.get(parts, ())):
                check_part(priced, number, run, relation)
    return bool(seen)


class Run:
    """One part with every bound filled in, and its answers on each version of a database."""

    def __init__(self, part: Bounded, data: Family | Shop, pick: int) -> None:
        self.data = data
        self.centres = {
            centre.clip: {
                version: data.run(centre_part(part, centre, part.clips[0].norm), version) for version in VERSIONS
            }
            for centre in part.centres
        }
        for place, centre in enumerate(part.centres):  # at any two cells, in order
            last = centre.ranks.cells - 1
            part = with_centre(part, place, (last * pick // 10, last * (pick + 4) // 10))
        self.part = part
        edges = {place: clip.edges for place, clip in enumerate(part.clips) if clip.bound is None}
        self.norms = {version: data.norms(part, edges, version) for version in VERSIONS if edges and version != "alone"}
        self.filled = replace(part, clips=tuple(_filled(clip, pick) for clip in part.clips))
        self.answers = {version: data.run(self.filled, version) for version in VERSIONS}
        self.check_sums()

    def check_sums(self) -> None:
        """What others add does not depend on the unit: with it, its own contribution is there as well, and no more."""
        whole, without, alone = (self.answers[version] for version in VERSIONS[:3])
        if self.part.presence is not None:
            assert _added(without["presence"], alone["presence"]) == _nonzero(whole["presence"])
        distinct = {measure.name for measure in self.part.measures if measure.kind == "distinct"}
        for name in whole.keys() - distinct - {"presence"}:
            both = _added(without[name], alone[name])
            if self.part.presence is not None and name not in {ranks.name for ranks in self.part.ranks}:
                both = {group: value for group, value in both.items() if group in whole["presence"]}
            assert both == _nonzero(whole[name]), name


def _filled(clip: Clip, pick: int) -> Clip:
    """With a bound as a private choice may find it: one of the edges, or so many rows."""
    if clip.bound is not None:
        return clip
    if clip.by_rows:
        return replace(clip, bound=min(Fraction(LARGEST), Fraction(ceil(clip.row * Fraction(2**pick, 2)))))
    return replace(clip, bound=Fraction(clip.edges[min(3 * pick, len(clip.edges) - 1)]))


def _nonzero(found: Mapping[Any, int]) -> dict[Any, int]:
    return {group: value for group, value in found.items() if value}


def _added(one: Mapping[Any, int], two: Mapping[Any, int]) -> dict[Any, int]:
    return _nonzero({group: one.get(group, 0) + two.get(group, 0) for group in one.keys() | two.keys()})


def check_program(priced: PricedPlan, budget: Budget, relation: Relation) -> None:
    program = priced.program
    assert program.relation is relation
    assert Program.from_json(program.json()) == program
    costs = [step.loss(relation=relation, unit="patient").cost() for step in program.steps]
    spent = getattr(program.cost, budget.currency)
    assert spent is not None
    assert spent <= budget.amount + Fraction(1, 10**12)  # a cost is rounded up to so many decimals
    assert program.cost.delta <= budget.delta
    if program.delta is None:
        stated = [getattr(cost, budget.currency) for cost in costs]
        total = sum((each for each in stated if each is not None), Fraction(0))
        assert None not in stated
        assert total - Fraction(len(costs), 10**12) <= spent <= total
        assert sum(cost.delta for cost in costs) == program.cost.delta
    wanted = {(task.part, task.clip) for task, _ in priced.steps if task.kind in ("noise", "quantiles", "ends")}
    clips = {(p, c) for p, part in enumerate(priced.parts) for c in range(len(part.clips))}
    assert wanted == clips  # nothing is computed that has no noise


def check_part(priced: PricedPlan, number: int, run: Run, relation: Relation) -> None:
    chosen: set[int] = set()
    for task, step in priced.steps:
        if task.part != number:
            continue
        for one, two in PAIRS[relation]:
            if task.kind == "choose":
                assert task.clip is not None
                chosen.add(task.clip)
                check_choice(priced, task, step, run, (one, two), relation)
            elif task.kind == "centre":
                check_centre(step, task, run, (one, two), relation)
            elif task.kind == "select":
                check_presence(step, run, run.answers[one], run.answers[two], relation)
            else:
                check_clip(step, task, run, run.answers[one], run.answers[two], relation)
    open_clips = [(place, clip) for place, clip in enumerate(run.part.clips) if clip.bound is None]
    for place, clip in open_clips:  # each has a choice of its own, or shares one between clips that go by rows
        assert place in chosen or (clip.by_rows and any(run.part.clips[c].by_rows for c in chosen))


def check_centre(step: Step, task: Task, run: Run, versions: tuple[str, str], relation: Relation) -> None:
    """One unit's mass over all cells of the one group there is: added to what others have, and never above one row."""
    assert task.clip is not None
    assert step.sensitivity is not None
    assert isinstance(step.mechanism, BinnedQuantiles)
    assert step.sensitivity.dimension == 1
    (centre,) = [centre for centre in run.part.centres if centre.clip == task.clip]
    stated = step.sensitivity.require("l1")
    assert stated == centre.ranks.one
    assert step.mechanism.cells == centre.ranks.cells
    answers = {version: answer[centre.ranks.name] for version, answer in run.centres[task.clip].items()}
    for version in {*versions} - {"without"}:
        own = {
            cell: answers[version].get(cell, 0) - answers["without"].get(cell, 0)
            for cell in answers[version].keys() | answers["without"].keys()
        }
        assert min(own.values(), default=0) >= 0
        assert sum(own.values()) <= stated
    sure = step.mechanism.loss(step.sensitivity, relation=relation, unit="patient")
    assert step.loss(relation=relation, unit="patient").cost() == sure.cost()


def check_clip(step: Step, task: Task, run: Run, one: Answer, two: Answer, relation: Relation) -> None:
    assert task.clip is not None
    original, clip = run.part.clips[task.clip], run.filled.clips[task.clip]
    assert clip.bound is not None
    noise = step.mechanism
    if isinstance(noise, KeyedCounts):
        check_counts(noise, task, run, one, two)
        noise = noise.noise
    assert step.sensitivity is not None
    units = Fraction(1) if original.bound is not None else clip.bound
    stated = step.sensitivity.require(clip.norm) * units
    if task.kind == "noise":
        assert isinstance(noise, DiscreteLaplace if clip.norm == "l1" else DiscreteGaussian)
        moved = [
            scale * change
            for name, scale in zip(clip.names, clip.scales, strict=True)
            for change in differences(run.part, name, one, two)
        ]
        assert norm(moved, clip) <= power(stated, clip), (clip.names, float(stated))
        if step.sensitivity.dimension == 1:
            assert len(moved) <= 1
        return
    masses = [per_group(answer[clip.names[0]]) for answer in (one, two)]
    single = step.sensitivity.dimension == 1
    assert not single or not run.part.keys
    if relation is Relation.REPLACE:
        # either vector, what both databases share apart, has the norm on its own
        rest = per_group(run.answers["without"][clip.names[0]])
        for mass in masses:
            own = [Fraction(mass.get(g, 0) - rest.get(g, 0)) for g in mass.keys() | rest.keys()]
            assert min(own, default=0) >= 0
            assert norm(own, clip) <= power(stated, clip)
        return
    own = [Fraction(masses[0].get(g, 0) - masses[1].get(g, 0)) for g in masses[0].keys() | masses[1].keys()]
    assert norm(own, clip) <= power(stated, clip)
    name = clip.names[0]  # all of a unit's mass has one sign: counts are added, never taken away
    signs = {change > 0 for change in differences(run.part, name, one, two) if change}
    assert len(signs) <= 1


def differences(part: Bounded, name: str, one: Answer, two: Answer) -> list[int]:
    """Over all groups; a group that presence hides in one of the two is for its mechanism to hide in the other."""
    groups = one[name].keys() | two[name].keys()
    ranked = {ranks.name for ranks in part.ranks}
    if part.presence is not None and name not in ranked:
        groups = one["presence"].keys() & two["presence"].keys()
    return [one[name].get(group, 0) - two[name].get(group, 0) for group in groups]


def per_group(found: Mapping[Any, int]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for place, count in found.items():
        total[place[:-1]] = total.get(place[:-1], 0) + count
    return total


def norm(values: list[Fraction], clip: Clip) -> Fraction:
    """The l1 norm, or the square of the l2 norm."""
    return sum((v * v if clip.norm == "l2" else abs(v) for v in values), Fraction(0))


def power(size: Fraction, clip: Clip) -> Fraction:
    return size * size if clip.norm == "l2" else size


def check_presence(step: Step, run: Run, one: Answer, two: Answer, relation: Relation) -> None:
    mechanism = step.mechanism
    presence = run.part.presence
    assert isinstance(mechanism, KeySelection)
    assert presence is not None
    assert (presence.one, presence.norm) == (mechanism.one, mechanism.norm)
    rest = run.answers["without"]["presence"]
    for answer in (one, two):
        assert all(weight > 0 for weight in answer["presence"].values())
        own = [weight - rest.get(group, 0) for group, weight in answer["presence"].items()]
        assert min(own, default=0) >= 0
        assert rest.keys() <= answer["presence"].keys()
        size = sum(v * v for v in own) if presence.norm == "l2" else sum(own)
        assert size <= (presence.one**2 if presence.norm == "l2" else presence.one)


def check_counts(mechanism: KeyedCounts, task: Task, run: Run, one: Answer, two: Answer) -> None:
    """All that one unit adds to the counts, on keys of its own too, is no longer than what the threshold is for."""
    assert task.clip is not None
    clip, name = run.filled.clips[task.clip], task.measures[0]
    assert clip.bound is not None
    mechanism = mechanism.scaled(clip.bound if task.scaled else 1)
    assert name == run.part.counted
    assert (mechanism.norm, mechanism.most) == (clip.norm, clip.bound)
    rest = run.answers["without"][name]
    for answer in (one, two):
        own = [Fraction(answer[name].get(group, 0) - rest.get(group, 0)) for group in answer[name].keys() | rest.keys()]
        assert min(own, default=0) >= 0
        assert norm(own, clip) <= power(mechanism.most, clip)


def scores_of(priced: PricedPlan, step: Step, run: Run, units: Exact[Any]) -> list[int]:
    """What a bound is chosen by, from the very code that chooses it."""
    seen: list[list[int]] = []

    def record(self: Exponential, value: Any, rng: Any = None) -> int:
        seen.append(list(value))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exponential, "sample", record)
        choose_bound(priced, step, run.part, units, _paid(priced))
    (scores,) = seen
    return scores


def _paid(priced: PricedPlan) -> Receipt:
    amount = Amount(1, 0)
    return Receipt(people="p", analyst="a", key="k", seq=1, time=0, amount=amount, program=priced.program.hash,
                   digest=b"", ledger="l", replayed=False)  # fmt: skip


def check_choice(
    priced: PricedPlan, task: Task, step: Step, run: Run, versions: tuple[str, str], relation: Relation
) -> None:
    assert task.clip is not None
    exact: list[Exact[Any]] = [run.norms[version] for version in versions]
    one, two = (opened(each)[task.clip] for each in exact)
    assert int(np.abs(one - two).sum()) <= (1 if relation is Relation.ADD_REMOVE else 2)
    first, second = (scores_of(priced, step, run, each) for each in exact)
    assert len(first) == len(run.part.clips[task.clip].edges)
    assert step.sensitivity is not None
    assert max(abs(a - b) for a, b in zip(first, second, strict=True)) <= step.sensitivity.require("linf")
    assert isinstance(step.mechanism, Exponential)
    changes = {a > b for a, b in zip(first, second, strict=True) if a != b}
    assert len(changes) <= 1  # also where the target goes by the number of units
    assert step.mechanism.monotone


def test_a_declared_step_is_enforced() -> None:
    """Ranges of quotients, and keys, follow from a step that is a power of two; so rows must be on it."""
    data = Family(3, gridded=False)
    try:
        question = asked("SELECT dose, MAX(CLAMP(dose, -5, 9)), SUM(1 / dose) FROM treatments GROUP BY dose")
        assert question is not None
        check_facts(question, data)
    finally:
        data.close()


def test_most_of_the_grammar_is_answered() -> None:
    """Else the tests above would show little."""
    answered = []

    @examples(100)
    @given(queries())
    def count(sql: str) -> None:
        question = asked(sql)
        try:
            assert question is not None
            how = {"relation": Relation.REPLACE, "unit": "patient", "contribution": CONTRIBUTIONS[2]}
            price(question, BUDGETS[0], **how)  # type: ignore[arg-type]  # of several kinds
        except (AssertionError, TacitError):
            answered.append(False)
        else:
            answered.append(True)

    count()
    assert sum(answered) > 0.6 * len(answered)
