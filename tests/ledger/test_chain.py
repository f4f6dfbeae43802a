"""The chain: every part of an entry and everything before it is in its digest."""

from hashlib import sha256

from tacit.ledger.chain import Entry, digest, genesis


def test_the_digest_is_what_the_reference_says() -> None:
    before, body = genesis("book", "patients"), b'{"kind":"seal"}'
    assert before == sha256(b"tacit ledger 1\0book\0patients").digest()
    assert (
        digest(before, 7, 9, body)
        == sha256(before + bytes(7) + b"\7" + bytes(7) + b"\t" + sha256(body).digest()).digest()
    )


def test_every_part_changes_the_digest() -> None:
    first = genesis("book", "patients")
    made = {
        digest(first, 1, 5, b"a"),
        digest(genesis("book", "other"), 1, 5, b"a"),
        digest(genesis("other", "patients"), 1, 5, b"a"),
        digest(first, 2, 5, b"a"),
        digest(first, 1, 6, b"a"),
        digest(first, 1, 5, b"b"),
    }
    assert len(made) == 6


def test_an_entry_as_plain_data() -> None:
    entry = Entry(people="p", seq=1, kind="seal", time=3, body='{"kind":"seal","why":"x"}', digest=b"\1\2")
    assert entry.json() == {"people": "p", "seq": 1, "time": 3, "digest": "0102", "body": {"kind": "seal", "why": "x"}}
