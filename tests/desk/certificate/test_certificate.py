"""A certificate states everything, holds nothing that it may not, and reads back as itself."""

import json
from copy import deepcopy
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tacit
from support.certified import Issued, failed, issued
from support.hospital import hospital
from tacit.base import InputError, LedgerError
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.content import SECTIONS
from tacit.desk.certificate.evidence import software
from tacit.ledger import Ledger
from tacit.ledger.checkpoint import Signer
from tacit.program import canonical
from tacit.session import Session, TableRelease

MANY = "SELECT drug, AVG(cost) AS c, MEDIAN(age) AS a, COUNT(*) AS n FROM visits GROUP BY drug ORDER BY n DESC LIMIT 3"


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    return issued(tmp_path_factory.mktemp("counted"))


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    return issued(tmp_path_factory.mktemp("rich"), MANY, currency="rho", clip='"private"')


def test_everything_the_reader_needs_is_stated(counted: Issued) -> None:
    told: Any = counted.certificate.content
    assert tuple(told) == SECTIONS
    assert told["release"] == {
        "id": None,
        "analyst": "ana",
        "sql": counted.sql,
        "time": counted.release.facts["time"],
        "key": counted.release.facts["ledger"]["key"],
    }
    assert told["data"]["tables"] == ["visits"]
    assert told["protects"]["unit"] == "patient"
    assert told["protects"]["relation"] == "add_remove"
    assert told["trust"]["model"] == "central"
    guarantee = told["guarantee"]
    assert (guarantee["variant"], guarantee["epsilon"], guarantee["delta"]) == ("pure differential privacy", "1", "0")
    assert guarantee["rho"] is None
    assert float(told["meaning"]["epsilon"]) == pytest.approx(1)
    assert "73.2 %" in told["meaning"]["sentence"] or "74 %" in told["meaning"]["sentence"]
    assert told["accountant"]["version"] == tacit.__version__
    assert told["steps"][0]["mechanism"] == {"name": "DiscreteLaplace", "scale": "20480"}
    assert told["steps"][0]["words"] == "discrete Laplace noise: scale 20 rows, for COUNT(*)"
    assert told["bounds"][0]["origin"] == "declared"
    assert "as much as 20 rows" in told["bounds"][0]["words"]
    assert told["keys"] == {"ward": "declared"}
    assert told["answer"]["rows"] == 4
    assert told["utility"]["confidence"] == "0.95"
    assert told["utility"]["biases"] == list(counted.release.notes)
    assert told["software"] == software()
    assert len(told["software"]["source"]) == 64


def test_what_was_chosen_privately_is_told_as_such(rich: Issued) -> None:
    told: Any = rich.certificate.content
    assert told["guarantee"]["variant"] == "approximate zero-concentrated differential privacy"
    assert {bound["origin"] for bound in told["bounds"]} == {"chosen privately"}
    assert told["keys"] == {"drug": "selected privately"}
    words = " ".join(step["words"] for step in told["steps"])
    assert "exponential mechanism, with a scale of" in words
    assert "a group is shown if that passes a threshold" in words
    assert "in the units of the values, for AVG(cost)" in words
    assert "rows, for MEDIAN(age)" in words
    after = " ".join(told["postprocessing"])
    assert "AVG(cost): a noisy sum divided by a noisy count, kept at least 0 and at most 1000" in after
    assert 0 < float(told["meaning"]["delta"]) <= 1e-6


@pytest.mark.parametrize(("currency", "noise"), [("epsilon", "Laplace"), ("rho", "Gaussian")])
def test_keys_that_a_count_decided_on_are_selected(tmp_path: Path, currency: str, noise: str) -> None:
    made = issued(tmp_path, "SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug", currency=currency, clip="1")
    told: Any = made.certificate.content
    (step,) = told["steps"]
    assert step["mechanism"]["name"] == "KeyedCounts"
    assert step["name"].endswith("which groups to show")
    assert step["words"].startswith(f"discrete {noise} noise, and nothing below a threshold: threshold ")
    assert step["words"].endswith("rows, for COUNT(*)")
    assert told["keys"] == {"drug": "selected privately"}
    assert not failed(made.check())
    said = deepcopy(told)
    said["keys"] = {"drug": "declared"}
    assert "statements" in failed(made.check(replace(made.certificate, content=said)))


def test_keys_that_follow_from_bounds_are_declared(tmp_path: Path) -> None:
    sql = "SELECT day, urgent, COUNT(*) AS n FROM visits GROUP BY day, urgent"
    made = issued(tmp_path, sql, spend="0.5")
    told: Any = made.certificate.content
    assert told["keys"] == {"day": "declared", "urgent": "declared"} == made.release.certificate().content["keys"]
    assert not failed(made.check())
    facts = {**made.release.facts, "keys": {"day": "selected", "urgent": "declared"}}
    old = TableRelease(table=made.release.table, intervals={}, facts=facts)
    assert old.certificate(ledger=made.ledger).content["keys"] == told["keys"]


def test_nothing_of_other_entries_but_one_digest(counted: Issued) -> None:
    place: Any = counted.certificate.content["ledger"]
    assert set(place) == {"id", "people", "opening", "before", "time", "entry", "after"}
    assert set(place["before"]) == {"seq", "digest"}
    assert str(counted.folder) not in json.dumps(counted.certificate.json())


