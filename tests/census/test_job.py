"""The whole way: planned, refused before the charge, charged, counted, released, stored and read again."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from support.census import AGES, COLUMNS, QUERIES, RACES, country, people, policy_of
from support.fixed_rng import FixedRng, drawing_from
from tacit.base import Denied, InputError, OverBudget, PolicyError, TacitError
from tacit.census import CensusTables, Spine
from tacit.session import Session

SPINE = country()
PEOPLE = people(SPINE)
HELD = ["state.total", "block.vacant"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(policy_of(tmp_path, PEOPLE, invariants=HELD), "ana") as opened:
        yield opened


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def truth(level: str, *columns: str) -> Counter[tuple[str, ...]]:
    above = dict(zip(SPINE.names[-1], SPINE.above[SPINE.place(level)], strict=True))
    rows = PEOPLE.select(["block", *columns]).to_pylist()
    return Counter((SPINE.names[SPINE.place(level)][above[row["block"]]], *(row[c] for c in columns)) for row in rows)


def test_all_levels_agree_and_invariants_hold(session: Session) -> None:
    plan = session.census("people", SPINE, rho="0.5", queries=QUERIES, invariants=HELD)
    with drawing_from(FixedRng(1)):
        made = plan.release()
    assert made.levels == SPINE.levels
    assert made.total("state") == {"s0": PEOPLE.num_rows}
    lived = truth("block")
    assert all(count == 0 for place, count in made.total("block").items() if (place,) not in lived)
    for level in SPINE.levels:
        table = made.table(level)
        assert pa.types.is_integer(table.schema.field("count").type)
        assert table.column_names == [*SPINE.levels[: SPINE.place(level) + 1], *COLUMNS, "count"]
        assert min(table.column("count").to_pylist()) > 0
        assert sum(table.column("count").to_pylist()) == PEOPLE.num_rows
    by_county = Counter[str]()
    for row in made.table("block", "race").to_pylist():
        by_county[row["county"]] += row["count"]
    assert dict(by_county) == made.total("county")
    races = made.table("tract", "race")
    assert races.num_rows == 4 * len(RACES)
    assert races.column("race").to_pylist()[: len(RACES)] == list(RACES)
    assert made.table("tract", "race", zeros=False).num_rows <= races.num_rows
    assert made.problems() == []
    assert "s0" not in repr(made)
    assert f"{PEOPLE.num_rows:,} people" in repr(made)


def test_a_quote_is_free_and_is_what_is_charged(session: Session) -> None:
    plan = session.census("people", SPINE, rho="0.5", queries=QUERIES, invariants=HELD)
    quote = plan.quote()
    assert spent(session) == 0
    assert quote.cost.rho == pytest.approx(Fraction(1, 2), rel=1e-9)
    assert [each.column for each in quote.expected][:2] == ["state.total", "state.race"]
    assert "NOT protected, since it is released exactly: state.total, block.vacant" in quote.notes[0]
    errors = plan.errors()
    assert [(each["level"], each["query"]) for each in errors[:2]] == [("state", "total"), ("state", "race")]
    assert errors[0]["error"] == 0 < errors[1]["error"]
    made = plan.release()
    assert spent(session) == quote.cost.rho * 10**18
    assert made.errors() == errors
    assert made.notes == quote.notes
    assert not made.cached
    again = session.census("people", SPINE, rho="0.5", queries=QUERIES, invariants=HELD).release()
    assert again.cached
    assert again.arrow.equals(made.arrow)
    assert spent(session) == quote.cost.rho * 10**18
    session.census("people", SPINE, rho="0.25", queries=QUERIES, invariants=HELD).release()
    assert spent(session) > quote.cost.rho * 10**18


def test_another_geography_is_another_question(session: Session) -> None:
    one = session.census("people", SPINE, rho=1, queries=QUERIES)
    for other in (
        session.census("people", country(blocks=6), rho=1, queries=QUERIES),
        session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD),
        session.census("people", SPINE, rho=1, queries=QUERIES, zeros=[{"race": "other"}]),
        session.census("people", SPINE, rho=1, queries=QUERIES, passes=2),
        session.census("people", SPINE, rho=1, queries={"total": 1, "race": 1}, columns=["age", "hisp"]),
    ):
        assert other.job.program != one.job.program
    same = session.census("people", country(), rho="1.0", queries=QUERIES, workers=3)
    assert same.job.program == one.job.program


def test_the_error_is_what_was_announced(session: Session) -> None:
    """Within a factor: announced are counts that may be negative, in families of average size."""
    plan = session.census("people", SPINE, rho="0.5", queries=QUERIES)
    announced = {(each["level"], each["query"]): each["error"] for each in plan.errors()}
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(6):
        with drawing_from(FixedRng(seed)):
            made = plan.release(idempotency_key=f"round {seed}") if seed == 0 else _anew(session, seed)
        for level in SPINE.levels:
            for query, columns in (("total", ()), ("race", ("race",))):
                exact = truth(level, *columns)
                for row in made.table(level, query).to_pylist():
                    key = (row[level], *(row[column] for column in columns))
                    found.setdefault((level, query), []).append(abs(row["count"] - exact[key]))
    for place, errors in found.items():
        assert np.mean(errors) < 1.4 * announced[place], place


def _anew(session: Session, seed: int) -> CensusTables:
    """Another draw: a program that differs by next to nothing."""
    return session.census("people", SPINE, rho=Fraction(1, 2) + Fraction(seed, 10**9), queries=QUERIES).release()


def test_the_release_is_stored_without_code_and_read_again(session: Session, tmp_path: Path) -> None:
    made = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD).release()
    made.save(tmp_path / "made.census")
    read = CensusTables.read(tmp_path / "made.census")
    assert read.arrow.equals(made.arrow)
    assert read.table("tract", "age*hisp").equals(made.table("tract", "age*hisp"))
    assert read.errors() == made.errors()
    assert read.facts["cost"] == made.facts["cost"]
    made.to_parquet(tmp_path / "made.parquet")
    made.to_csv(tmp_path / "made.csv")
    parquet = pq.read_table(tmp_path / "made.parquet")
    csv = pyarrow.csv.read_csv(tmp_path / "made.csv")
    assert sum(parquet.column("count").to_pylist()) == sum(csv.column("count").to_pylist()) == PEOPLE.num_rows
    assert csv.column("block").to_pylist() == made.arrow.column("block").to_pylist()
    certificate = session.certificate(made.release)
    content: Any = certificate.content
    assert content["answer"]["kind"] == "rows"
    assert "NOT protected, since it was released exactly: state.total, block.vacant" in content["protects"]["words"]
    with pytest.raises(InputError, match="is no census"):
        CensusTables.from_bytes(session.ask("SELECT COUNT(*) FROM people", rho=1).to_bytes())
    with pytest.raises(InputError, match="cannot be read"):
        CensusTables.read(tmp_path / "nothing")


def test_recodes_and_zeros(session: Session) -> None:
    recodes = {"colour": {"column": "race", "groups": {"w": ["white"], "rest": RACES[1:]}}}
    plan = session.census(
        "people",
        SPINE,
        rho=50,
        queries={"total": 1, "colour": 2, "colour*age": 1, "detail": 3},
        recodes=recodes,
        zeros=[{"colour": "rest", "age": "minor"}],
    )
    made = plan.release()
    colours = made.table("state", "colour*age").to_pylist()
    assert [row["colour"] for row in colours] == ["w", "w", "rest", "rest"]
    assert next(row["count"] for row in colours if (row["colour"], row["age"]) == ("rest", "minor")) == 0
    assert list(made.schema.categories) == ["race", "age"]


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("currency", ["rho", "epsilon", "mu_squared"])
def test_every_account_pays_in_its_own(tmp_path: Path, relation: str, currency: str) -> None:
    with Session(policy_of(tmp_path, PEOPLE, relation=relation, currency=currency), "ana") as session:
        plan = session.census("people", SPINE, epsilon=2, delta="1e-11", queries=QUERIES)
        cost = plan.quote().cost
        paid = getattr(cost, currency)
        assert paid is not None
        if currency == "epsilon":
            assert paid <= 2
            assert cost.delta == Fraction(1, 10**11)
        assert plan.release().problems() == []
        sigma = plan.job.program.steps[0].mechanism.sigma  # type: ignore[union-attr]
        other = "add_remove" if relation == "replace" else "replace"
        (tmp_path / "other").mkdir()
        with Session(policy_of(tmp_path / "other", PEOPLE, relation=other, currency=currency), "ana") as beside:
            there = beside.census("people", SPINE, epsilon=2, delta="1e-11", queries=QUERIES)
            factor = float(sigma / there.job.program.steps[0].mechanism.sigma)  # type: ignore[union-attr]
        assert factor == pytest.approx(2**0.5 if relation == "replace" else 0.5**0.5, rel=1e-6)


def test_a_unit_of_several_rows_takes_more_noise(tmp_path: Path) -> None:
    whose = 'unit_column = "id"\nmax_rows_per_unit = 2\nclip_rows = 2'
    with Session(policy_of(tmp_path, PEOPLE, whose=whose), "ana") as session:
        plan = session.census("people", SPINE, rho=16, queries=QUERIES)
        assert float(plan.job.program.steps[0].mechanism.sigma) == pytest.approx(2)  # type: ignore[union-attr]
        assert plan.release().problems() == []


def test_an_empty_table_is_a_census_of_nobody(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, PEOPLE.slice(0, 0), invariants=HELD), "ana") as session:
        made = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD).release()
        assert set(made.total("block").values()) == {0}
        noisy = session.census("people", SPINE, rho="0.01", queries=QUERIES).release()
        assert min(noisy.total("block").values()) >= 0


def test_places_and_categories_that_were_not_declared_count_nowhere(tmp_path: Path) -> None:
    extra = PEOPLE.slice(0, 3).set_column(1, "block", pa.array(["nowhere"] * 3))
    wrong = PEOPLE.slice(3, 2).set_column(2, "race", pa.array(["martian"] * 2))
    data = pa.concat_tables([PEOPLE, extra, wrong])
    with Session(policy_of(tmp_path, data, invariants=HELD), "ana") as session:
        made = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD).release()
        assert made.total("state") == {"s0": PEOPLE.num_rows}


@pytest.mark.parametrize("passes", [1, 2])
def test_one_pass_or_two(session: Session, passes: int) -> None:
    plan = session.census("people", SPINE, rho=1, queries=QUERIES, passes=passes)
    assert ("totals are settled first at state, county" in plan.quote().notes[-1]) is (passes == 2)
    assert plan.release().problems() == []


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"rho": None}, 'say what it may cost: either rho="1"'),
    ({"epsilon": 1}, 'say what it may cost: either rho="1"'),
    ({"rho": 0}, "rho"),
    ({"queries": {"total": 1}}, "which columns are counted"),
    ({"queries": ["total", "race"]}, "queries say their weights"),
    ({"queries": {"town": 1}}, "no such column"),
    ({"queries": {"race*race": 1}}, "names a column twice"),
    ({"queries": {"street": 1}}, 'column "street" has no short list of categories: declare group_keys'),
    ({"queries": {"note": 1}}, 'column "note" may be NULL.*declare nullable = false'),
    ({"queries": {"race": 1, "block": 1}}, "'block' is a level of the spine"),
    ({"columns": ["block"]}, "'block' is a level of the spine"),
    ({"invariants": ["county.total"]}, 'table "people": "county.total" would be released exactly'),
    ({"zeros": [{"race": "green"}]}, "'green', which is no category of 'race'"),
    ({"recodes": {"r": {"column": "race"}}}, "says a column and groups"),
    ({"recodes": {"r": {"column": "race", "groups": {"x": RACES, "y": RACES[:1]}}}}, "has 'white' in two groups"),
    ({"passes": 3}, "passes is 1"),
    ({"workers": 0}, "workers must be 1 or more"),
    ({"rho": None, "epsilon": 1, "delta": 0}, "delta"),
    ({"delta": "1e-9"}, "rho has no delta: leave delta out"),
]


@pytest.mark.parametrize(("more", "told"), MISTAKES)
def test_mistakes_are_told_before_the_charge(session: Session, more: dict[str, Any], told: str) -> None:
    with pytest.raises(TacitError, match=told):
        session.census("people", SPINE, **{"rho": 1, "queries": QUERIES, **more})
    assert spent(session) == 0


def test_a_spine_and_a_table_that_do_not_suit(session: Session, tmp_path: Path) -> None:
    for spine, told in ((Spine("town", places=["a"]), "no such column"), ("block", "the spine says")):
        with pytest.raises(InputError, match=told):
            session.census("people", spine, rho=1, queries=QUERIES)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no table"):
        session.census("nobody", SPINE, rho=1, queries=QUERIES)
    (tmp_path / "many").mkdir()
    whose = 'unit_column = "id"\nclip_rows = 2'
    with (
        Session(policy_of(tmp_path / "many", PEOPLE, whose=whose), "ana") as many,
        pytest.raises(PolicyError, match="does not say how many rows one person has"),
    ):
        many.census("people", SPINE, rho=1, queries=QUERIES)


def test_what_the_budget_does_not_hold_is_refused(session: Session) -> None:
    with pytest.raises(Denied, match="costs rho 2000"):
        session.census("people", SPINE, rho=2000, queries=QUERIES).release()
    session.census("people", SPINE, rho=600, queries=QUERIES).release()
    assert not session.census("people", SPINE, rho=500, queries=QUERIES).quote().enough
    with pytest.raises(OverBudget):
        session.census("people", SPINE, rho=500, queries=QUERIES).release()


def test_exact_counts_need_the_relation_of_a_census(tmp_path: Path) -> None:
    with (
        Session(policy_of(tmp_path, PEOPLE, relation="add_remove", invariants=HELD), "ana") as session,
        pytest.raises(PolicyError, match='declare relation = "replace"'),
    ):
        session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD)


@pytest.mark.slow
def test_several_processes_give_the_same_kind_of_thing(session: Session) -> None:
    made = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD, workers=2).release()
    assert made.total("state") == {"s0": PEOPLE.num_rows}
    assert made.problems() == []
    assert set(made.table("state").column("age").to_pylist()) <= set(AGES)


def test_families_go_through_a_map_that_is_given(session: Session) -> None:
    sent: list[int] = []

    def spread(function: Any, found: Any) -> Any:
        batches = list(found)  # all of a level at once, as a cluster takes them
        sent.append(len(batches))
        return [function(each) for each in batches]

    made = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD).release(spread=spread)
    assert made.problems() == []
    assert len(sent) == len(SPINE)


def test_a_page_says_how_far_counts_may_be_wrong(session: Session) -> None:
    pytest.importorskip("altair", reason="a report needs pictures: pip install 'tacit[plot]'")
    page = session.census("people", SPINE, rho=1, queries=QUERIES, invariants=HELD).release().report()
    assert "NOT protected" in page
    assert page.count("<svg") == 1
    assert page.count("<table") == 2


def test_places_are_named_as_the_column_holds_them(tmp_path: Path) -> None:
    path = policy_of(tmp_path, PEOPLE)
    text = path.read_text()
    declared = ", ".join(f'"{name}"' for name in (*SPINE.names[-1], "elsewhere"))
    column = 'block = { type = "text", nullable = false'
    path.write_text(text.replace(column, f"{column}, group_keys = [{declared}]"))
    with Session(path, "ana") as session:
        plan = session.census("people", SPINE, rho=1, queries=QUERIES)
        assert any("not in the spine: 1 places" in note for note in plan.quote().notes)
        with pytest.raises(InputError, match='block "b9" of the spine is not among the group_keys'):
            session.census("people", Spine("county", "block", places=[("c", "b9")]), rho=1, queries=QUERIES)
    (tmp_path / "whole").mkdir()
    numbered = PEOPLE.set_column(1, "block", pa.array([int(name[1:]) for name in PEOPLE.column("block").to_pylist()]))
    path = policy_of(tmp_path / "whole", numbered)
    path.write_text(path.read_text().replace('block = { type = "text"', 'block = { type = "integer"'))
    with Session(path, "ana") as session:
        with pytest.raises(InputError, match=r'block "000000" is no whole number as the column "block" holds them'):
            session.census("people", Spine("block", places=["000000", "1"]), rho=1, queries=QUERIES)
        spine = Spine("block", places=[str(int(name[1:])) for name in SPINE.names[-1]])
        made = session.census("people", spine, rho=900, queries=QUERIES).release()
        assert sum(made.total("block").values()) == pytest.approx(PEOPLE.num_rows, abs=10)
