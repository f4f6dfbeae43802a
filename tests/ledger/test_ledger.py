"""The rules of the ledger, on every store."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from support.books import account, amount, cost, limit, opened, program, terms
from tacit.base import Denied, InputError, KeyUsed, LedgerError, OverBudget, PolicyError, Relation, RelationError
from tacit.ledger import REGISTRY, Ledger
from tacit.ledger.chain import digest, genesis
from tacit.loss import Cost
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, analyst_holder, group_holder
from tacit.policy.source import Claim
from tacit.program import canonical

ALICE = analyst_holder("alice")


def spent(ledger: Ledger, holder: str = DATASET, people: str = "patients") -> Amount:
    balance = ledger.standing(people).balance(holder)
    assert balance is not None
    return balance.spent


def kinds(ledger: Ledger, people: str = "patients") -> list[str]:
    return [entry.kind for entry in ledger.log(people)]


def chained(ledger: Ledger, people: str = "patients") -> bool:
    """Recompute the chain from its first name on."""
    log = list(ledger.log(people))
    first = json.loads(log[0].body)["people"] if people else REGISTRY
    head, last = genesis(ledger.store.ledger, first), 0
    for seq, entry in enumerate(log, 1):
        head = digest(head, seq, entry.time, entry.body.encode())
        if (
            (entry.seq, entry.digest) != (seq, head)
            or entry.time < last
            or canonical(json.loads(entry.body)) != entry.body
        ):
            return False
        last = entry.time
    return not people or head == ledger.standing(people).head


def test_a_charge_is_recorded_with_its_program(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        assert (receipt.people, receipt.analyst, receipt.key, receipt.replayed) == ("patients", "alice", "k", False)
        assert (receipt.amount, receipt.program, receipt.ledger) == (amount(1), program().hash, ledger.store.ledger)
        *_, entry = ledger.log("patients")
        assert (entry.seq, entry.time, entry.digest) == (receipt.seq, receipt.time, receipt.digest)
        body = json.loads(entry.body)
        assert body["program"] == program().json()
        assert (body["spend"], body["delta"], body["holders"]) == (str(10**12), "0", [DATASET, ALICE])
        assert spent(ledger) == spent(ledger, ALICE) == amount(1)
        assert kinds(ledger) == ["open", "limit", "limit", "charge"]
        assert kinds(ledger, REGISTRY) == ["open"]
        assert chained(ledger)
        assert chained(ledger, REGISTRY)


def test_everything_is_there_after_opening_again(where: str) -> None:
    with opened(where, terms()) as ledger:
        first = ledger.charge(account(), cost(1), program(), "k")
        before, name = ledger.standing("patients"), ledger.store.ledger
    with opened(where) as ledger:
        assert ledger.store.ledger == name
        assert ledger.standing("patients") == before
        assert ledger.charge(account(), cost(1), program(), "k") == replace(first, replayed=True)
        assert ledger.people() == ["patients"]


def test_the_total_is_never_passed_and_a_refusal_leaves_no_trace(where: str) -> None:
    with opened(where, terms(total=2)) as ledger:
        for key in "ab":
            ledger.charge(account(total=2), cost(1), program(), key)
        with pytest.raises(OverBudget, match=r'"patients" has 0 epsilon left now, and this program costs 1e-12'):
            ledger.charge(account(total=2), Cost(epsilon=Fraction(1, 10**12)), program(), "c")
        assert ledger.standing("patients").seq == 5
        assert spent(ledger) == amount(2)


def test_delta_has_a_limit_of_its_own(where: str) -> None:
    limits = (limit(DATASET, 9, delta=10**24), limit(ALICE, 9, delta=10**24))
    who = Account(people="patients", analyst="alice", limits=limits)
    with opened(where, terms(limits=limits[1:], total=9)) as ledger:
        with pytest.raises(OverBudget):  # apply recorded no delta for the dataset
            ledger.charge(who, cost(1, Fraction(1, 10**6)), program(), "a")
        ledger.apply(replace(terms(), limits=limits))
        ledger.charge(who, cost(1, Fraction(1, 10**6)), program(), "a")
        with pytest.raises(OverBudget, match="the budget"):
            ledger.charge(who, cost(1, Fraction(1, 10**30)), program(), "b")


@pytest.mark.parametrize(
    ("who", "message"),
    [
        (account(limit=3), "analyst:alice"),
        (account(each=1), "at most 1 epsilon a program"),
        (account(dataset=3), "budget"),
    ],
)
def test_a_limit_lowered_in_the_policy_binds_at_once(where: str, who: Account, message: str) -> None:
    with opened(where, terms()) as ledger:
        ledger.charge(account(), cost(2), program(), "a")
        with pytest.raises(OverBudget, match=message):
            ledger.charge(who, cost(2), program(), "b")
        ledger.charge(account(), cost(2), program(), "b")


def test_a_limit_raised_in_the_policy_needs_apply(where: str) -> None:
    with opened(where, terms(total=2, limits=(limit(ALICE, 2, each=1),))) as ledger:
        with pytest.raises(OverBudget, match="a program"):
            ledger.charge(account(total=10), cost(2), program(), "a")
        made = ledger.apply(terms(total=10))
        assert [json.loads(entry.body)["holder"] for entry in made] == [DATASET, ALICE]
        body = json.loads(made[1].body)
        assert body["before"] == {
            "total": {"spend": str(2 * 10**12), "delta": "0"},
            "each": {"spend": str(10**12), "delta": "0"},
        }
        assert body["each"] is None
        ledger.charge(account(total=10), cost(10), program(), "a")
        assert ledger.apply(terms(total=10)) == []
        assert chained(ledger)


def test_groups_and_newcomers_get_a_balance_at_first_use(where: str) -> None:
    with opened(where, terms()) as ledger:
        ledger.charge(account("bob", groups=("ward",), limit=5), cost(1), program(), "a")
        assert kinds(ledger)[3:] == ["limit", "limit", "charge"]
        standing = ledger.standing("patients")
        bob, ward = standing.balance(analyst_holder("bob")), standing.balance(group_holder("ward"))
        assert bob is not None
        assert ward is not None
        assert (bob.limit, bob.spent, bob.last, bob.left) == (amount(5), amount(1), amount(1), amount(4))
        assert ward.spent == amount(1)
        with pytest.raises(OverBudget, match="analyst:bob"):  # what was recorded holds, whatever a policy says later
            ledger.charge(account("bob", groups=("ward",), limit=50), cost(5), program(), "b")
        assert chained(ledger)


def test_analysts_share_the_total(where: str) -> None:
    with opened(where, terms(total=3)) as ledger:
        for name in ("alice", "bob", "Ünal 雪 🙂"):
            ledger.charge(account(name, total=3), cost(1), program(), "same key")
        with pytest.raises(OverBudget, match="budget"):
            ledger.charge(account("dora", total=3), cost(1), program(), "k")
        assert ledger.standing("patients").balance("analyst:Ünal 雪 🙂") is not None


def test_a_key_is_charged_once(where: str) -> None:
    with opened(where, terms(total=1)) as ledger:
        first = ledger.charge(account(total=1), cost(1), program(), "k")
        again = ledger.charge(account(total=1), cost(1), program(), "k")
        assert again == replace(first, replayed=True)
        assert spent(ledger) == amount(1)
        for other in ((cost("0.5"), program()), (cost(1), program("another"))):
            with pytest.raises(KeyUsed, match="another program or cost"):
                ledger.charge(account(total=1), *other, "k")


def test_the_hash_of_a_charge_cannot_be_guessed(where: str) -> None:
    """Who sees the digests on both sides of an entry cannot try out what it says."""
    with opened(where, terms(total=2)) as ledger:
        for key in ("one", "two"):
            ledger.charge(account(total=2), cost(1), program(), key)
        bodies = [json.loads(entry.body) for entry in ledger.log("patients") if entry.kind == "charge"]
    salts = [body["process"].rsplit(":", 1)[1] for body in bodies]
    assert len(set(salts)) == 2
    assert all(len(bytes.fromhex(salt)) == 16 for salt in salts)


def test_void_gives_back_once_and_the_key_is_spent(where: str) -> None:
    with opened(where, terms(total=1)) as ledger:
        receipt = ledger.charge(account(total=1), cost(1), program(), "k")
        ledger.void(receipt)
        assert spent(ledger) == spent(ledger, ALICE) == Amount(0)
        for act in (ledger.void, ledger.begin):
            with pytest.raises(LedgerError, match="void"):
                act(receipt)
        with pytest.raises(LedgerError, match="void"):
            ledger.keep(receipt, b"x", version="1")
        with pytest.raises(KeyUsed, match="voided"):
            ledger.charge(account(total=1), cost(1), program(), "k")
        ledger.charge(account(total=1), cost(1), program(), "new")
        assert kinds(ledger)[-3:] == ["charge", "void", "charge"]
        assert chained(ledger)


def test_no_void_once_it_began(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        ledger.begin(receipt)
        ledger.begin(receipt)
        with pytest.raises(LedgerError, match="stays"):
            ledger.void(receipt)
        assert kinds(ledger)[-1] == "charge"  # in memory is enough for who charged


def test_no_void_by_anybody_else(where: str) -> None:
    with opened(where, terms()) as ledger, opened(where) as other:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        again = ledger.charge(account(), cost(1), program(), "k")
        for who, which in ((other, receipt), (ledger, again), (other, again)):
            with pytest.raises(LedgerError, match="stays"):
                who.void(which)
        assert spent(ledger) == amount(1)


def test_no_void_after_a_replay_began_elsewhere(where: str) -> None:
    with opened(where, terms()) as ledger, opened(where) as other:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        other.begin(other.charge(account(), cost(1), program(), "k"))
        with pytest.raises(LedgerError, match="began"):
            ledger.void(receipt)
        assert kinds(ledger)[-1] == "begin"
        assert spent(ledger) == amount(1)


def test_a_replay_does_not_begin_after_a_void(where: str) -> None:
    with opened(where, terms()) as ledger, opened(where) as other:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        again = other.charge(account(), cost(1), program(), "k")
        ledger.void(receipt)
        with pytest.raises(LedgerError, match="voided"):
            other.begin(again)


def test_a_made_up_receipt_is_worth_nothing(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        for forged in (replace(receipt, digest=bytes(32)), replace(receipt, seq=1), replace(receipt, ledger="other")):
            with pytest.raises(LedgerError, match="no charge"):
                ledger.keep(forged, b"free", version="1")
            with pytest.raises(LedgerError, match="stays"):
                ledger.void(forged)


def test_the_first_answer_kept_is_the_answer(where: str) -> None:
    with opened(where, terms()) as ledger, opened(where) as other:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        assert ledger.kept(receipt) is None
        first = ledger.keep(receipt, b"one", version="v1")
        assert (first.release, first.kind, first.version) == (b"one", "answer", "v1")
        again = other.charge(account(), cost(1), program(), "k")
        assert other.keep(again, b"two", version="v2", kind="failure") == first
        assert other.kept(again) == first
        with pytest.raises(LedgerError, match="stays"):
            ledger.void(receipt)


def test_recall_is_by_program_version_and_analyst(where: str) -> None:
    with opened(where, terms()) as ledger:
        ledger.keep(ledger.charge(account(), cost(1), program(), "k"), b"hers", version="v1")
        ours = ledger.charge(account(), cost(1), program("shared"), "s")
        ledger.keep(ours, b"ours", version="v1", shared=True, kind="failure")
        alice, bob = account(), account("bob")
        found = ledger.recall(alice, program(), "v1")
        assert found is not None
        assert found.release == b"hers"
        assert ledger.recall(bob, program(), "v1") is None
        assert ledger.recall(alice, program(), "v2") is None
        assert ledger.recall(alice, program("other"), "v1") is None
        shared = ledger.recall(bob, program("shared"), "v1")
        assert shared is not None
        assert (shared.release, shared.kind) == (b"ours", "failure")


def test_a_sealed_account_is_closed_but_answers_stay(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        ledger.seal("patients", "the study ended")
        with pytest.raises(Denied, match="sealed"):
            ledger.charge(account(), cost(1), program(), "l")
        with pytest.raises(LedgerError, match="already"):
            ledger.seal("patients", "again")
        assert ledger.charge(account(), cost(1), program(), "k").replayed
        assert ledger.keep(receipt, b"x", version="1").release == b"x"
        assert ledger.standing("patients").sealed


def test_a_renamed_account_keeps_what_it_spent(where: str) -> None:
    visits = Claim("file:/srv/visits.csv", unit='column "pid"')
    with opened(where, terms(), terms("others")) as ledger, opened(where) as other:
        ledger.claim("patients", [visits])
        other.charge(account(), cost(1), program(), "k")
        ledger.rename("patients", "people")
        assert ledger.people() == ["others", "people"]
        assert spent(ledger, people="people") == amount(1)
        assert chained(ledger, "people")
        with pytest.raises(LedgerError, match="no account"):
            other.charge(account(), cost(1), program(), "l")
        with pytest.raises(InputError, match="already"):
            ledger.rename("people", "others")
        with pytest.raises(PolicyError, match='people = "people"'):
            ledger.apply(terms(), [visits])
        ledger.apply(terms(currency=Currency.RHO))  # new people under the old name, in another currency
        receipt = other.charge(account(), Cost(rho=Fraction(1, 10**6), epsilon=Fraction(9)), program(), "m")
        assert receipt.amount == Amount(10**12)


def test_the_same_data_are_the_same_people(where: str) -> None:
    a, b, c, d = (Claim(f"file:/srv/{name}", unit="each row") for name in "abcd")
    with opened(where) as ledger:
        ledger.apply(terms(), [a, b])
        with pytest.raises(PolicyError, match='"file:/srv/b" is the data of "patients" already'):
            ledger.apply(terms("fresh"), [b])
        assert ledger.people() == ["patients"]
        ledger.apply(terms(), [c])
        assert ledger.standing("patients").claims == (a, b, c)
        ledger.apply(terms("fresh"), [d])
        with pytest.raises(PolicyError, match='"file:/srv/d"'):
            ledger.apply(terms(), [a, d])


@pytest.mark.parametrize(
    "change",
    [
        {"currency": Currency.RHO},
        {"relation": Relation.REPLACE},
        {"unit": "person"},
        {"delta": Fraction(1, 10**5)},
    ],
)
def test_what_was_fixed_at_the_opening_stays(where: str, change: dict[str, Any]) -> None:
    with opened(where, terms()) as ledger:
        with pytest.raises(PolicyError, match=next(iter(change))):
            ledger.apply(terms(**change))
        assert ledger.standing("patients").seq == 3


def test_costs_of_other_relations_units_and_currencies_are_refused(where: str) -> None:
    with opened(where, terms()) as ledger:
        with pytest.raises(RelationError):
            ledger.charge(account(), Cost(epsilon=Fraction(1), unit="person"), program(), "k")
        with pytest.raises(Denied, match="paid for in epsilon"):
            ledger.charge(account(), Cost(rho=Fraction(1)), program(), "k")
        with pytest.raises(LedgerError, match="no account"):
            ledger.charge(account(people="nobody"), cost(1), program(), "k")


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800", "x" * 1001, "line\nbreak"])
def test_names_that_no_store_could_hold_are_refused(where: str, key: str) -> None:
    with opened(where, terms()) as ledger:
        with pytest.raises(InputError):
            ledger.charge(account(), cost(1), program(), key)
        with pytest.raises(InputError):
            ledger.charge(account(key or "a\0"), cost(1), program(), "k")
        with pytest.raises(InputError):
            ledger.apply(terms(key))
        with pytest.raises(InputError):
            ledger.charge(account(), cost(1), program("\ud800"), "k")


def test_an_account_must_name_dataset_and_analyst(where: str) -> None:
    whole = account()
    with opened(where, terms()) as ledger:
        for limits in (whole.limits[:1], whole.limits[1:], (), (*whole.limits, whole.limits[0])):
            with pytest.raises(InputError, match="dataset and of the analyst"):
                ledger.charge(replace(whole, limits=limits), cost(1), program(), "k")
        with pytest.raises(PolicyError, match="total"):
            ledger.apply(replace(terms("fresh"), limits=()))


def test_huge_sums_are_exact(where: str) -> None:
    most = Limit(holder=DATASET, total=Amount(10**40 + 1))
    hers = replace(most, holder=ALICE)
    who = Account(people="patients", analyst="alice", limits=(most, hers))
    with opened(where, replace(terms(), limits=(most, hers))) as ledger:
        ledger.charge(who, Cost(epsilon=Fraction(10**28)), program(), "a")
        ledger.charge(who, Cost(epsilon=Fraction(1, 10**12)), program(), "b")
        with pytest.raises(OverBudget):
            ledger.charge(who, Cost(epsilon=Fraction(1, 10**12)), program(), "c")
        assert spent(ledger) == Amount(10**40 + 1)
        with pytest.raises(InputError, match="larger than any ledger"):
            ledger.charge(who, Cost(epsilon=Fraction(10**34)), program(), "d")


def test_the_log_can_be_read_in_parts(where: str) -> None:
    with opened(where, terms()) as ledger:
        for key in range(5):
            ledger.charge(account(), cost(1), program(), str(key))
        assert [entry.seq for entry in ledger.log("patients")] == list(range(1, 9))
        assert [entry.seq for entry in ledger.log("patients", after=6)] == [7, 8]
        assert [entry.seq for entry in ledger.log("patients", after=2, limit=3)] == [3, 4, 5]
        assert list(ledger.log("patients", limit=0)) == []
        with pytest.raises(LedgerError, match="no account"):
            list(ledger.log("nobody"))


def test_racing_threads_get_exactly_the_total(where: str) -> None:
    granted, start = [], threading.Barrier(12)
    with opened(where, terms(total=20)) as ledger:

        def race(number: int) -> None:
            start.wait()
            for key in range(4):
                with suppress(OverBudget):
                    granted.append(ledger.charge(account(f"a{number}", total=20), cost(1), program(), str(key)))

        with ThreadPoolExecutor(12) as pool:
            list(pool.map(race, range(12)))
        assert len(granted) == 20
        assert spent(ledger) == amount(20)
        assert sorted(receipt.seq for receipt in granted) == [
            e.seq for e in ledger.log("patients") if e.kind == "charge"
        ]
        assert chained(ledger)


def test_a_closed_ledger_says_so(where: str) -> None:
    with opened(where, terms()) as ledger:
        pass
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.people()


def test_adopt_is_recorded(where: str) -> None:
    with opened(where, terms()) as ledger:
        (entry,) = ledger.adopt("moved from the old machine")
        assert (entry.kind, entry.people) == ("adopt", REGISTRY)
        assert chained(ledger, REGISTRY)
