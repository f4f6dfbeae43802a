"""Names of any script, ten thousand analysts, and a policy that changes while others charge, on both stores."""

import json
import time
from collections import Counter
from random import Random
from unicodedata import normalize

import pytest

from support.books import UNIT, account, amount, cost, limit, opened, program, terms
from support.hammer import FULL, Nursery, begin_book, nursery, spent_units, whole
from tacit.base import InputError, LedgerError, OverBudget
from tacit.policy.account import DATASET, analyst_holder, group_holder
from tacit.policy.source import Claim

__all__ = ["nursery"]

CHANCE = Random(20)
NAMES = {
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "right to left": "مرحبا שלום \u202eabc\u202c",
    "combining": "Z͑ͫ̓a̡l̷g̨o̧ é",
    "beyond the first plane": "𠜎𡃁 🂡 𐍈 \U0001d518\U0001d52b\U0001d526",
    "invisible": "a\u200b\u200d\ufeff\u00a0b",
    "quotes": """'; DROP TABLE tacit_entries; -- " \\ ` {a,b} %s :x ? $1""",
    "what a database might read": "NULL",
    "an empty array": "{}",
    "looks like a number": "00012",
    "spaces": "  two  ",
    "c1 controls": "a\x85\x9fb\u2028\u2029",
    "long": "x" * 990,
    "long in other scripts": "".join(CHANCE.choices("一二三四五六七八九十百千萬億兆京垓", k=330)),
    "long in emoji": "".join(CHANCE.choices([chr(code) for code in range(0x1F300, 0x1F5FF)], k=240)),
}


def test_any_printable_name_is_taken_as_it_is(where: str) -> None:
    """As people, analyst, group, key, version of the data, source and reason."""
    with opened(where) as ledger, opened(where) as again:
        for name in NAMES.values():
            ledger.apply(terms(name), [Claim(name, name, name)])
            payer = account(name, name, groups=(name[:900],))
            receipt = ledger.charge(payer, cost(1), program(name), name)
            ledger.keep(receipt, name.encode(), version=name)
            ledger.void(ledger.charge(payer, cost(1), program(name), name[:-1] + "!"))

            assert name in again.people()
            assert again.charge(payer, cost(1), program(name), name).digest == receipt.digest
            kept = again.recall(payer, program(name), name)
            assert kept is not None
            assert kept.release.decode() == name
            assert again.standing(name).claims == (Claim(name, name, name),)
            for holder in (DATASET, analyst_holder(name), group_holder(name[:900])):
                assert spent_units(again, name, holder) == 1
            charge = next(json.loads(entry.body) for entry in again.log(name) if entry.kind == "charge")
            assert (charge["analyst"], charge["key"], charge["program"]["query"]) == (name, name, name)
            again.rename(name, "plain")
            again.rename("plain", name)
            again.seal(name, name)
    with opened(where) as ledger:
        assert set(ledger.people()) == set(NAMES.values())
    whole(where)


UNFIT = ["", "a\0b", "\0", "a\nb", "\x1b[31m", "\x7f", "\ud83d", "x" * 1001, "萬" * 334]


def test_names_that_cannot_be_kept_are_refused_everywhere(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "k")
        for name in UNFIT:
            with pytest.raises(InputError):
                ledger.apply(terms(name))
            with pytest.raises(InputError):
                ledger.apply(terms("staff"), [Claim(name)])
            with pytest.raises(InputError):
                ledger.charge(account(), cost(1), program(), name)
            with pytest.raises(InputError):
                ledger.keep(receipt, b"x", version=name)
            with pytest.raises(InputError):
                ledger.rename("patients", name)
            with pytest.raises(InputError):
                ledger.seal("patients", name)
            with pytest.raises(InputError):
                ledger.charge(account(name or "\0"), cost(1), program(), "l")
            with pytest.raises(InputError):
                ledger.apply(terms(limits=(limit(analyst_holder(name or "\0"), 1),)))
            with pytest.raises(InputError):
                ledger.charge(account(groups=(name or "\0",)), cost(1), program(), "l")
        assert spent_units(ledger) == 1
        assert ledger.people() == ["patients"]
    whole(where)