def test_it_is_the_same_whenever_it_is_issued(counted: Issued) -> None:
    key = counted.folder / "issuer"
    again = counted.release.certificate(ledger=counted.ledger, signing_key=str(key), sql=counted.sql)
    assert again == counted.certificate
    assert again == Certificate.read(json.dumps(again.json()).encode())
    assert counted.release.certificate(ledger=str(counted.ledger), sql=counted.sql).signature is None
    stored = TableRelease.from_bytes(counted.release.to_bytes())
    assert stored.certificate(ledger=counted.ledger, signing_key=Signer(key), sql=counted.sql) == again


def test_without_the_ledger_it_has_a_place_and_no_proof(counted: Issued, rich: Issued) -> None:
    for made in (counted, rich):
        bare: Any = made.release.certificate().content
        whole: Any = made.certificate.content
        assert bare["ledger"]["after"] == whole["ledger"]["after"]
        assert "entry" not in bare["ledger"]
        assert bare["release"]["sql"] is None
        assert bare["guarantee"] == whole["guarantee"]
        assert bare["meaning"] == whole["meaning"]
        assert bare["program"]["hash"] == whole["program"]["hash"]
        assert [step["costs"] for step in bare["steps"]] == [step["costs"] for step in whole["steps"]]


def test_files(counted: Issued, tmp_path: Path) -> None:
    for name in ("c.json", "c.html"):
        counted.certificate.save(tmp_path / name)
    assert Certificate.read(tmp_path / "c.json") == counted.certificate
    assert Certificate.read(str(tmp_path / "c.json")) == counted.certificate
    assert (tmp_path / "c.html").read_text() == counted.certificate.html()
    with pytest.raises(InputError, match=r"end in \.json"):
        counted.certificate.save(tmp_path / "c.pdf")
    with pytest.raises(InputError, match="cannot be written"):
        counted.certificate.save(tmp_path / "no" / "c.json")
    assert repr(counted.certificate) == "Certificate('hospital', entry 5, signed)"
    assert counted.certificate._repr_html_() == counted.certificate.html()


def test_no_float_is_in_it(rich: Issued) -> None:
    assert canonical(rich.certificate.content)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"<html>", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "has the fields"),
        (b'{"certificate": {}, "public_key": null, "signature": null}', "format"),
        (b'{"certificate": {"format": "tacit certificate 3"}, "public_key": null, "signature": null}', "format"),
        (b'{"certificate": {"format": "tacit certificate 1"}, "public_key": null, "signature": null}', "too few"),
        (b'{"certificate": {}, "certificate": {}, "public_key": null, "signature": null}', "twice"),
    ],
)
def test_what_is_no_certificate(data: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Certificate.read(data)


def test_a_float_or_a_section_too_many_is_refused(counted: Issued) -> None:
    data = counted.certificate.json()
    for content in ({**data["certificate"], "more": 1}, {**data["certificate"], "data": 1.5}):
        with pytest.raises(InputError, match=r"sections|floats"):
            Certificate.of({**data, "certificate": content})
    with pytest.raises(InputError, match="texts"):
        Certificate.of({**data, "signature": 7})


def test_a_release_that_does_not_say_how_it_was_made(counted: Issued, tmp_path: Path) -> None:
    bare = TableRelease(table=pa.table({"n": [1], "d": [date(2024, 1, 1)]}), intervals={})
    with pytest.raises(InputError, match="nobody can certify"):
        bare.certificate()
    facts = {name: value for name, value in counted.release.facts.items() if name not in ("currency", "delta", "whole")}
    old = TableRelease(table=counted.release.table, intervals=counted.release.intervals, facts=facts)
    with pytest.raises(InputError, match="ledger="):
        old.certificate()
    assert old.certificate(ledger=counted.ledger).content["guarantee"] == counted.certificate.content["guarantee"]


def test_another_ledger_or_one_that_lost_the_entry(counted: Issued, tmp_path: Path) -> None:
    with Session(hospital(tmp_path), "ana") as other:
        other.ask("SELECT COUNT(*) FROM visits", rho=1)
        with pytest.raises(InputError, match="another ledger"):
            counted.release.certificate(ledger=other.ledger)
    for change in ({"digest": "00" * 32}, {"entry": 1}, {"entry": 99}, {"entry": 3}):
        facts = {**counted.release.facts, "ledger": {**counted.release.facts["ledger"], **change}}
        lost = TableRelease(table=counted.release.table, intervals={}, facts=facts)
        with pytest.raises(LedgerError, match="no such charge"):
            lost.certificate(ledger=counted.ledger)
    with pytest.raises(LedgerError):
        counted.release.certificate(ledger=tmp_path / "nothing.ledger")


def test_an_account_that_was_renamed_is_found(tmp_path: Path) -> None:
    made = issued(tmp_path)
    with Ledger.open(made.ledger) as ledger:
        ledger.rename("hospital", "patients of the hospital")
    again: Any = made.release.certificate(ledger=made.ledger, sql=made.sql).content
    assert again["ledger"]["people"] == "patients of the hospital"
    assert again["data"]["people"] == "hospital"
    assert again["ledger"]["after"] == made.certificate.content["ledger"]["after"]
