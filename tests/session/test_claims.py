"""One budget for one body of data, counted by one unit, whatever it is called: through sessions and single files."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

import tacit
from support.forged import said
from support.hospital import hospital, visits
from support.postgres import Server, postgres
from tacit.base import CorruptLedger, PolicyError, TacitError
from tacit.ledger import Ledger
from tacit.ledger.verify import verify
from tacit.session import Session
from tacit.session.single import EACH_ROW

__all__ = ["postgres"]

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return hospital(tmp_path)


def changed(policy: Path, name: str = "other.toml", **words: str) -> Path:
    """The same policy with some words changed, beside it."""
    text = policy.read_text()
    for before, after in words.items():
        old = {"people": 'name = "hospital"', "file": '"visits.parquet"', "unit": 'unit_column = "patient_id"'}[before]
        assert old in text
        text = text.replace(old, after)
    place = policy.with_name(name)
    place.write_text(text)
    return place


PEOPLE = 'name = "hospital"\npeople = "others"'


@pytest.mark.parametrize("way", ["link", "hard link", "folder", "itself"])
def test_another_way_to_the_same_file_is_the_same_budget(policy: Path, way: str) -> None:
    folder = policy.parent
    file = folder / "visits.parquet"
    (folder / "more").mkdir()
    source = "visits.parquet"
    if way == "link":
        (folder / "link.parquet").symlink_to(file)
        source = "link.parquet"
    elif way == "hard link":
        os.link(file, folder / "hard.parquet")
        source = "hard.parquet"
    elif way == "folder":
        os.link(file, folder / "more" / "1.parquet")
        source = "more/"
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
    other = changed(policy, people=PEOPLE, file=f'"{source}"')
    with pytest.raises(PolicyError, match='is the data of "hospital" already'):
        Session(other, "ana")
    with Session(changed(policy, file=f'"{source}"'), "ana") as session:  # the same people: the same budget
        session.ask(COUNT, rho=0.1)
    assert said(verify(folder / "hospital.ledger")) == ""


def test_an_open_account_is_not_pointed_at_other_peoples_data(policy: Path) -> None:
    staff = policy.with_name("staff.parquet")
    pq.write_table(visits(), staff)
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
    with Session(changed(policy, people=PEOPLE, file='"staff.parquet"'), "ana") as session:
        session.ask(COUNT, rho=0.1)
    with pytest.raises(PolicyError, match='is the data of "hospital" already'):
        Session(changed(policy, people=PEOPLE), "ana")
    third = policy.with_name("third.parquet")
    pq.write_table(visits(), third)
    with Session(changed(policy, people=PEOPLE, file='"third.parquet"'), "ana") as session:
        session.ask(COUNT, rho=0.1)  # data that is nobody's is added
    with pytest.raises(PolicyError, match='is the data of "others" already'):
        Session(changed(policy, file='"third.parquet"'), "ana")


def test_a_new_version_of_a_file_is_claimed_before_it_is_asked(policy: Path) -> None:
    file, kept = policy.with_name("visits.parquet"), policy.with_name("kept.parquet")
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
        fresh = policy.with_name("fresh.parquet")
        pq.write_table(visits(rows=2000), fresh)
        os.link(fresh, kept)
        fresh.replace(file)  # a new number under the old path
        before = len(session.standing().claims)
        session.ask(COUNT, rho=0.1)
        assert len(session.standing().claims) == before + 1
    with pytest.raises(PolicyError, match='is the data of "hospital" already'):
        Session(changed(policy, people=PEOPLE, file='"kept.parquet"'), "ana")


def test_other_peoples_file_in_the_place_of_ours_is_not_asked(policy: Path) -> None:
    staff = policy.with_name("staff.parquet")
    pq.write_table(visits(rows=100), staff)
    with Session(changed(policy, people=PEOPLE, file='"staff.parquet"'), "ana"):
        pass
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
        spent = session.left()
        staff.replace(policy.with_name("visits.parquet"))
        with pytest.raises(PolicyError, match='is the data of "others" already'):
            session.ask(COUNT, rho=0.1)
        assert session.left() == spent


def test_two_sessions_open_two_accounts_on_one_file_at_once(policy: Path) -> None:
    policies = [
        changed(policy, f"{number}.toml", people=f'name = "hospital"\npeople = "people {number}"')
        for number in range(4)
    ]
    Ledger.open(policy.with_name("hospital.ledger")).close()
    start, results = threading.Barrier(len(policies)), []

    def run(place: Path) -> None:
        start.wait()
        try:
            Session(place, "ana").close()
            results.append("opened")
        except PolicyError:
            results.append("refused")

    threads = [threading.Thread(target=run, args=(place,)) for place in policies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["opened", "refused", "refused", "refused"]
    with Ledger.open(policy.with_name("hospital.ledger")) as ledger:
        assert len(ledger.people()) == 1


def test_another_unit_is_refused_at_open_and_in_an_open_session(policy: Path) -> None:
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
        other = changed(policy, unit='unit_column = "age"').read_text()
        with pytest.raises(PolicyError, match='was counted by column "patient_id"'):
            Session(changed(policy, unit='unit_column = "age"'), "ana")
        renamed = changed(policy, unit='unit_column = "age"').read_text().replace("tables.visits", "tables.people")
        policy.with_name("renamed.toml").write_text(renamed)
        with pytest.raises(PolicyError, match='was counted by column "patient_id"'):
            Session(policy.with_name("renamed.toml"), "ana")
        policy.write_text(other)
        os.utime(policy, (1, 1))
        with pytest.raises(PolicyError, match='was counted by column "patient_id"'):
            session.ask(COUNT, rho=0.2)


def test_a_lost_answer_is_not_drawn_again(policy: Path) -> None:
    with Session(policy, "ana") as session:
        session.ask(COUNT, rho=0.1)
        with sqlite3.connect(policy.with_name("hospital.ledger")) as raw:
            raw.execute("DELETE FROM tacit_answers")
        raw.close()
        with pytest.raises(CorruptLedger, match="no other is drawn in its place"):
            session.ask(COUNT, rho=0.1)


# --- one file without a policy


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


def test_one_file_has_one_unit(file: Path) -> None:
    tacit.ask(file, COUNT, unit_column="patient_id", epsilon=1)
    for unit in ("age", EACH_ROW):
        with pytest.raises(PolicyError, match=r'was counted by column "patient_id".*tacit ledger seal.*table="…"'):
            tacit.ask(file, COUNT, unit_column=unit, epsilon=1)
    with pytest.raises(PolicyError, match='is the data of "visits" already'):
        tacit.ask(file, COUNT.replace("visits", "again"), table="again", unit_column="age", epsilon=1)
    with Ledger.open(f"{file}.ledger") as ledger:
        ledger.seal("visits", "the unit was wrong")
    tacit.ask(file, COUNT.replace("visits", "again"), table="again", unit_column="age", epsilon=1)
    with pytest.raises(PolicyError):
        tacit.ask(file, COUNT.replace("visits", "third"), table="third", unit_column="patient_id", epsilon=1)
    assert said(verify(f"{file}.ledger")) == ""


def test_a_table_in_memory_has_one_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data: Any = visits()
    question = COUNT.replace("visits", "data")
    tacit.ask(data, question, unit_column="patient_id", epsilon=1, ledger=tmp_path / "book")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(PolicyError, match="was counted by"):
        tacit.ask(data, question, unit_column="age", epsilon=1, ledger=tmp_path / "book")
    tacit.ask(data, question, unit_column="patient_id", epsilon=1)
    with pytest.raises(PolicyError, match="was counted by"):
        tacit.ask(data, question, unit_column="age", epsilon=1)


def test_the_ledger_beside_a_file_is_its_owners_alone(file: Path) -> None:
    before = os.umask(0)
    try:
        tacit.ask(file, COUNT, unit_column="patient_id", epsilon=1)
    finally:
        os.umask(before)
    found = [path for path in file.parent.iterdir() if ".ledger" in path.name]
    assert found
    assert {S_IMODE(path.stat().st_mode) for path in found} == {0o600}


# --- PostgreSQL

POSTGRES = """
[dataset]
name = "clinic"
people = "PEOPLE"
engine = "postgres"
source = "URL"
ledger = "tacit.ledger"
[privacy]
currency = "rho"
budget = 10
delta = 1e-6
unit = "person"
[tables.visits]
source = "TABLE"
unit_column = "pid"
clip_rows = 1
[tables.visits.columns]
pid = { type = "integer" }
[analysts.ana]
limit = 10
"""


@pytest.fixture
def clinic(postgres: Server) -> Iterator[str]:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            connection.execute("CREATE TABLE visits AS SELECT generate_series(1, 100) AS pid")
            connection.execute("CREATE TABLE staff AS SELECT generate_series(1, 50) AS pid")
            connection.execute("CREATE VIEW recent AS SELECT * FROM visits")
        yield f"postgresql://postgres@/{name}?host={postgres.folder}"


def test_tables_of_one_database_are_different_people(clinic: str, tmp_path: Path) -> None:
    def opened(people: str, table: str) -> Session:
        place = tmp_path / f"{people}.toml"
        place.write_text(POSTGRES.replace("PEOPLE", people).replace("URL", clinic).replace("TABLE", table))
        return Session(place, "ana")

    with opened("patients", "visits") as patients, opened("staff", "staff") as staff:
        patients.ask(COUNT, rho=1)
        staff.ask(COUNT, rho=1)
        for table in ("public.visits", "recent"):
            with pytest.raises(PolicyError, match='is the data of "patients" already'):
                opened("others", table)
        with psycopg.connect(clinic, autocommit=True) as connection:
            connection.execute("ALTER TABLE staff RENAME TO old")
            connection.execute("ALTER TABLE visits RENAME TO staff")  # the patients' table under the name of the other
        with pytest.raises(TacitError, match='is the data of "patients" already'):
            staff.ask(COUNT, rho=1)
    assert said(verify(tmp_path / "tacit.ledger")) == ""
