"""How the ledgers in this folder were made: by the last release whose ledgers had version 1, 0.1.0.

Kept to be read, not to be run: a newer release writes newer ledgers. It was run as `python make.py` in this folder,
with that release and `tests` on the path.
"""

import json
import socket
import subprocess
from pathlib import Path

from support.books import account, cost, limit, program, terms
from support.postgres import server
from tacit.ledger import Ledger
from tacit.ledger.checkpoint import new_key, sign
from tacit.ledger.export import export
from tacit.policy.account import analyst_holder, group_holder

SOURCES = ("file:/srv/clinic/visits.parquet", "postgresql://db.example:5432/clinic")


def fill(where: str) -> None:
    """Every kind of entry, and every kind of stored answer."""
    with Ledger.open(where) as ledger:
        limits = (
            limit(analyst_holder("alice"), 50, each=5),
            limit(analyst_holder("bob"), 50),
            limit(group_holder("lab"), 80),
        )
        ledger.apply(terms("patients", sources=SOURCES, limits=limits))
        alice, bob = account("alice", groups=("lab",)), account("bob", groups=("lab",))
        first = ledger.charge(alice, cost(1), program("first"), "k1")
        ledger.keep(first, b"forty-two", version="v1")
        second = ledger.charge(bob, cost(2), program("second"), "k2")
        ledger.keep(second, b"shared by all", version="v1", shared=True)
        third = ledger.charge(alice, cost(1), program("third"), "k3")
        ledger.keep(third, b"failed", version="v1", kind="failure")
        ledger.void(ledger.charge(alice, cost(3), program("void"), "k4"))
        ledger.charge(alice, cost(1), program("begun, and no answer"), "k5")
        ledger.apply(terms("patients", total=90, sources=SOURCES, limits=limits))
        ledger.apply(terms("staff", sources=("file:/srv/clinic/staff.csv",)))
        ledger.charge(account("carol", people="staff"), cost(1), program(), "k1")
        ledger.rename("staff", "employees")
        ledger.seal("employees", "the study ended")
        ledger.apply(terms("shoppers", period=1000))
        for number in range(3):
            ledger.charge(account("alice", people="shoppers"), cost(1), program(), f"k{number}")
    with Ledger.open(where) as other:
        again = other.charge(alice, cost(1), program("begun, and no answer"), "k5")
        other.begin(again)
        other.adopt("a test of adopting")


def main() -> None:
    socket.gethostname = lambda: "clinic"  # charges name the machine they were made on
    here = Path(__file__).parent
    fill(str(here / "tacit.ledger"))
    with (here / "export.jsonl").open("x") as out:
        export(here / "tacit.ledger", out)
    with (here / "redacted.jsonl").open("x") as out:
        export(here / "tacit.ledger", out, redact=True)
    new_key(here / "owner.key")
    stored = sign(here / "tacit.ledger", here / "owner.key")
    (here / "checkpoint.json").write_text(json.dumps(stored, indent=1) + "\n")
    (here / "owner.key").unlink()  # nobody is to sign with it again
    for ending in (".lock", "-wal", "-shm"):
        (here / f"tacit.ledger{ending}").unlink()
    found = server()
    with found.database() as name:
        fill(found.url(name))
        dump = [str(found.binaries / "pg_dump"), "--inserts", "--no-owner"]
        dump += ["-h", str(found.folder), "-U", "postgres", name]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    left_out = ("--", "\\", "SET ", "SELECT ")  # comments, and settings that other versions do not know
    lines = [line for line in text.splitlines() if line and not line.startswith(left_out)]
    (here / "postgres.sql").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
