"""Programs: plain data both ways, one identity, and a price for the whole."""

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, Relation, RelationError, Sensitivity, SensitivityError
from tacit.loss import ZCDP, Cost
from tacit.loss.mu import lattice_mu_squared, pure_mu_squared
from tacit.mechanism import (
    MECHANISMS,
    BoundedMean,
    DiscreteGaussian,
    DiscreteLaplace,
    Example,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PartitionSelection,
    Quantile,
    RandomizedResponse,
)
from tacit.program import Adaptive, Program, Step, Task, canonical

COUNT = Step(name="count", mechanism=DiscreteLaplace(scale=Fraction(2)), sensitivity=Sensitivity.scalar(1))
GAUSS = Step(name="gauss", mechanism=DiscreteGaussian(sigma=Fraction(3)), sensitivity=Sensitivity.scalar(1))
WIDE = Step(name="step", mechanism=Gaussian(sigma=Fraction(8)), sensitivity=Sensitivity(l2=Fraction(8)))
KEYS = Step(name="keys", mechanism=PartitionSelection(epsilon=Fraction(1), delta=Fraction(1, 1000)))
QUERY = {"select": [{"count": "*"}, None, True], "where": {"age": "1/2", "är": -3}}
ONE = Program(steps=(COUNT,), tables=("people",), query=QUERY)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)


def changed(**change: Any) -> dict[str, Any]:
    return {**ONE.json(), **change}


def stored_step(**change: Any) -> dict[str, Any]:
    return changed(steps=[{**COUNT.json(), **change}])


@given(plain, st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)), st.sampled_from(list(Relation)))
def test_programs_round_trip(query: Any, tables: list[str], relation: Relation) -> None:
    program = Program(steps=(COUNT, GAUSS, KEYS), tables=tuple(tables), relation=relation, unit="user", query=query)
    for data in (program.json(), json.loads(program.text)):
        back = Program.from_json(data)
        assert back == program
        assert hash(back) == hash(program)
        assert (back.hash, back.text, back.cost) == (program.hash, program.text, program.cost)
        assert (back.steps, back.tables, back.query) == (program.steps, program.tables, program.query)


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_a_program_of_any_mechanism_round_trips(kind: type[Mechanism]) -> None:
    for example in kind.examples():
        program = Program(steps=(Step(name="x", mechanism=example.mechanism),), relation=relation_of(example))
        assert Program.from_json(json.loads(program.text)) == program


def relation_of(example: Example) -> Relation:
    return example.claim.relation


def test_the_identity_is_the_content_alone() -> None:
    turned = {"where": {"är": -3, "age": "1/2"}, "select": ({"count": "*"}, None, True)}
    same = Program(steps=(COUNT,), tables=("people", "people"), query=turned)
    assert (same.hash, same) == (ONE.hash, ONE)
    assert Program(steps=(COUNT,), tables=("b", "a")).hash == Program(steps=(COUNT,), tables=("a", "b")).hash
    others = [
        Program(steps=(COUNT, COUNT), tables=("people",), query=QUERY),
        Program(steps=(GAUSS,), tables=("people",), query=QUERY),
        Program(steps=(COUNT,), tables=("person",), query=QUERY),
        Program(steps=(COUNT,), tables=("people",), query=QUERY, unit="user"),
        Program(steps=(COUNT,), tables=("people",), query=QUERY, relation=Relation.REPLACE),
        Program(steps=(COUNT,), tables=("people",)),
        Program(steps=(COUNT,), tables=("people",), query={**QUERY, "select": [{"count": "*"}, None, 1]}),
    ]
    assert len({ONE, *others}) == len({p.hash for p in (ONE, *others)}) == len(others) + 1
    assert ONE != "a program"


def test_how_a_program_is_stored() -> None:
    """Letter by letter: another spelling would orphan every stored answer."""
    written = (
        '{"delta":null,"query":null,"relation":"add_remove","steps":[{"concentrated":false,'
        '"mechanism":{"name":"DiscreteLaplace","scale":"2"},'
        '"name":"count","rate":null,"sensitivity":{"dimension":1,"l1":"1","l2":"1","linf":"1"},"task":null,"times":1}],'
        '"tables":["a","b"],"unit":"row","version":2}'
    )
    program = Program(steps=(COUNT,), tables=("b", "a"))
    assert program.text == written
    assert program.hash == sha256(written.encode()).hexdigest()


