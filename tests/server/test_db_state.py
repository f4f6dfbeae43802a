"""The service's own database: rows that are there once, and errors that tell no addresses."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from tacit.base import InputError
from tacit.server.db import State, Unavailable, keys


def test_a_row_is_added_once_however_many_try(state: State) -> None:
    with ThreadPoolExecutor(8) as pool:
        row = {"owner": "ana", "dataset": "clinic", "key": "k", "question": b"q"}
        added = list(pool.map(lambda _: state.insert_once(keys, **row), range(16)))
    assert added.count(True) == 1


def test_errors_of_the_database_tell_no_values(state: State) -> None:
    with pytest.raises(Unavailable) as told, state.reading() as connection:
        connection.execute(text("SELECT 'secret' FROM nowhere"))
    assert "secret" not in str(told.value)
    assert told.value.__suppress_context__
    assert state.ready()


def test_a_block_that_fails_leaves_nothing(state: State) -> None:
    row = {"owner": "ana", "dataset": "clinic", "key": "k", "question": b"q"}

    def undecided() -> None:
        with state.writing() as connection:
            connection.execute(keys.insert().values(**row))
            raise InputError("changed our mind")

    with pytest.raises(InputError):
        undecided()
    assert state.insert_once(keys, **row)


def test_an_address_that_is_none() -> None:
    with pytest.raises(InputError, match="no address"):
        State("postgresql://host:port/name")