def test_names_that_look_alike_are_not_the_same(where: str) -> None:
    """Each has a limit of its own, and all of them share the total."""
    alike = [
        normalize("NFC", "Zoé"),
        normalize("NFD", "Zoé"),
        "zoé",
        "Zoé ",
        "Z\u043eé",
        "Zoé\u200b",
        "dataset",
        "window",
    ]
    alike += ["group:zoé", "analyst:zoé"]
    assert len(set(alike)) == 10
    with opened(where, terms(total=9, limits=(limit(group_holder("zoé"), 9),))) as ledger:
        for name in alike[:9]:
            ledger.charge(account(name, total=9, limit=1), cost(1), program(), "same key")
            if name != alike[8]:
                with pytest.raises(OverBudget, match="analyst:"):
                    ledger.charge(account(name, total=9, limit=1), cost(1), program(), "another")
            assert spent_units(ledger, holder=analyst_holder(name)) == 1
        with pytest.raises(OverBudget, match="the budget"):
            ledger.charge(account(alike[9], total=9, limit=1), cost(1), program(), "same key")
        assert spent_units(ledger, holder=group_holder("zoé")) == 0
    whole(where)


def test_ten_thousand_analysts(nursery: Nursery, where: str) -> None:
    """All of them are declared, some of them ask at the same time, and a few ask that nobody has heard of."""
    names = [f"analyst {number}" for number in range(10**4)]
    declared = terms(total=10**6, limits=tuple(limit(analyst_holder(name), 1) for name in names))
    with opened(where, declared) as ledger:
        assert ledger.apply(declared) == []
        raised = tuple(limit(analyst_holder(name), 2) for name in names[1:4])
        assert len(ledger.apply(terms(total=10**6, limits=raised))) == 3
        standing = ledger.standing("patients")
        assert (len(standing.balances), standing.seq) == (10**4 + 1, 10**4 + 5)
        clients = nursery.clients(4, where)
        asked = [names[number] for number in (0, 4999, 7777, 9999)] * 2 + ["newcomer"] * 4
        granted: Counter[str] = Counter()
        for start in range(0, len(asked), 4):
            some = list(zip(clients, asked[start : start + 4], strict=True))
            for number, (client, name) in enumerate(some):
                client.ask("charge", analyst=name, key=f"{start} {number}", total=10**6, limit=2)
            for client, name in some:
                granted[name] += "seq" in client.answer()
        assert granted == {**dict.fromkeys(asked[:4], 1), "newcomer": 2}
        assert spent_units(ledger) == 6
        limits = [entry for entry in ledger.log("patients", after=standing.seq) if entry.kind == "limit"]
        assert len(limits) == 1  # four met a newcomer at once, and one of them wrote down the limit
    whole(where)


# --- the policy is edited while sessions are open


def test_a_limit_lowered_and_applied_binds_every_session_at_once(nursery: Nursery, where: str) -> None:
    begin_book(where, total=100)
    session, curator = nursery.clients(2, where)
    assert "seq" in session.ask("charge", key="a", total=100, cost=5).answer()
    assert curator.ask("apply", total=6).answer() == {"entries": 2}
    assert session.ask("charge", key="b", total=100, cost=2).answer()["error"] == "OverBudget"
    assert "seq" in session.ask("charge", key="c", total=100, cost=1).answer()
    whole(where)


def test_a_limit_lowered_in_one_policy_binds_who_read_it(nursery: Nursery, where: str) -> None:
    begin_book(where, total=100)
    reader, other = nursery.clients(2, where)
    assert "seq" in reader.ask("charge", key="a", total=100, cost=3).answer()
    assert reader.ask("charge", key="b", total=3).answer()["error"] == "OverBudget"
    assert "seq" in other.ask("charge", key="c", total=100).answer()
    whole(where)


def test_a_limit_raised_needs_to_be_applied_and_then_holds_at_once(nursery: Nursery, where: str) -> None:
    begin_book(where, total=5)
    session, old, curator = nursery.clients(3, where)
    assert "seq" in session.ask("charge", key="a", total=50, cost=5).answer()
    assert session.ask("charge", key="b", total=50).answer()["error"] == "OverBudget"
    assert curator.ask("apply", total=50).answer() == {"entries": 2}
    assert "seq" in session.ask("charge", key="b", total=50).answer()
    assert old.ask("charge", key="c", total=5).answer()["error"] == "OverBudget"  # it has not read the policy again
    assert "seq" in old.ask("charge", key="c", total=50).answer()
    whole(where)


