"""The service's own database: rows that are there once, and errors that tell no addresses."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, inspect, select, text

from support.postgres import Server
from tacit.base import InputError
from tacit.server import db as versions
from tacit.server.auth.people import Identity, People
from tacit.server.curate import checks, requests
from tacit.server.curate import save as journal
from tacit.server.db import SCHEMA, State, Unavailable, jobs, keys
from tacit.server.ops.backup import back_up
from tacit.server.ops.config import Config
from tacit.server.ops.restore import check
from tacit.server.survey import store as collect_store
from tacit.server.survey.store import ReportStore


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


def test_where_every_connection_is_in_use_it_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(tmp_path / "server.db")
    monkeypatch.setattr(state.engine.pool, "_timeout", 0.01)
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(state.reading())
        assert not state.ready()
        with pytest.raises(Unavailable, match="try again later"):
            state.look(select(keys))
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


OLD = Path(__file__).parent / "versions"  # written by the release before there were versions
TOKENS = json.loads((OLD / "tokens.json").read_text())
EVERY = (checks.checks, journal.change_log, requests.requests)  # with these modules the service has all of its tables
PARTS = {"service": SCHEMA, "surveys": collect_store.SCHEMA}


def written(path: Path, name: str) -> Path:
    with closing(sqlite3.connect(path)) as base:
        base.executescript((OLD / name).read_text())
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str | Path]]:
    """Both parts in their first form; in PostgreSQL they share a database."""
    if request.param == "sqlite":
        files = {"service": "server", "surveys": "surveys"}
        yield {part: written(tmp_path / f"{name}.db", f"{name}.1.sqlite.sql") for part, name in files.items()}
        return
    postgres: Server = request.getfixturevalue("postgres")
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
            connection.execute((OLD / "database.1.postgres.sql").read_bytes())
        yield dict.fromkeys(PARTS, postgres.url(name))


def kind(where: str | Path) -> str:
    return "sqlite" if isinstance(where, Path) else "postgres"


def opened(part: str, where: str | Path) -> Any:
    return State(where) if part == "service" else ReportStore(where)


def rows(connection: Connection, table: str) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in connection.execute(text(f"SELECT * FROM {table}"))]


def form(connection: Connection, part: str) -> dict[str, Any]:
    """Every table of a part: its columns, primary key, uniqueness, and indexes."""
    found, seen = inspect(connection), {}
    for table in PARTS[part].metadata.sorted_tables:
        columns = {c["name"]: (str(c["type"]), c["nullable"]) for c in found.get_columns(table.name)}
        unique = sorted(tuple(u["column_names"]) for u in found.get_unique_constraints(table.name))
        indexes = sorted((str(i["name"]), tuple(i["column_names"])) for i in found.get_indexes(table.name))
        key = found.get_pk_constraint(table.name)["constrained_columns"]
        seen[table.name] = (columns, key, unique, [i for i in indexes if not i[0].endswith("_key")])
    return seen


@pytest.mark.parametrize("part", PARTS)
def test_an_old_database_becomes_what_a_new_one_is_and_loses_nothing(
    part: str, old: dict[str, str | Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opened("service", old["service"]).close()  # the parts do not disturb each other
    assert all(table.name in SCHEMA.metadata.tables for table in EVERY)
    with closing(opened(part, old[part])) as found, found.engine.connect() as connection:
        assert PARTS[part].known(connection) == PARTS[part].version
        after, made = form(connection, part), rows(connection, f"tacit_{'jobs' if part == 'service' else 'tallies'}")
    assert len(made) == (2 if part == "service" else 1)
    new = tmp_path / "new.db" if kind(old[part]) == "sqlite" else request.getfixturevalue("database")
    with closing(opened(part, new)) as found, found.engine.connect() as connection:
        assert form(connection, part) == after


def test_people_tokens_and_jobs_of_an_old_database_work(old: dict[str, str | Path]) -> None:
    for _ in range(2):  # the second time there is nothing to bring up
        with closing(State(old["service"])) as state:
            assert People(state).by_token(TOKENS[kind(old["service"])]) == Identity("ana", "analyst")
            with state.reading() as connection:
                found = connection.execute(select(jobs).order_by(jobs.c.number)).all()
                assert [(row.id, row.state, row.key, row.seen) for row in found] == [
                    ("j1", "done", None, None),
                    ("j2", "running", None, None),
                ]
                assert rows(connection, "tacit_releases")[0]["content"] == b"\x00\x01\xff"


@pytest.mark.parametrize("part", PARTS)
def test_a_newer_database_is_refused_and_left_as_it_is(part: str, old: dict[str, str | Path]) -> None:
    with closing(opened(part, old[part])) as found, found.engine.begin() as connection:
        connection.execute(text(f"UPDATE tacit_schema SET version = 99 WHERE part = '{part}'"))
    with pytest.raises(InputError, match=r"newer release of tacit \(.*version 99.*install that release"):
        opened(part, old[part])
    with closing(opened("surveys" if part == "service" else "service", old[part])):
        pass  # the other part is as it was


def test_a_step_that_fails_leaves_the_old_form(old: dict[str, str | Path]) -> None:
    def broken(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE tacit_people ADD COLUMN half TEXT"))
        raise InputError("the power went")

    wrong = versions.StateSchema("service", SCHEMA.metadata, "tacit_people", (*SCHEMA.steps, broken))
    with pytest.raises(InputError, match="power"):
        State(old["service"], wrong)
    with closing(State(old["service"])) as state, state.reading() as connection:
        columns = {column["name"] for column in inspect(connection).get_columns("tacit_people")}
        assert "half" not in columns
        assert SCHEMA.known(connection) == SCHEMA.version


def test_a_backup_carries_the_version_and_a_newer_copy_is_found_out(
    old: dict[str, str | Path], tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(postgres.binaries), prepend=":")
    folder = tmp_path if kind(old["service"]) == "sqlite" else tmp_path / "state"
    database = "" if kind(old["service"]) == "sqlite" else str(old["service"])
    for part in PARTS:
        opened(part, old[part]).close()
    config = Config(state=folder, database=database)
    back_up(config, tmp_path / "first.tar")
    unusable = [what for _, what in check(tmp_path / "first.tar").findings if "newer" in what]
    assert not unusable
    if database:
        assert b"tacit_schema" in (tmp_path / "first.tar").read_bytes()
        return
    with closing(sqlite3.connect(folder / "server.db")) as base, base:
        base.execute("UPDATE tacit_schema SET version = 99 WHERE part = 'service'")
    back_up(config, tmp_path / "second.tar")
    assert any("newer release" in what for _, what in check(tmp_path / "second.tar").findings)