def test_a_program_of_an_older_ledger_keeps_its_text() -> None:
    """Version 1 had no times, rate or task; ledgers hold its hash."""
    written = (
        '{"delta":null,"query":null,"relation":"add_remove","steps":[{"concentrated":false,'
        '"mechanism":{"name":"DiscreteLaplace","scale":"2"},'
        '"name":"count","sensitivity":{"dimension":1,"l1":"1","l2":"1","linf":"1"}}],'
        '"tables":["a","b"],"unit":"row","version":1}'
    )
    program = Program.from_json(json.loads(written))
    assert program.text == written
    assert program.cost == Program(steps=(COUNT,), tables=("b", "a")).cost
    with pytest.raises(InputError, match="version 1 has no times"):
        Program(steps=(replace(COUNT, times=2),), version=1)
    with pytest.raises(InputError, match="version 1 has no adaptive"):
        Program(steps=(Adaptive(name="a", limit=Fraction(1)),), version=1)


def test_a_step_runs_many_times_on_samples() -> None:
    once = replace(WIDE, task=Task(kind="train"))
    many = replace(once, times=1000, rate=Fraction(1, 100))
    program = Program(steps=(many,), delta=Fraction(1, 10**6))
    alone = once.loss(relation=Relation.ADD_REMOVE, unit="row").sampled(Fraction(1, 100))
    assert program.loss == 1000 * alone
    assert len(program.text) < 600
    assert Program.from_json(program.json()) == program
    assert program.cost.epsilon is not None
    assert program.cost.rho is not None
    assert float(program.cost.epsilon) == pytest.approx(2.12, abs=0.05)
    assert float(program.cost.rho) < 0.12  # ε²/2 would be 2.3
    with pytest.raises(InputError, match="does not gain from samples"):
        replace(many, concentrated=True)
    for wrong in ({"times": 0}, {"times": 1.5}, {"rate": 0}, {"rate": 2}):
        with pytest.raises(InputError):
            replace(once, **wrong)


def test_an_adaptive_step_costs_its_whole_limit() -> None:
    free = Adaptive(name="choose as you go", limit=Fraction(1, 2), task=Task(kind="aim", measures=("a", "b"), target=3))
    program = Program(steps=(free,))
    assert Program.from_json(program.json()) == program
    assert (program.cost.rho, program.cost.epsilon) == (Fraction(1, 2), None)  # an ε account needs a delta
    whole = Program(steps=(free,), delta=Fraction(1, 10**6)).cost
    assert whole.epsilon is not None
    assert float(whole.epsilon) >= ZCDP("0.5").epsilon("1e-6").lower
    fixed = replace(WIDE, rate=Fraction(1, 50))
    mixed = Program(steps=(free, fixed), delta=Fraction(1, 10**6)).cost
    alone = Program(steps=(fixed,), delta=Fraction(1, 10**6)).cost
    assert mixed.rho is not None
    assert alone.rho is not None
    assert mixed.rho == Fraction(1, 2) + alone.rho
    for wrong in ({"limit": 0}, {"limit": -1}, {"name": ""}):
        with pytest.raises(InputError):
            replace(free, **wrong)


def test_nothing_changes_a_program_from_outside() -> None:
    query = {"columns": ["age"]}
    program = Program(steps=(COUNT,), query=query)
    before = program.hash
    query["columns"].append("salary")
    program.json()["query"]["columns"].append("salary")
    program.json()["steps"].clear()
    assert program.query == {"columns": ["age"]}
    assert program.json()["query"] == {"columns": ["age"]}
    assert Program.from_json(program.json()).hash == before


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (0.5, "no floats.*write 0.5 as a string"),
        (float("nan"), "no floats"),
        (1.0, "no floats"),
        ({"a": [{"b": (1, 2.0)}]}, "no floats"),
        ({1: "a"}, "strings for keys, not int"),
        ({"a": [{None: 1}]}, "strings for keys, not NoneType"),
        ({True: 1}, "strings for keys, not bool"),
        (Fraction(1, 2), "not Fraction"),
        ({"a": b"x"}, "not bytes"),
        ({"a"}, "not set"),
        ("\ud800", "cannot be written"),
        ({"a": 10**5000}, "cannot be written"),
    ],
)
def test_what_is_not_plain_is_refused(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        canonical(data)
    with pytest.raises(InputError, match=said):
        Program(steps=(COUNT,), query=data)


def test_endless_data_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="nested"):
        canonical(endless)