def test_limits_that_change_in_the_middle_of_a_race(nursery: Nursery, where: str) -> None:
    """By the entries, every charge was within the limit that stood when it was made."""
    begin_book(where, total=5)
    racers = nursery.clients(6, where)
    for number, racer in enumerate(racers):
        racer.ask("insist", name=str(number), total=10**6)
    with opened(where) as ledger:
        for total in (20, 10, 60, 3, 45, 90) * (5 if FULL else 1):
            ledger.apply(terms(total=total))
            time.sleep(0.02)
        for racer in racers:
            racer.ask("stop")
        made = sum(racer.until("made")[-1]["made"] for racer in racers)
        allowed = spent = 0
        for entry in ledger.log("patients"):
            body = json.loads(entry.body)
            if entry.kind == "limit" and body["holder"] == DATASET:
                allowed = int(body["total"]["spend"])
            elif entry.kind == "charge":
                spent += int(body["spend"])
                assert spent <= allowed
        assert spent == made * UNIT == spent_units(ledger) * UNIT
        assert 5 <= made <= 90
    whole(where)


# --- taking back


def test_who_may_take_a_charge_back(nursery: Nursery, where: str) -> None:
    begin_book(where)
    owner, other = nursery.clients(2, where)
    for key in ("mine", "begun", "answered", "seen"):
        assert "seq" in owner.ask("charge", key=key).answer()

    assert other.ask("charge", key="mine").answer()["replayed"]
    assert "stays" in other.ask("void", key="mine").answer()["text"]  # only who made it
    assert owner.ask("void", key="mine").answer() == {"void": True}
    assert "stays" in owner.ask("void", key="mine").answer()["text"]  # once
    assert "voided" in other.ask("begin", key="mine").answer()["text"]
    assert "voided" in other.ask("charge", key="mine").answer()["text"]  # the key is used up

    owner.ask("begin", key="begun").answer()
    assert "stays" in owner.ask("void", key="begun").answer()["text"]

    owner.ask("keep", key="answered", release="42").answer()
    assert "stays" in owner.ask("void", key="answered").answer()["text"]

    other.ask("charge", key="seen").answer()
    assert other.ask("begin", key="seen").answer() == {"begun": True}
    assert "began" in owner.ask("void", key="seen").answer()["text"]
    with opened(where) as ledger:
        assert spent_units(ledger) == 3
    whole(where)


def test_nobody_takes_back_what_a_dead_process_charged(nursery: Nursery, where: str) -> None:
    begin_book(where)
    dead = nursery.client(where)
    dead.ask("charge", key="k").answer()
    dead.kill()
    assert dead.last_words() == []
    with opened(where) as ledger:
        receipt = ledger.charge(account(total=10**6), cost(1), program(), "k")
        assert receipt.replayed
        with pytest.raises(LedgerError, match="stays"):
            ledger.void(receipt)
        assert ledger.standing("patients").balance(DATASET) is not None
        assert spent_units(ledger) == 1
    whole(where)


def test_begin_and_void_race_for_one_charge(nursery: Nursery, where: str) -> None:
    """Either its program may run, or it is given back; never both."""
    begin_book(where)
    owner, other = nursery.clients(2, where)
    begun = 0
    rounds = 60 if FULL else 6
    for number in range(rounds):
        key = f"key {number}"
        owner.ask("charge", key=key).answer()
        other.ask("charge", key=key).answer()
        for client, act in ((owner, "void"), (other, "begin")) if number % 2 else ((other, "begin"), (owner, "void")):
            client.ask(act, key=key)
        voided, started = "void" in owner.answer(), "begun" in other.answer()
        assert voided != started
        begun += started
    with opened(where) as ledger:
        assert spent_units(ledger) == begun
        assert ledger.standing("patients").balances[0].spent == amount(begun)
    whole(where)
