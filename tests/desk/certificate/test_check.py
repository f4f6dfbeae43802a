"""A certificate in which anything was changed does not pass, and one that is true does."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from support.certified import Issued, failed, issued, leaves, put
from tacit.base import InputError, LedgerError
from tacit.desk.certificate import check as checks
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.check import check
from tacit.desk.certificate.evidence import charge_body
from tacit.ledger.chain import digest
from tacit.ledger.checkpoint import Signer, new_key, public_key
from tacit.ledger.export import export
from tacit.loss import Cost

RICH = "SELECT drug, AVG(cost) AS c, MEDIAN(age) AS a FROM visits GROUP BY drug"


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    return issued(tmp_path_factory.mktemp("counted"))


@pytest.fixture(scope="module", params=["epsilon", "rho", "mu_squared"])
def rich(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Issued:
    clip = "20" if request.param == "epsilon" else '"private"'
    return issued(tmp_path_factory.mktemp("rich"), RICH, currency=request.param, clip=clip)


def other(value: Any) -> Any:
    """Something else than `value`, of the same kind if it has one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str() if value[:1].isdigit():
            return f"1{value}"
        case str():
            return f"{value}x"
        case list():
            return [*value, "x"]
        case dict():
            return {**value, "x": "x"}
    return "x"


def altered(made: Issued, place: tuple[Any, ...], change: Any = other) -> Certificate:
    return Certificate(**{**vars(made.certificate), "content": put(made.certificate.content, place, change)})


def unsigned(made: Issued, place: tuple[Any, ...], change: Any = other) -> Certificate:
    return Certificate(content=put(made.certificate.content, place, change))


def test_what_is_true_passes(counted: Issued, rich: Issued, tmp_path: Path) -> None:
    for made in (counted, rich):
        made.release.to_csv(tmp_path / "answer.csv")
        made.release.to_parquet(tmp_path / "answer.parquet")
        (tmp_path / "answer.arrow").write_bytes(made.release.to_bytes())
        for name in ("answer.csv", "answer.parquet", "answer.arrow"):
            checks = made.check(ledger=made.ledger, answer=tmp_path / name)
            assert [one.ok for one in checks] == [True] * 9, checks
        for redact in (False, True):
            with (tmp_path / "export.jsonl").open("w") as out:
                export(made.ledger, out, redact=redact)
            assert made.check(ledger=tmp_path / "export.jsonl")[-1].ok


@pytest.mark.parametrize(
    ("sql", "currency", "clip"),
    [
        ("SELECT day, ward, COUNT(*) AS n, STDDEV(cost) AS s FROM visits GROUP BY day, ward", "epsilon", '"private"'),
        ("SELECT COUNT(DISTINCT patient_id) AS p, MAX(age) AS m, TOP_K(ward, 3) AS t FROM visits", "rho", '"private"'),
        ("SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor", "rho", "20"),
        ("SELECT CORR(cost, age) AS r FROM visits", "epsilon", "20"),
        ("SELECT urgent, drug, SUM(cost) AS s FROM visits GROUP BY urgent, drug HAVING SUM(cost) > 9", "epsilon", "20"),
    ],
)
def test_every_kind_of_question_passes(tmp_path: Path, sql: str, currency: str, clip: str) -> None:
    made = issued(tmp_path, sql, currency=currency, clip=clip)
    checks = made.check(ledger=made.ledger)
    assert all(one.ok for one in checks), checks
    assert made.sql.split()[0] in made.certificate.html()


def test_every_single_field_that_is_changed_fails(counted: Issued) -> None:
    places = list(leaves(dict(counted.certificate.content)))
    assert len(places) > 120
    for place in places:
        if place == ("format",):
            continue  # such a one is not even read
        assert "signature" in failed(counted.check(altered(counted, place))), place


def test_what_is_left_out_fails_too(counted: Issued) -> None:
    for section, value in counted.certificate.content.items():
        names = list(value) if isinstance(value, dict) else []
        for name in names:

            def without(found: Any, name: str = name) -> Any:
                return {key: one for key, one in found.items() if key != name}

            assert "signature" in failed(counted.check(altered(counted, (section,), without)))


def test_signatures(counted: Issued, tmp_path: Path) -> None:
    good = counted.certificate
    assert good.signature is not None
    assert good.public_key is not None
    new_key(tmp_path / "forger")
    forged = good.signed(Signer(tmp_path / "forger"))
    turned = f"{'0' if good.signature[0] != '0' else '1'}{good.signature[1:]}"
    bad = {
        "another's": forged,
        "another's under our name": Certificate(content=good.content, public_key=good.public_key,
                                                signature=forged.signature),
        "ours under another name": Certificate(content=good.content, public_key=forged.public_key,
                                               signature=good.signature),
        "one digit": Certificate(content=good.content, public_key=good.public_key, signature=turned),
        "no digits": Certificate(content=good.content, public_key=good.public_key, signature="yes"),
        "no key": Certificate(content=good.content, signature=good.signature),
        "no signature": Certificate(content=good.content, public_key=good.public_key),
        "neither": Certificate(content=good.content),
        "no key at all": Certificate(content=good.content, public_key="ours", signature=good.signature),
    }  # fmt: skip
    for name, one in bad.items():
        assert failed(counted.check(one)) == {"signature"}, name
    # without a key from elsewhere it can agree with itself, which is said and is not a yes
    for one, words in ((good, "that it names itself"), (forged, "that it names itself"), (bad["neither"], "nobody")):
        found = next(line for line in check(one) if line.name == "signature")
        assert found.ok is None
        assert words in found.words
    for name in ("another's under our name", "ours under another name", "one digit", "no key", "no signature"):
        assert failed(check(bad[name])) == {"signature"}, name


