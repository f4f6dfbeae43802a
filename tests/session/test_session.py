"""The desk: the order of the stages, what is free, what is refused, and what a failure leaves behind."""

import logging
import sqlite3
import traceback
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import BrokenEngine, hospital, visits
from support.plans import priced_by
from tacit.base import Denied, EngineError, InputError, LedgerError, OverBudget, PolicyError, Refused, TacitError
from tacit.engine import open_engine
from tacit.ledger import Ledger
from tacit.policy import load
from tacit.session import Session

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return hospital(tmp_path)


@pytest.fixture
def session(policy: Path) -> Iterator[Session]:
    with Session(policy, "ana") as opened:
        yield opened


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def test_an_answer_is_paid_for_and_near_the_truth(session: Session) -> None:
    with drawing_from(FixedRng(1)):
        answer = session.ask(COUNT, rho=1)
    low, high = answer.interval("n")
    assert low is not None
    assert high is not None
    assert low <= 3000 <= high
    assert 0 < high - low < 150
    assert not answer.cached
    assert 0 < spent(session) <= 10**18
    assert session.left().rho == 40 - Fraction(spent(session), 10**18)


def test_a_quote_is_free_and_says_what_asking_costs(session: Session) -> None:
    quote = session.quote(BY_WARD, rho=1)
    assert spent(session) == 0
    session.ask(BY_WARD, rho=1)
    assert quote.cost.rho is not None
    assert spent(session) == quote.cost.rho * 10**18
    assert session.left() == quote.left
    assert quote.enough
    assert [line.column for line in quote.expected] == ["n", "c"]
    assert not session.quote(COUNT, rho=39.5).enough


def test_the_key_of_a_charge_is_known_before_and_whether_asking_is_free(session: Session) -> None:
    before = session.idempotency_key(COUNT, rho=1)
    assert (before.answered, before.versioned) == (False, True)
    assert spent(session) == 0
    first = session.ask(COUNT, rho=1, idempotency_key=before.name)
    held = sqlite3.connect(session.policy.ledger(), isolation_level=None)
    held.execute("BEGIN IMMEDIATE")  # somebody charges, and nobody waits for that here
    after = session.idempotency_key(COUNT, rho=1)
    held.close()
    assert after == before._replace(answered=True)
    assert not session.idempotency_key(COUNT, rho=1.5).answered
    assert session.ask(COUNT, rho=1) == first


def test_the_same_question_is_answered_again_free_and_the_same(session: Session) -> None:
    first = session.ask(BY_WARD, rho=1)
    paid = spent(session)
    again = session.ask(BY_WARD, rho=1)
    assert again.cached
    assert again == first
    assert spent(session) == paid
    assert session.ask(BY_WARD, rho=1.5) != first  # another price is another question
    assert spent(session) > paid


def test_another_confidence_is_free_and_has_its_own_intervals(session: Session) -> None:
    first = session.ask(BY_WARD, rho=1)
    paid = spent(session)
    wide = session.ask(BY_WARD, rho=1, confidence=0.999)
    assert (wide.confidence, wide.table) == (0.999, first.table)
    assert wide.cached
    pairs = zip(wide.intervals["n"][1], first.intervals["n"][1], strict=True)
    assert all(more > less for more, less in pairs)  # type: ignore[operator]  # numbers
    assert spent(session) == paid


def test_an_answer_from_the_store_is_to_the_question_that_was_asked(session: Session) -> None:
    """HAVING, ORDER BY, LIMIT and names are not noise: what comes back must follow them, whatever it is made from."""
    session.ask(BY_WARD, rho=1)
    other = session.ask(
        "SELECT ward, COUNT(*) AS visits, AVG(cost) AS c FROM visits GROUP BY ward "
        "HAVING COUNT(*) > 700 ORDER BY visits LIMIT 1",
        rho=1,
    )
    assert other.table.column_names == ["ward", "visits", "c"]
    assert other.table["ward"].to_pylist() == ["b"]  # of some 1,500, 900 and 600


