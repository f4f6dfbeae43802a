"""What the ledger is told."""

from fractions import Fraction
from pathlib import Path

from support.policies import CLINIC, clinic
from tacit.base import Relation
from tacit.policy import Amount, Currency, Limit, load, parse


def test_terms_hold_every_limit_and_nothing_of_anybody() -> None:
    policy = parse(CLINIC + '[analysts."*"]\nlimit = 0.1\n')
    terms = policy.terms()
    assert (terms.people, terms.currency, terms.unit) == ("patients of the clinic", Currency.RHO, "patient")
    assert terms.relation is Relation.ADD_REMOVE
    assert terms.delta == Fraction(1, 10**6)
    assert [limit.holder for limit in terms.limits] == ["dataset", "group:research", "analyst:ana", "analyst:bob"]
    assert terms.limits[0] == Limit(holder="dataset", total=Amount(2 * 10**18, 5 * 10**23))
    assert terms.policy == policy.hash
    assert (terms.period, terms.lifetime) == (None, None)


def test_windows() -> None:
    terms = clinic(delta='delta = 1e-6\nreset = "90 days"\nlifetime = 4\nlifetime_slack = 7e-7').terms()
    assert terms.period == 90 * 86400 * 10**6
    assert terms.lifetime == Amount(4 * 10**18, 7 * 10**23)


def test_limits_of_delta() -> None:
    terms = parse(CLINIC + "slack = 1e-8\neach = 0.5\n").terms()
    assert terms.limits[1].total == Amount(15 * 10**17, 10**22)
    assert terms.limits[1].each == Amount(5 * 10**17, 10**22)


def test_sources_are_places_of_protected_tables(tmp_path: Path) -> None:
    text = CLINIC.replace("[tables.wards]", '[tables.wards]\nsource = "wards.csv"')
    text = text.replace('unit = "patient_id"', 'unit = "patient_id"\nsource = "x/../visits.parquet"')
    (tmp_path / "tacit.toml").write_text(text)
    assert load(tmp_path / "tacit.toml").terms().sources == (f"file:{(tmp_path / 'visits.parquet').resolve()}",)


def test_the_environment_fills_sources_and_leaves_no_password() -> None:
    policy = clinic(source='engine = "postgres"\nsource = "${DB}"')
    terms = policy.terms({"DB": "postgres://ana:secret@DB.example.org/clinic?sslmode=require"})
    assert terms.sources == ("postgresql://db.example.org:5432/clinic",)
    assert policy.where("visits", {"DB": "postgresql://x/y"}).name == "visits"
