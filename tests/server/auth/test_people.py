"""People, tokens, links and sessions, in SQLite and what is stored of secrets."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import sleep

import pytest
from sqlalchemy import update

from tacit.base import InputError
from tacit.server.auth.people import Identity, People
from tacit.server.db import State, browsers, links, metadata, tokens

MOMENT = timedelta(microseconds=1)


@pytest.fixture
def people(state: State) -> People:
    return People(state)


def test_a_token_says_whose_it_is(people: People) -> None:
    people.add("ana", "analyst")
    people.add("otto", "auditor")
    ana, otto = people.issue("ana"), people.issue("otto")
    assert people.by_token(ana.text) == Identity("ana", "analyst")
    assert people.by_token(otto.text) == Identity("otto", "auditor")
    assert people.alive(ana.prefix)
    mixed = f"tacit_{ana.prefix}_{otto.text[-43:]}"
    for wrong in (
        mixed,
        ana.text[:-1],
        ana.text + "x",
        ana.text.upper(),
        "",
        "tacit_",
        ana.prefix,
        ana.text[:-43] + "A" * 43,
    ):
        assert people.by_token(wrong) is None


def test_nothing_that_is_stored_lets_anybody_in(people: People) -> None:
    people.add("ana", "analyst")
    token, link = people.issue("ana"), people.link("ana")
    session = people.sign_in(people.link("ana"))
    assert session is not None
    with people.state.reading() as connection:
        rows = [connection.execute(table.select()).all() for table in metadata.sorted_tables]
    stored = repr(rows)
    for secret in (token.text[-43:], link, session):
        assert secret not in stored
    assert token.prefix in stored
    assert token.text not in repr(token)


def test_a_revoked_token_lets_nobody_in(people: People) -> None:
    people.add("ana", "analyst")
    one, other = people.issue("ana"), people.issue("ana")
    assert people.revoke(one.prefix).person == "ana"
    assert people.by_token(one.text) is None
    assert not people.alive(one.prefix)
    assert people.by_token(other.text) is not None
    first = people.issued("ana")
    people.revoke(one.text)  # again, and by the whole token: the time of the first revocation stays
    assert people.issued("ana") == first
    with pytest.raises(InputError, match="no such token"):
        people.revoke("0" * 12)


def test_a_token_past_its_time_lets_nobody_in(people: People) -> None:
    people.add("ana", "analyst")
    token = people.issue("ana", life=MOMENT)
    sleep(0.001)
    assert people.by_token(token.text) is None
    assert people.scram("ana") is None
    for life in (timedelta(0), timedelta(days=-1), timedelta(days=4000)):
        with pytest.raises(InputError, match="a token is valid for at most"):
            people.issue("ana", life=life)


def test_who_is_barred_is_out_at_once_and_the_name_stays_theirs(people: People) -> None:
    people.add("ana", "analyst")
    token, link = people.issue("ana"), people.link("ana")
    session = people.sign_in(people.link("ana"))
    assert session is not None
    people.bar("ana")
    assert people.by_token(token.text) is None
    assert people.by_session(session) is None
    assert people.sign_in(link) is None
    assert people.scram("ana") is None
    assert people.named("ana") is None
    for again in (lambda: people.add("ana", "curator"), lambda: people.issue("ana"), lambda: people.link("ana")):
        with pytest.raises(InputError):
            again()
    with pytest.raises(InputError):
        people.bar("ana")


@pytest.mark.parametrize(("name", "role"), [("", "analyst"), ("*", "analyst"), ("a\nb", "analyst"), ("ana", "root")])
def test_names_and_roles_that_there_are_not(people: People, name: str, role: str) -> None:
    with pytest.raises(InputError):
        people.add(name, role)
    assert people.everybody() == []


def test_a_link_works_once_however_often_it_is_tried_at_once(people: People) -> None:
    people.add("ana", "analyst")
    link = people.link("ana")
    with ThreadPoolExecutor(8) as pool:
        found = [session for session in pool.map(lambda _: people.sign_in(link), range(16)) if session is not None]
    assert len(found) == 1
    assert people.by_session(found[0]) == Identity("ana", "analyst")
    late = people.link("ana", life=MOMENT)
    sleep(0.001)
    assert people.sign_in(late) is None
    assert people.sign_in("") is None


def test_sign_in_gives_a_new_session_and_ends_the_one_before(people: People) -> None:
    people.add("ana", "analyst")
    first = people.sign_in(people.link("ana"))
    assert first is not None
    second = people.sign_in(people.link("ana"), instead_of=first)
    assert second is not None
    assert second != first
    assert people.by_session(first) is None
    third = people.sign_in(people.link("ana"), instead_of="planted by somebody")
    assert third is not None
    assert people.by_session("planted by somebody") is None
    people.sign_out(second)
    assert people.by_session(second) is None
    assert people.by_session(third) is not None


def test_a_session_ends_by_itself(people: People) -> None:
    people.add("ana", "analyst")
    session = people.sign_in(people.link("ana"))
    assert session is not None
    with people.state.writing() as connection:
        connection.execute(update(browsers).values(expires=1))
    assert people.by_session(session) is None


def test_the_first_start_makes_one_curator_and_no_password(people: People) -> None:
    link = people.first()
    assert link is not None
    assert people.everybody() == [(Identity("admin", "curator"), True)]
    assert people.first() is None
    session = people.sign_in(link)
    assert session is not None
    assert people.by_session(session) == Identity("admin", "curator")
    with people.state.reading() as connection:
        assert connection.execute(tokens.select()).all() == []
        assert len(connection.execute(links.select()).all()) == 1


def test_scram_takes_any_good_token_of_a_person(people: People) -> None:
    people.add("ana", "analyst")
    people.add("ben", "analyst")
    assert people.scram("ana") is None
    made = [people.issue("ana") for _ in range(3)]
    people.revoke(made[1].prefix)
    found, other = people.scram("ana"), people.scram("ben")
    assert found is not None
    assert other is None
    assert {keys.token for keys in found.keys} == {made[0].prefix, made[2].prefix}
    assert found.keys[0].token == made[2].prefix  # the newest
