"""A ledger as lines of JSON, verified without the database."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from support.books import account, cost, opened, program, terms
from tacit.base import InputError, LedgerError
from tacit.ledger.export import export, is_export, verify_export
from tacit.ledger.verify import VerificationReport, verify

Lines = list[dict[str, Any]]


@pytest.fixture
def exported(where: str, tmp_path: Path) -> Callable[..., Path]:
    with opened(where, terms(), terms("visitors")) as ledger:
        ledger.charge(account(), cost(1), program("secret question"), "one")
        ledger.void(ledger.charge(account(), cost(2), program(), "two"))
        ledger.charge(account(people="visitors"), cost(3), program('"kind":"void" 名'), 'key "3"')
        ledger.begin(ledger.charge(account(people="visitors"), cost(3), program('"kind":"void" 名'), 'key "3"'))
        ledger.rename("visitors", "guests")

    def write(change: Callable[[Lines], object] = len, *, redact: bool = False) -> Path:
        out = StringIO()
        count = export(where, out, redact=redact)
        lines = [json.loads(line) for line in out.getvalue().splitlines()]
        assert count == len(lines) - 2
        change(lines)
        path = tmp_path / "out.jsonl"
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        return path

    return write


def said(report: VerificationReport) -> str:
    return "\n".join(map(str, report.findings))


@pytest.mark.parametrize("redact", [False, True])
def test_an_export_verifies_and_ends_as_the_ledger_does(
    where: str, exported: Callable[..., Path], redact: bool
) -> None:
    path = exported(redact=redact)
    assert is_export(path)
    report, real = verify_export(path), verify(where)
    assert said(report) == ""
    assert report.redacted is redact
    assert (report.ledger, report.entries) == (real.ledger, real.entries)
    ends = [(head.people, head.seq, head.digest, head.opening) for head in report.heads]
    assert ends == [(head.people, head.seq, head.digest, head.opening) for head in real.heads]
    if not redact:
        assert [head.spent for head in report.heads] == [head.spent for head in real.heads]


def test_a_redacted_export_says_nothing_of_what_was_asked(exported: Callable[..., Path]) -> None:
    text = exported(redact=True).read_text()
    for word in ("secret", "alice", "spend", "Laplace", "visits", "charge"):
        assert word not in text
    assert "secret question" in exported().read_text()


def set_to(line: int, field: str, value: object) -> Callable[[Lines], object]:
    return lambda lines: lines[line].update({field: value})


@pytest.mark.parametrize("redact", [False, True])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines.pop(5), "is missing"),
        (lambda lines: lines.pop(-2), "should end with"),
        (lambda lines: lines.pop(), "cut short"),
        (lambda lines: lines.insert(5, lines[5]), "two entries have one number"),
        (set_to(5, "time", 10**17), "was altered"),
        (set_to(5, "time", -1), "cannot be read"),
        (set_to(5, "time", 2**64), "cannot be read"),
        (set_to(5, "digest", "00" * 32), "was altered"),
        (set_to(5, "digest", "what"), "line 6 of the file cannot be read"),
        (set_to(5, "chain", 77), "line 6 of the file cannot be read"),
        (set_to(5, "seq", "5"), "cannot be read"),
        (set_to(0, "ledger", "another"), "was altered"),
        (lambda lines: lines[0]["chains"][1].update(digest="00" * 32), "should end with"),
    ],
)
def test_what_was_altered_is_found(
    exported: Callable[..., Path], change: Callable[[Lines], object], expected: str, redact: bool
) -> None:
    assert expected in said(verify_export(exported(change, redact=redact)))


def test_altered_bodies_are_found(exported: Callable[..., Path]) -> None:
    def cheaper(lines: Lines) -> None:
        lines[6]["body"] = lines[6]["body"].replace('"spend":"1000000000000"', '"spend":"1"')

    def other_hash(lines: Lines) -> None:
        lines[5]["body_sha256"] = "00" * 32

    deep = '{"kind":"void","charge":' + "[" * 10**5
    assert "was altered" in said(verify_export(exported(cheaper)))
    assert "cannot be read" in said(verify_export(exported(set_to(5, "body", deep))))
    assert "was altered" in said(verify_export(exported(other_hash, redact=True)))
    renamed = exported(lambda lines: lines[0]["chains"][2].update(people="others"))
    assert "another name than its entries" in said(verify_export(renamed))
    removed = exported(lambda lines: lines[0]["chains"].pop(2))
    assert "the account is gone" in said(verify_export(removed))


@pytest.mark.parametrize("value", [{"people": None}, {"first": 3}, {"first": "\ud800"}])
def test_a_first_line_that_no_export_has_is_refused(exported: Callable[..., Path], value: dict[str, object]) -> None:
    path = exported(redact=True)
    head, *rest = path.read_text().splitlines()
    data = json.loads(head)
    data["chains"][1] = {**data["chains"][1], **value}
    if value == {"people": None}:
        del data["chains"][1]["people"]
    path.write_text("\n".join([json.dumps(data), *rest]))
    with pytest.raises(InputError, match="not an export of a ledger"):
        verify_export(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "x.jsonl"
    for content in ("", "text\n", "[]\n", '{"format": "tacit ledger 9"}\n', '{"format":"tacit ledger 1","chains":3}\n'):
        other.write_text(content)
        with pytest.raises(InputError, match=r"not an export of a ledger|another format"):
            verify_export(other)
    with pytest.raises(InputError, match="cannot be read"):
        verify_export(tmp_path / "missing")
    assert not is_export(tmp_path / "missing")
    with pytest.raises(LedgerError, match="there is no ledger"):
        export(tmp_path / "missing", StringIO())