def test_each_analyst_has_answers_of_their_own(policy: Path, session: Session) -> None:
    policy.write_text(policy.read_text().replace("limit = 1\ntables = []", "limit = 9"))
    mine = session.ask(COUNT, rho=1)
    with Session(policy, "bob", ledger=session.ledger, engine=session.engine) as bob:
        theirs = bob.ask(COUNT, rho=1)
    assert not theirs.cached
    assert theirs.facts["ledger"] != mine.facts["ledger"]


def test_new_data_are_another_question(policy: Path, session: Session) -> None:
    first = session.ask(COUNT, rho=1)
    pq.write_table(visits().slice(0, 1000), policy.parent / "visits.parquet")
    again = session.ask(COUNT, rho=1)
    assert not again.cached
    assert again.value() < first.value() - 1000


def test_a_key_pays_once(session: Session) -> None:
    first = session.ask(COUNT, rho=1, idempotency_key="mine")
    paid = spent(session)
    assert session.ask(COUNT, rho=1, idempotency_key="mine") == first
    with pytest.raises(LedgerError, match="another program"):
        session.ask(COUNT, rho=1.5, idempotency_key="mine")
    assert spent(session) == paid


def test_a_crash_before_the_answer_is_stored_does_not_pay_twice(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    for stage in ("begin", "keep"):
        with monkeypatch.context() as broken:
            broken.setattr(session.ledger, stage, dies)
            with pytest.raises(KeyboardInterrupt):
                session.ask(COUNT, rho=1)
    paid = spent(session)
    assert paid > 0
    answer = session.ask(COUNT, rho=1)
    assert not answer.cached
    assert spent(session) == paid
    assert session.ask(COUNT, rho=1) == answer


def test_an_answer_that_cannot_be_stored_is_not_shown(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise LedgerError("no space left")

    monkeypatch.setattr(session.ledger, "keep", full)
    with pytest.raises(LedgerError, match="key='k', which does not pay twice") as caught:
        session.ask(COUNT, rho=1, idempotency_key="k")
    assert caught.value.__context__ is None
    monkeypatch.undo()
    paid = spent(session)
    session.ask(COUNT, rho=1, idempotency_key="k")
    assert spent(session) == paid


def test_over_budget_nothing_is_charged_or_run(session: Session) -> None:
    session.ask(COUNT, rho=39)
    paid = spent(session)
    with pytest.raises(OverBudget):
        session.ask(BY_WARD, rho=2)
    with pytest.raises(Denied, match="at most"):
        session.ask(BY_WARD, rho=41)
    assert spent(session) == paid
    assert session.ask(COUNT, rho=39).cached  # what was paid for stays


def test_who_may_not_ask_is_told(policy: Path) -> None:
    with Session(policy, "eve") as eve, pytest.raises(Denied, match="not in the policy"):
        eve.ask(COUNT, rho=1)
    with Session(policy, "bob") as bob, pytest.raises(Denied, match="may not ask table"):
        bob.ask(COUNT, rho=0.1)


@pytest.mark.parametrize("offer", [{"confidence": 1}, {"confidence": 0}, {"rho": -1}, {"rho": 0}, {"rho": "x"}])
def test_a_wrong_number_is_refused_before_the_charge(session: Session, offer: dict[str, Any]) -> None:
    for way in (session.ask, session.quote):
        with pytest.raises(InputError):
            way(COUNT, **{"rho": 1, **offer})
    assert spent(session) == 0


def test_a_failure_costs_and_says_one_constant_thing(policy: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = BrokenEngine()
    with caplog.at_level(logging.DEBUG), Session(policy, "ana", engine=engine) as session:
        texts = []
        for _ in range(2):
            with pytest.raises(EngineError) as caught:
                session.ask(COUNT, rho=1)
            texts.append("".join(traceback.format_exception(caught.value)))
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
        assert engine.runs == 1  # the failure is the answer, also the second time
        assert spent(session) > 0
        kept = [entry.kind for entry in session.ledger.log("hospital")]
        assert kept.count("charge") == 1
    assert engine.secret not in "".join(texts) + caplog.text
    assert str(caught.value) == "the engine could not answer; the charge stands"


def test_a_failure_while_choosing_a_clip_is_the_same(tmp_path: Path) -> None:
    policy = hospital(tmp_path, clip='"private"')
    with Session(policy, "ana", engine=BrokenEngine()) as session, pytest.raises(EngineError) as caught:
        session.ask(COUNT, rho=1)
    assert caught.value.__context__ is None


def test_a_failure_after_the_noise_is_the_same(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret-4711")

    monkeypatch.setattr("tacit.sql.job.assemble", breaks)
    with pytest.raises(EngineError) as caught:
        session.ask(COUNT, rho=1)
    assert caught.value.__context__ is None
    monkeypatch.undo()
    assert session.ask(COUNT, rho=1).cached  # what was drawn is there


def test_data_out_of_reach_cost_nothing(policy: Path) -> None:
    with Session(policy, "ana", engine=BrokenEngine(version_fails=True)) as session:
        with pytest.raises(TacitError, match="nothing was charged") as caught:
            session.ask(COUNT, rho=1)
        assert caught.value.__context__ is None
        assert spent(session) == 0


def test_data_that_change_on_the_way_are_of_no_version(policy: Path, session: Session) -> None:
    real, versions = session.engine, iter(["one", "two", "two", "two", "one", "one", "one"])

    class Changing:
        def __getattr__(self, name: str) -> Any:
            return (lambda _: next(versions)) if name == "version" else getattr(real, name)

    session.desk.engine = Changing()
    first = session.ask(COUNT, rho=1, idempotency_key="first")  # begun on "one", done on "two"
    assert not session.ask(COUNT, rho=1).cached  # of "two"
    assert not session.ask(COUNT, rho=1).cached  # of "one"
    assert session.ask(COUNT, rho=1, idempotency_key="first") != first  # "one" has an answer of its own by now
    session.desk.engine = real


def test_a_policy_that_changes_binds_the_next_question(policy: Path, session: Session) -> None:
    session.ask(COUNT, rho=1)
    text = policy.read_text()
    policy.write_text(text.replace("[analysts.ana]\nlimit = 40", "[analysts.ana]\nlimit = 1.5"))
    with pytest.raises(OverBudget):
        session.ask(BY_WARD, rho=1)
    policy.write_text(text.replace("[analysts.ana]", "[analysts.eva]"))
    with pytest.raises(Denied):
        session.ask(COUNT, rho=1)  # not from the store either
    policy.write_text(text.replace("clip_rows = 20", "clip_rows = 5"))
    assert session.ask(COUNT, rho=1).facts["clips"][0]["rows"] == 5
    policy.write_text(text.replace('source = "visits.parquet"', 'source = "wards.parquet"'))
    with pytest.raises(PolicyError, match="open a new one"):
        session.ask(COUNT, rho=1)
    policy.write_text(text.replace("hospital.ledger", "fresh.ledger"))
    with pytest.raises(PolicyError, match="open a new one"):
        session.ask(COUNT, rho=1)
    policy.unlink()
    with pytest.raises(PolicyError, match="no such file"):
        session.ask(COUNT, rho=1)


def test_a_raised_limit_waits_for_the_curator(policy: Path, session: Session) -> None:
    session.ask(COUNT, rho=39)
    policy.write_text(policy.read_text().replace("limit = 40", "limit = 45"))
    with pytest.raises(OverBudget):
        session.ask(BY_WARD, rho=5)
    session.ledger.apply(load(policy).terms())
    session.ask(BY_WARD, rho=5)


def test_bigquery_options_are_an_offer(session: Session) -> None:
    answer = session.ask("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-7) COUNT(*) AS n FROM visits")
    cost = answer.facts["cost"]
    assert 0 < float(cost["rho"]) < 0.1
    bounded = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-7, max_groups_contributed=2) ward, "
        "SUM(cost, contribution_bounds_per_group => (0, 100)) AS s FROM visits GROUP BY ward"
    )
    clip = session.ask(bounded).facts["clips"][0]
    assert (clip["origin"], clip["norm"]) == ("declared", "l2")
    assert float(_fraction(clip["bound"])) * 0.01 == pytest.approx(100 * 2**0.5)


def _fraction(text: str) -> float:
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def test_an_ibis_expression_is_asked_through_its_sql(session: Session) -> None:
    ibis = pytest.importorskip("ibis")
    table = ibis.table({"ward": "string", "cost": "float64", "age": "int64"}, name="visits")
    old = table.filter(table.age >= 50)
    asked = old.group_by("ward").aggregate(n=old.count(), c=old.cost.mean())
    answer = session.ask(asked, rho=1)
    assert sorted(answer.table["ward"].to_pylist()) == ["a", "b", "c", "d"]
    assert answer.table.column_names == ["ward", "n", "c"]


def test_anything_else_is_refused(session: Session) -> None:
    with pytest.raises(InputError, match="ask in SQL"):
        session.ask(17, rho=1)
    with pytest.raises(Refused):
        session.ask("DROP TABLE visits", rho=1)
    assert spent(session) == 0


def test_a_session_closes_what_it_opened(policy: Path) -> None:
    declared = load(policy)
    with Ledger.open(declared.ledger()) as ledger:
        engine = open_engine(declared)
        with Session(policy, "ana", ledger=ledger, engine=engine) as session:
            session.ask(COUNT, rho=1)
        ledger.people()
        engine.version(["visits"])
        engine.close()


def held(error: BaseException | None) -> Iterator[str]:
    """What the frames of an error, and of all errors behind it, have in their hands, as far as they are ours."""
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_globals["__name__"].startswith("tacit."):
                yield str(frame.f_locals)
        error = error.__context__


CANARY = "Zyx-canary-8675309"
RARE = 987.65  # a cost that one patient alone has


def test_nothing_printed_logged_or_raised_carries_data(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """One patient has a drug and a ward of their own; questions of all kinds are asked, and some must fail."""
    plain = visits()
    first = {name: plain[name].slice(0, 1) for name in plain.column_names}
    odd = pa.table({**first, "drug": [CANARY], "ward": [CANARY], "cost": [RARE]})
    policy = hospital(tmp_path, table=pa.concat_tables([plain, odd.cast(plain.schema)]))
    seen = []
    with caplog.at_level(logging.DEBUG), Session(policy, "ana") as session:
        for sql in (
            BY_WARD,
            "SELECT drug, COUNT(*), MEDIAN(cost) FROM visits GROUP BY drug",
            "SELECT MAX(cost), MODE(ward) FROM visits",
            "SELECT drug FROM visits",
            "SELECT * FROM visits",
            "SELECT SUM(CAST(drug AS INTEGER)) FROM visits",
            "SELECT COUNT(*) FROM visits WHERE CAST(drug AS DOUBLE) / 0 > 1",
            f"SELECT COUNT(*) FROM visits WHERE drug = '{CANARY[:3]}' AND nothing = 1",
        ):
            for way in (session.quote, session.ask):
                try:
                    found = way(sql, rho=1)
                    seen += [repr(found), str(found.json()), found._repr_html_()]
                except TacitError as error:
                    seen += [*traceback.format_exception(error), *held(error)]
        priced = priced_by(session, COUNT, rho=1)
        exact = session.engine.run(priced.parts[0])
        seen += [repr(exact), str(exact), repr(session), repr(session.engine), str(vars(session))]
    seen += [caplog.text, *capsys.readouterr()]
    assert CANARY not in "".join(seen)
    assert str(RARE) not in "".join(seen)
    assert "rare1" not in "".join(seen)
