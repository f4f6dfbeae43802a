"""The proof of a charge is its own entry, and adds up."""

from fractions import Fraction
from pathlib import Path

from support.certified import issued
from tacit.desk.certificate.evidence import chain_of, charge_body
from tacit.ledger import Ledger
from tacit.ledger.chain import digest
from tacit.policy import Currency


def test_the_hash_is_made_of_what_is_there(tmp_path: Path) -> None:
    made = issued(tmp_path)
    found = chain_of(made.ledger, dict(made.release.facts))
    assert (found.currency, found.delta) == (Currency.EPSILON, Fraction(1, 10**6))
    with Ledger.open(made.ledger) as ledger:
        entries = list(ledger.log("hospital"))
        assert chain_of(ledger, dict(made.release.facts)) == found
    own, before = entries[-1], entries[-2]
    assert charge_body(found.proof["entry"], found.program) == own.body.encode()
    assert found.proof["opening"] == entries[0].digest.hex()
    assert found.proof["before"] == {"seq": before.seq, "digest": before.digest.hex()}
    assert digest(before.digest, own.seq, own.time, own.body.encode()) == own.digest
    assert found.proof["after"] == {"seq": own.seq, "digest": own.digest.hex()}
    assert "program" not in found.proof["entry"]
