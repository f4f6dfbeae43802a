"""A signed checkpoint shows later whether a ledger only grew."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from support.books import account, cost, opened, program, terms
from tacit.base import CorruptLedger, InputError
from tacit.ledger import Ledger
from tacit.ledger.checkpoint import Signer, check, fingerprint, new_key, public_key, read, sign, signed_by, vouched
from tacit.ledger.export import export


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_key(tmp_path / "key")
    return tmp_path / "key"


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def test_a_key_is_for_its_owner_and_never_overwritten(key: Path, tmp_path: Path) -> None:
    assert S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        new_key(key)
    key.unlink()
    with pytest.raises(InputError, match=r"key\.pub exists already"):
        new_key(key)
    assert not key.exists()
    new_key(tmp_path / "second")
    assert (tmp_path / "second").read_bytes() != before
    with pytest.raises(InputError, match="cannot be written"):
        new_key(tmp_path / "no" / "folder")


def test_a_ledger_that_only_grew_passes(where: str, key: Path, tmp_path: Path) -> None:
    with opened(where, terms(), terms("visitors")) as ledger:
        ledger.charge(account(), cost(1), program(), "one")
        stored = json.loads(json.dumps(sign(where, key)))
        content = signed_by(stored, public(key))
        spent = {chain["people"]: chain["spent"] for chain in content["chains"]}
        assert spent == {
            "": None,
            "patients": {"spend": "1000000000000", "delta": "0"},
            "visitors": {"spend": "0", "delta": "0"},
        }
        assert check(stored, public(key), where).ok
        ledger.charge(account(), cost(1), program(), "two")
        ledger.rename("visitors", "guests")
        ledger.apply(terms("others"))
        assert check(stored, public(key), where).ok
    for redact in (False, True):
        path = tmp_path / f"{redact}.jsonl"
        with path.open("w") as out:
            export(where, out, redact=redact)
        assert check(stored, public(key), path).ok


def test_a_rewritten_or_older_ledger_does_not(key: Path, tmp_path: Path) -> None:
    """Two histories of one ledger, both whole in themselves: a copy went on in another way."""
    first, second = tmp_path / "a.ledger", tmp_path / "b.ledger"
    with opened(first, terms()) as ledger:
        ledger.charge(account(), cost(1), program(), "one")
    for ending in ("", ".mark"):
        Path(f"{second}{ending}").write_bytes(Path(f"{first}{ending}").read_bytes())
    with Ledger.open(first) as ledger:
        ledger.charge(account(), cost(1), program(), "two")
    stored = sign(first, key)
    older = check(stored, public(key), second)
    assert [str(found) for found in older.findings] == [
        '"patients", entry 5: is not the entry that the checkpoint was signed over'
    ]
    with Ledger.open(second) as ledger:
        ledger.charge(account(), cost("1/9999999"), program(), "another past")
    assert not check(stored, public(key), second).ok
    assert check(stored, public(key), first).ok


def test_an_account_that_is_gone_is_noticed(key: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "a.ledger", tmp_path / "other.ledger"
    with opened(path, terms()):
        pass
    with opened(other, terms()):
        pass
    stored = sign(path, key)
    with pytest.raises(InputError, match="of another ledger"):
        check(stored, public(key), other)


def test_altered_checkpoints_and_other_keys_are_refused(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()):
        pass
    stored = sign(path, key)
    new_key(tmp_path / "second")
    cases: list[Any] = [json.loads(json.dumps(stored)) for _ in range(4)]
    cases[0]["checkpoint"]["chains"][1]["seq"] = 1
    cases[1]["checkpoint"]["time"] = 1.5
    cases[2]["signature"] = "what"
    cases[3]["signature"] = cases[3]["signature"][:-2]
    for case in cases:
        with pytest.raises(InputError, match="altered, or somebody else"):
            signed_by(case, public(key))
    with pytest.raises(InputError, match="altered, or somebody else"):
        signed_by(stored, tmp_path / "second.pub")
    with pytest.raises(InputError, match="is not a public key"):
        signed_by(stored, key)
    others: list[Any] = [[], {}, {"checkpoint": 1, "public_key": 2, "signature": 3}]
    for other in others:
        with pytest.raises(InputError, match="is not a checkpoint"):
            signed_by(other, public(key))
    with pytest.raises(InputError, match="is not a private key"):
        sign(path, public(key))
    with pytest.raises(InputError, match="cannot be read"):
        sign(path, tmp_path / "missing")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read(tmp_path / "x.json")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "missing")


def test_a_ledger_with_findings_is_not_signed(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        ledger.charge(account(), cost(1), program(), "one")
    (tmp_path / "a.ledger.mark").unlink()
    with pytest.raises(CorruptLedger, match="does not verify, so it is not signed"):
        sign(path, key)


# --- a key in use


def test_a_signer_makes_its_key_once_however_many_start(tmp_path: Path) -> None:
    path = tmp_path / "service.key"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: Signer.at(path), range(8)))
    assert len({signer.public_key for signer in found}) == 1
    assert S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["service.key", "service.key.pub"]
    assert public_key(public(path)) == found[0].public_key == Signer(path).public_key
    with pytest.raises(InputError, match=r"cannot be (made|written)"):
        Signer.at(tmp_path / "no" / "folder")


def test_what_one_signs_another_cannot_have_signed(tmp_path: Path) -> None:
    one, other = Signer.at(tmp_path / "one"), Signer.at(tmp_path / "other")
    content = {"a": [1, "x", None]}
    signature = one.sign("a thing", content)
    assert vouched(content, signature, one.public_key, kind="a thing")
    assert not vouched(content, signature, other.public_key, kind="a thing")
    assert not vouched(content, signature, one.public_key, kind="another thing")
    for wrong in ({"a": [1, "x"]}, {"a": [1.0, "x", None]}):
        assert not vouched(wrong, signature, one.public_key, kind="a thing")
    for odd in ("", "zz", signature[:-2], None, 7):
        assert not vouched(content, odd, one.public_key, kind="a thing")
    assert not vouched(content, signature, "no key", kind="a thing")
    assert fingerprint(one.public_key) != fingerprint(other.public_key)
    assert fingerprint(one.public_key) in repr(one)
    assert one.public_key not in repr(one)