# what a certificate cannot say otherwise even if its issuer signs it
HELD = [
    ("program",), ("guarantee", "currency"), ("guarantee", "epsilon"), ("guarantee", "rho"), ("guarantee", "delta"),
    ("protects", "unit"), ("protects", "relation"), ("data", "tables"), ("data", "policy"), ("release", "analyst"),
    ("release", "key"), ("release", "time"), ("keys",), ("ledger", "before"), ("ledger", "time"), ("ledger", "entry"),
    ("ledger", "after"), ("meaning", "unit"), ("meaning", "relation"),
]  # fmt: skip
IN_LISTS = {"steps": ("name", "mechanism", "sensitivity", "costs"), "bounds": ("measures", "norm", "origin")}


def test_what_follows_from_the_program_is_held_without_a_signature(
    rich: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    content: Any = rich.certificate.content
    seen = set()
    odds = checks._odds
    # the odds of every altered program take long, and need not be what gives it away
    monkeypatch.setattr(
        checks, "_odds", lambda told: odds(told) if told["meaning"] != content["meaning"] else (True, "")
    )
    for place in leaves(dict(content)):
        in_list = place[0] in IN_LISTS and len(place) > 2 and place[2] in IN_LISTS[place[0]]
        if not in_list and not any(place[: len(held)] == held for held in HELD):
            continue
        assert failed(check(unsigned(rich, place))), place
        seen.add(place[:2])
    assert len(seen) > 25


def test_a_declared_bound_is_the_programs(counted: Issued) -> None:
    assert failed(check(unsigned(counted, ("bounds", 0, "bound")))) == {"statements"}
    assert failed(check(unsigned(counted, ("bounds",)))) == {"statements"}
    assert failed(check(unsigned(counted, ("steps",)))) == {"statements"}


def test_a_cheap_price_for_a_dear_program_fails_though_all_hashes_fit(rich: Issued) -> None:
    content: Any = deepcopy(dict(rich.certificate.content))
    place, said = content["ledger"], content["guarantee"]
    decimals = Cost.DECIMALS[said["currency"]]
    place["entry"]["spend"] = str(10**decimals // 2)
    said[said["currency"]] = "0.5"
    body = charge_body(place["entry"], content["program"]["content"])
    made = digest(bytes.fromhex(place["before"]["digest"]), place["after"]["seq"], place["time"], body)
    place["after"]["digest"] = made.hex()
    assert failed(check(Certificate(content=content))) == {"cost"}
    assert failed(check(Certificate(content=content), ledger=rich.ledger)) == {"cost", "ledger"}


def smaller(text: str) -> str:
    return repr(float(text) * 0.99)


def larger(text: str) -> str:
    return repr(float(text) * 1.01)


@pytest.mark.parametrize(
    "place",
    [
        ("meaning", "epsilon"),
        ("meaning", "odds_factor"),
        ("meaning", "posterior", "upper"),
        ("meaning", "membership_power", 0, "at_most"),
        ("meaning", "membership_power", 1, "at_most"),
    ],
)
def test_no_better_odds_than_the_program_gives(rich: Issued, place: tuple[Any, ...]) -> None:
    assert failed(check(unsigned(rich, place, smaller))) == {"odds"}
    if place != ("meaning", "epsilon"):  # which the others follow from
        assert not failed(check(unsigned(rich, place, larger)))


def test_a_belief_that_falls_less_than_it_may_fails(rich: Issued) -> None:
    worse = unsigned(rich, ("meaning", "posterior", "lower"), lambda text: repr(float(text) * 1.01))
    assert failed(check(worse)) == {"odds"}


def test_another_answer_fails(counted: Issued, tmp_path: Path) -> None:
    counted.release.to_csv(tmp_path / "answer.csv")
    text = (tmp_path / "answer.csv").read_text()
    (tmp_path / "answer.csv").write_text(text.replace('"a",', '"a",1', 1))
    assert failed(counted.check(answer=tmp_path / "answer.csv")) == {"answer"}
    with pytest.raises(InputError, match="cannot be read"):
        counted.check(answer=tmp_path / "gone.csv")


def test_a_ledger_that_lost_it_or_is_another_fails(counted: Issued, tmp_path: Path) -> None:
    elsewhere = issued(tmp_path)
    assert failed(counted.check(ledger=elsewhere.ledger)) == {"ledger"}
    for place in (("ledger", "opening"), ("ledger", "after", "digest")):
        changed = put(counted.certificate.content, place, lambda text: f"{'0' if text[0] != '0' else '1'}{text[1:]}")
        assert "ledger" in failed(check(Certificate(content=changed), ledger=counted.ledger))
    renamed = unsigned(counted, ("ledger", "id"))
    assert not failed(check(renamed))  # nothing in it says which ledger has such an entry
    assert failed(check(renamed, ledger=counted.ledger)) == {"ledger"}
    with pytest.raises(LedgerError, match="no ledger"):
        counted.check(ledger=tmp_path / "nothing.ledger")
    with pytest.raises(InputError, match="not a public key"):
        public_key(counted.ledger)


def test_what_could_not_be_checked_is_said(counted: Issued) -> None:
    found = {one.name: one.ok for one in check(counted.release.certificate(), ledger=counted.ledger)}
    assert found == {"form": True, "signature": None, "program": None, "cost": True, "statements": True, "odds": True,
                     "chain": None, "ledger": None}  # fmt: skip