def test_whatever_a_program_holds_a_ledger_entry_can() -> None:
    deep: Any = None
    for _ in range(90):
        deep = [deep]
    program = Program(steps=(COUNT,), query=deep)
    assert canonical({"kind": "charge", "program": program.json()})
    with pytest.raises(InputError, match="nested too deeply"):
        Program(steps=(COUNT,), query=[deep])


def test_canonical_json_is_sorted_and_bare() -> None:
    assert canonical({"b": [1, True, None], "a": "é\n", "relation": Relation.REPLACE}) == (
        '{"a":"é\\n","b":[1,true,null],"relation":"replace"}'
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "a stored program must be an object"),
        ({key: value for key, value in ONE.json().items() if key != "unit"}, "lacks unit"),
        (changed(extra=1), "unknown 'extra'"),
        (changed(version=3), "version 3; this release reads up to 2"),
        (changed(version=1.0), "version 1.0"),
        (changed(version=True), "version True"),
        (changed(version="1"), "version '1'"),
        (changed(relation="swap"), "relation must be"),
        (changed(relation=["replace"]), "relation must be"),
        (changed(unit=""), "unit must be a string"),
        (changed(unit=3), "unit must be a string"),
        (changed(tables="people"), "tables must be a list, not str"),
        (changed(tables={"people": 1}), "tables must be a list, not dict"),
        (changed(tables=["people", 3]), "name of a table"),
        (changed(tables=[""]), "name of a table"),
        (changed(tables=[["people"]]), "name of a table"),
        (changed(tables=["b", "a"]), "tables in order"),
        (changed(tables=["a", "a"]), "tables in order"),
        (changed(query=0.5), "no floats"),
        (changed(query={1: 2}), "strings for keys"),
        (changed(steps=[]), "at least one step"),
        (changed(steps={}), "steps must be a list, not dict"),
        (changed(steps="x"), "steps must be a list, not str"),
        (changed(steps=None), "steps must be a list, not NoneType"),
        (changed(steps=[None]), "a stored step must be an object"),
        (changed(steps=[{"name": "x"}]), "a stored step lacks mechanism, sensitivity"),
        (stored_step(note="x"), "a stored step has unknown 'note'"),
        (stored_step(name=None), "name of a step"),
        (stored_step(name=""), "name of a step"),
        (stored_step(mechanism="Laplace"), "a stored mechanism must be"),
        (stored_step(mechanism=None), "a stored mechanism must be"),
        (stored_step(sensitivity=1), "a stored sensitivity must be an object"),
        (stored_step(sensitivity={}), "a stored sensitivity lacks"),
    ],
)
def test_a_stored_program_is_read_strictly(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Program.from_json(data)


def test_wrong_arguments_are_refused_by_name() -> None:
    wrong: Any = ("people", COUNT.mechanism)
    with pytest.raises(InputError, match="tables must be a list, not str"):
        Program(steps=(COUNT,), tables=wrong[0])
    with pytest.raises(InputError, match="one of them is DiscreteLaplace"):
        Program(steps=(wrong[1],))
    with pytest.raises(InputError, match="at least one step"):
        Program(steps=())
    with pytest.raises(InputError, match="mechanism of step 'x' must be a mechanism, not str"):
        Step(name="x", mechanism=wrong[0])
    with pytest.raises(InputError, match="name of a step"):
        Step(name=wrong[1], mechanism=wrong[1])


def test_a_bare_number_is_no_sensitivity_of_a_step() -> None:
    one: Any = 1
    with pytest.raises(SensitivityError, match="step 'count' must say its norm"):
        Step(name="count", mechanism=COUNT.mechanism, sensitivity=one)


def test_pure_steps_cost_the_sum_in_both_currencies() -> None:
    cost = Program(steps=(COUNT, COUNT), relation=Relation.REPLACE, unit="user").cost
    assert (cost.epsilon, cost.rho, cost.delta) == (Fraction(1), Fraction(1, 4), Fraction(0))
    assert (cost.relation, cost.unit) == (Relation.REPLACE, "user")
    assert cost.mu_squared == Cost(mu_squared=2 * pure_mu_squared(Fraction(1, 2))).mu_squared


@pytest.mark.parametrize("steps", [(COUNT, GAUSS), (GAUSS, COUNT)])
def test_a_gaussian_step_leaves_no_epsilon(steps: tuple[Step, ...]) -> None:
    cost = Program(steps=steps).cost
    square = pure_mu_squared(Fraction(1, 2)) + lattice_mu_squared(Fraction(9))
    assert cost == Cost(rho=Fraction(1, 8) + Fraction(1, 18), mu_squared=square)


def test_a_gaussian_step_over_a_vector_on_a_coarse_lattice() -> None:
    size = Sensitivity(l2=Fraction(2), dimension=3)
    vector = Step(name="vector", mechanism=DiscreteGaussian(sigma=Fraction(3)), sensitivity=size)
    rho = Fraction(1, 8) + Fraction(1, 2) + Fraction(2, 9)
    square = pure_mu_squared(Fraction(1, 2)) + pure_mu_squared(Fraction(1)) + 4 * lattice_mu_squared(Fraction(9))
    expected = Cost(rho=rho, mu_squared=square, delta=Fraction(1, 1000))
    for steps in ((COUNT, KEYS, vector), (vector, KEYS, COUNT)):
        assert Program(steps=steps).cost == expected


def test_steps_that_need_no_sensitivity() -> None:
    mean = BoundedMean(
        lower=Fraction(0),
        upper=Fraction(2),
        sum_noise=Laplace(scale=Fraction(2)),
        count_noise=DiscreteLaplace(scale=Fraction(4)),
    )
    median = Quantile(lower=Fraction(0), upper=Fraction(9), scale=Fraction(4), quantile=Fraction(1, 2))
    steps = (KEYS, Step(name="mean", mechanism=mean), Step(name="median", mechanism=median))
    cost = Program(steps=steps).cost
    assert cost.epsilon == 1 + Fraction(1, 2) + Fraction(1, 4) + Fraction(1, 4)
    assert cost.delta == Fraction(1, 1000)
    survey = Step(name="answer", mechanism=RandomizedResponse(epsilon=Fraction(1)))
    assert Program(steps=(survey,), relation=Relation.REPLACE).cost.epsilon == 1


def test_a_missing_sensitivity_is_refused_when_priced() -> None:
    with pytest.raises(SensitivityError, match="sensitivity is missing"):
        _ = Program(steps=(Step(name="count", mechanism=COUNT.mechanism),)).cost
    with pytest.raises(InputError, match="leave it out"):
        _ = Program(steps=(Step(name="keys", mechanism=KEYS.mechanism, sensitivity=Sensitivity.scalar(1)),)).cost


def test_replacing_costs_what_the_mechanism_says() -> None:
    assert Program(steps=(KEYS,), relation=Relation.REPLACE).cost.epsilon == 2
    public = BoundedMean(lower=Fraction(0), upper=Fraction(2), sum_noise=DiscreteLaplace(scale=Fraction(2)), n=9)
    steps = (Step(name="mean", mechanism=public),)
    assert Program(steps=steps, relation=Relation.REPLACE).cost.epsilon == 1
    with pytest.raises((InputError, RelationError)):
        _ = Program(steps=steps).cost


def test_the_price_survives_storage() -> None:
    program = Program(steps=(COUNT, GAUSS, KEYS), unit="user", query=QUERY)
    back = Program.from_json(json.loads(program.text))
    assert back.cost == program.cost
    assert back.loss == program.loss


def test_priced_as_a_whole_at_a_delta() -> None:
    program = Program(steps=(COUNT,), delta=Fraction(1, 10**6))
    assert program.cost.delta == Fraction(1, 10**6)
    assert Program.from_json(program.json()) == program
    with pytest.raises(InputError, match="delta"):
        Program(steps=(COUNT,), delta=Fraction(2))


def test_a_selection_is_cheaper_in_its_own_zcdp() -> None:
    median = Quantile(lower=Fraction(0), upper=Fraction(9), scale=Fraction(4), quantile=Fraction(1, 2))
    step = Step(name="best", mechanism=median, sensitivity=Sensitivity.scalar(1))
    plain, own = Program(steps=(step,)), Program(steps=(replace(step, concentrated=True),))
    assert own.cost.rho is not None
    assert plain.cost.rho == 4 * own.cost.rho
    best = Program(steps=(replace(step, mechanism=Exponential(scale=Fraction(4))),))
    assert (best.cost.epsilon, best.cost.rho) == (Fraction(1, 2), Fraction(1, 32))  # by its bounded range
    assert Program.from_json(own.json()) == own
    with pytest.raises(InputError, match="no loss of its own in zCDP"):
        _ = Program(steps=(replace(COUNT, concentrated=True),)).loss
