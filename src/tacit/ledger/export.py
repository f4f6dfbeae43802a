"""A ledger as a file of JSON lines, which anybody can verify without the database, and without seeing the bodies.

The first line names the ledger and its chains, the last one counts the entries. Each line between is one entry:
chain, seq, time, digest, and `body`, the exact text that was hashed. In a redacted file `body_sha256` stands in its
place: hashes are made over the hash of the body, so the chain can still be checked, and nothing about what was asked
is in it but how often and when.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import time_ns
from typing import Any, TextIO

from tacit.base import InputError
from tacit.ledger.chain import REGISTRY, UNREADABLE, Chain, Findings, hashed
from tacit.ledger.reader import on_server, reading
from tacit.ledger.verify import (
    TICK,
    KnownEntry,
    Tick,
    VerificationReport,
    check_registry,
    concluded,
    silent,
    verify,
    watch_for,
)

__all__ = ["FORMAT", "export", "is_export", "verify_any", "verify_export"]

FORMAT = "tacit ledger 1"
ABOUT = ('\\"kind\\":\\"void\\"', '\\"kind\\":\\"begin\\"')  # as they stand inside a line


def export(where: str | Path, out: TextIO, *, redact: bool = False, tick: Tick = silent) -> int:
    """Write all entries of a ledger, of one moment, and return how many there are."""
    with reading(where) as reader:
        names, chains = reader.openings(), []
        for row in reader.accounts():
            first = REGISTRY if row.people == REGISTRY else _opened(names.get(row.id, ""))
            chains.append(
                {"chain": row.id, "people": row.people, "first": first, "seq": row.seq, "digest": bytes(row.head).hex()}
            )
        head = {"format": FORMAT, "ledger": reader.ledger, "time": time_ns() // 1000, "redacted": redact}
        _line(out, head | {"chains": chains})
        count = 0
        for account, seq, _, time, _, _, body, digest in reader.entries():
            place = {"chain": account, "seq": seq, "time": time, "digest": bytes(digest).hex()}
            _line(out, place | ({"body_sha256": hashed(body).hex()} if redact else {"body": body}))
            count += 1
            if not count % TICK:
                tick(TICK)
        _line(out, {"end": count})
        tick(count % TICK)
        return count


def _line(out: TextIO, data: dict[str, Any]) -> None:
    out.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")


def _opened(body: str) -> str | None:
    """The name an account was opened with; None if its first entry is not there to say it."""
    try:
        return str(json.loads(body)["people"])
    except (ValueError, KeyError, TypeError):
        return None


def is_export(path: Path) -> bool:
    """Whether a file begins like one."""
    try:
        with path.open("rb") as file:
            return FORMAT.encode() in file.read(100)
    except OSError:
        return False


def verify_any(
    where: str | Path, *, known: tuple[KnownEntry, ...] = (), begin: Tick = silent, tick: Tick = silent
) -> VerificationReport:
    """Check a ledger, or an export of one."""
    if not on_server(where) and is_export(Path(where)):
        return verify_export(Path(where), known=known, tick=tick)
    return verify(where, known=known, begin=begin, tick=tick)


def verify_export(path: Path, *, known: tuple[KnownEntry, ...] = (), tick: Tick = silent) -> VerificationReport:
    """Check such a file by itself: its chains, and where bodies are in it, what they add up to.

    There are no balances and answers beside it to compare with. `known` are the entries of a checkpoint.
    """
    mentioned = _mentioned(path)
    lines = _lines(path)
    head: Any = next(lines, (0, None))[1]
    findings, chains = Findings(), dict[int, Chain]()
    try:
        if head["format"] != FORMAT:
            raise InputError(f"{path} is of another format than {FORMAT!r}: export it with this release")
        ledger, redacted = str(head["ledger"]), bool(head["redacted"])
        listed = {int(chain["chain"]): chain for chain in head["chains"]}
        ends = {number: (int(chain["seq"]), bytes.fromhex(chain["digest"])) for number, chain in listed.items()}
        for number, chain in listed.items():
            people, about = str(chain["people"]), mentioned.get(number, set())
            name, watch = chain.get("first") if redacted or people == REGISTRY else None, watch_for(known, people)
            chains[number] = Chain(ledger, people, findings, first_name=name, mentioned=about, watch=watch)
    except UNREADABLE as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not an export of a ledger: its first line does not say which one") from None
    count, end = 0, None
    for line, data in lines:
        try:
            if "end" in data:
                end = data["end"]
                continue
            own, digest = chains[data["chain"]], bytes.fromhex(data["digest"])
            if redacted:
                own.link(data["seq"], data["time"], digest, bytes.fromhex(data["body_sha256"]))
            else:
                own.take(data["seq"], None, data["time"], None, None, data["body"], digest)
        except UNREADABLE:
            findings.add(REGISTRY, None, f"line {line} of the file cannot be read as an entry")
        count += 1
        if not count % TICK:
            tick(TICK)
    if end != count:
        findings.add(REGISTRY, None, f"the file was cut short or added to: it has {count} entries and says {end}")
    for number, own in chains.items():
        if ends[number] != (own.seq, own.digest):
            own.found(None, f"should end with entry {ends[number][0]}, and ends with {own.seq} or another hash")
        if not redacted and own.people not in (REGISTRY, own.history.people):
            own.found(None, "has another name than its entries give it")
    walked = list(chains.values())
    if not redacted:
        check_registry(walked, findings)
    return concluded(walked, known, findings, (ledger, str(path)), entries=count, redacted=redacted)


def _texts(path: Path) -> Iterator[str]:
    """Line by line."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            yield from file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The lines as data; one that is not JSON is given as nothing, which no reader takes for an entry."""
    for number, line in enumerate(_texts(path), 1):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            yield number, {}


def _mentioned(path: Path) -> dict[int, set[int]]:
    """The charges that a void or a begin speaks of, by chain."""
    found: dict[int, set[int]] = {}
    for line in _texts(path):
        if any(word in line for word in ABOUT):
            with suppress(*UNREADABLE):  # said when the line is read in its place
                data = json.loads(line)
                found.setdefault(data["chain"], set()).add(json.loads(data["body"])["charge"])
    return found
