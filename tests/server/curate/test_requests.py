"""Wishes in the service's database: decided once, by one person, also when two decide at the same moment."""

import threading
from decimal import Decimal

import pytest

from tacit.server.auth.people import Identity
from tacit.server.curate import requests as module
from tacit.server.curate.requests import AccessRequest, Requests
from tacit.server.db import State, now
from tacit.server.problem import HttpProblem

ZOE, CORA, CARL = Identity("zoe", "analyst"), Identity("cora", "curator"), Identity("carl", "curator")


def test_a_wish_is_kept_as_it_was(state: State) -> None:
    made = Requests(state).ask(ZOE, "shop", amount=Decimal("0.10"), reason="<b>why</b>")
    assert (made.owner, made.dataset, made.amount, made.reason, made.state) == (
        "zoe",
        "shop",
        "0.10",
        "<b>why</b>",
        "open",
    )
    assert Requests(state).find(made.id) == made
    assert Requests(state).ask(ZOE, "shop", amount=Decimal("1e-7"), reason="x").amount == "0.0000001"


def test_it_is_decided_once_whoever_comes_first(state: State) -> None:
    wishes, granted, refused, late = Requests(state), list[str](), list[str](), list[str]()
    name = wishes.ask(ZOE, "shop", amount=None, reason="x").id
    gate = threading.Barrier(6)

    def decide(who: Identity, yes: bool) -> None:
        gate.wait()
        try:
            if yes:
                wishes.approve(who, name, note="", grant=lambda wish: granted.append(wish.id))
            else:
                wishes.refuse(who, name, note="")
                refused.append(name)
        except HttpProblem as error:
            late.append(error.name)

    threads = [threading.Thread(target=decide, args=(who, yes)) for who in (CORA, CARL) for yes in (True, False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert late == ["decided"] * 5
    assert len(granted) + len(refused) == 1
    assert wishes.find(name).state == ("approved" if granted else "refused")


def test_a_grant_that_fails_opens_it_again(state: State) -> None:
    wishes = Requests(state)
    name = wishes.ask(ZOE, "shop", amount=None, reason="x").id

    def fails(_: AccessRequest) -> None:
        with pytest.raises(HttpProblem):
            wishes.refuse(CARL, name, note="")  # nobody else decides meanwhile
        raise RuntimeError

    with pytest.raises(RuntimeError):
        wishes.approve(CORA, name, note="a", grant=fails)
    found = wishes.find(name)
    assert (found.state, found.decider, found.note) == ("open", None, None)


def test_an_approval_that_died_can_be_taken_up(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    wishes = Requests(state)
    name = wishes.ask(ZOE, "shop", amount=None, reason="x").id
    assert wishes._move(name, ("open",), state="approving", decided=now(), decider="cora", note="")
    with pytest.raises(HttpProblem):
        wishes.approve(CARL, name, note="", grant=lambda _: None)
    monkeypatch.setattr(module, "STALE", -1)
    assert wishes.approve(CARL, name, note="", grant=lambda _: None).decider == "carl"


def test_nobody_decides_about_themselves(state: State) -> None:
    wishes = Requests(state)
    name = wishes.ask(CORA, "shop", amount=None, reason="x").id
    with pytest.raises(HttpProblem, match="another curator"):
        wishes.refuse(CORA, name, note="")
    with pytest.raises(HttpProblem, match="another curator"):
        wishes.approve(CORA, name, note="", grant=lambda _: None)


def test_lists_by_person_and_state(state: State) -> None:
    wishes = Requests(state)
    names = [wishes.ask(who, "shop", amount=None, reason="x").id for who in (ZOE, CARL, ZOE)]
    wishes.refuse(CORA, names[0], note="")
    assert [each.id for each in wishes.listed()] == names[::-1]
    assert [each.id for each in wishes.listed(owner="zoe")] == [names[2], names[0]]
    assert [each.id for each in wishes.listed(state="open")] == [names[2], names[1]]
    assert [each.id for each in wishes.listed(after=names[2], limit=1)] == [names[1]]
    with pytest.raises(HttpProblem):
        wishes.listed(owner="zoe", after=names[1])  # not theirs
