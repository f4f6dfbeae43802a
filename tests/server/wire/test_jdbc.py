"""PostgreSQL's own JDBC driver, which DBeaver, Metabase and Tableau come with: it looks around and asks."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.tree import ROOT
from support.wire import Served

PROBE = ROOT / "tests" / "support" / "java" / "Probe.java"
EMPTY = "primaryKeys importedKeys exportedKeys crossReference indexInfo bestRow functions procedures userTypes"
WANTED = {
    "names": "PostgreSQL clinic public true",
    "tables": "visits/TABLE wards/TABLE",
    "columns": "patient_id/int8/1 cost/numeric/0 age/int8/0 ward/text/1 day/date/1 urgent/bool/0",
    "schemas": "information_schema pg_catalog public",
    "catalogs": "clinic",
    "tableTypes": "true",
    "privileges": "true",
    "columnPrivileges": "true",
    "clientInfo": "probe",
    "isolation": "set",
    "price": "false",
    "ask": "east west null",
    "metadata": "text int8 false",
    "prepared": "true",
    "fetchSize": "east west null",
    "savepoint": "back",
    "timeout": "east west null",
    "copy": "3 ward,n",
    "refused": "42501",
    "keywords": "null",
    **dict.fromkeys(EMPTY.split(), ""),
}


def driver() -> Path | None:
    """The driver's jar: where TACIT_JDBC says, or where Maven keeps it."""
    if "TACIT_JDBC" in os.environ:
        return Path(os.environ["TACIT_JDBC"])
    found = sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar"))
    return found[-1] if found else None


def test_what_schema_browsers_do(served: Served) -> None:
    jar = driver()
    if jar is None or shutil.which("javac") is None:
        pytest.skip("no JDBC here: it needs a JDK, and the driver's jar in TACIT_JDBC or in Maven's folder")
    url = f"jdbc:postgresql://127.0.0.1:{served.port}/clinic?sslmode=disable"
    command = ["java", "-Duser.timezone=Europe/Berlin", "-cp", str(jar), str(PROBE), url, "ana"]
    done = subprocess.run(
        [*command, served.clinic.tokens["ana"].text], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {name: text.strip() for name, _, text in (line.partition(":") for line in done.stdout.splitlines())}
    types = found.pop("types").split()
    assert {"bool", "int8", "float8", "text", "date", "timestamp", "numeric"} <= set(types)
    assert found == WANTED
