"""A price in words."""

from collections.abc import Iterator
from fractions import Fraction
from math import exp

import pytest

from support.service import Running, running
from tacit.loss import ZCDP, Approx, Pure

PLACE = "/v1/datasets/clinic/meaning"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


def test_odds_and_beliefs_of_an_epsilon(clinic: Running) -> None:
    found = clinic.call("ana", "GET", PLACE, params={"epsilon": "0.5"}).json()
    assert found["odds_factor"] == pytest.approx(exp(0.5))
    assert found["odds_factor"] >= exp(0.5)
    assert (found["unit"], found["delta"]) == ("patient", 0)
    assert "one particular patient was in the data" in found["sentence"]
    assert "Odds move by a factor of at most 1.65." in found["words"][0]
    assert found["sentence"] == Pure(Fraction(1, 2), unit="patient").meaning().sentence


def test_the_delta_of_a_quote_is_the_exception_that_is_stated(clinic: Running) -> None:
    given = {"epsilon": "0.3", "delta": "0.0000001", "prior": "0.01"}
    found = clinic.call("ana", "GET", PLACE, params=given).json()
    assert found["delta"] == 1e-7
    assert "one in 10,000,000" in found["sentence"]
    loss = Approx(Fraction(3, 10), Fraction(1, 10**7), unit="patient")
    assert found["sentence"] == loss.meaning(Fraction(1, 100), delta=Fraction(1, 10**7)).sentence


@pytest.mark.parametrize("slack", ["0", "0.0000001", "0.01"])
def test_a_rho_is_stated_at_the_delta_of_the_policy_or_above_its_own(clinic: Running, slack: str) -> None:
    found = clinic.call("ana", "GET", PLACE, params={"rho": "0.01", "delta": slack}).json()
    assert found["delta"] == max(1e-6, 2 * float(slack))
    assert found["odds_factor"] is not None
    assert found["epsilon"] >= ZCDP(Fraction(1, 100), delta=Fraction(slack)).epsilon(found["delta"]).lower


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": "1", "rho": "1"},
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": "1e400"},
        {"epsilon": "1", "delta": "1"},
        {"epsilon": "1", "delta": "-1"},
        {"epsilon": "1", "prior": "1"},
    ],
    ids=str,
)
def test_what_is_no_price_is_refused(clinic: Running, given: dict[str, str]) -> None:
    assert clinic.call("ana", "GET", PLACE, params=given).status_code == 422


def test_a_huge_price_promises_nothing_and_is_no_error(clinic: Running) -> None:
    found = clinic.call("ana", "GET", PLACE, params={"epsilon": "1000000"}).json()
    assert found["odds_factor"] is None
    assert found["posterior"] == {"lower": 0, "upper": 1}


def test_a_dataset_that_is_not_theirs_is_not_there(clinic: Running) -> None:
    hidden = clinic.call("zoe", "GET", PLACE, params={"epsilon": "1"})
    missing = clinic.call("zoe", "GET", "/v1/datasets/nothing/meaning", params={"epsilon": "1"})
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert hidden.json()["detail"].replace("clinic", "nothing") == missing.json()["detail"]
    assert clinic.call("otto", "GET", PLACE, params={"epsilon": "1"}).status_code == 200
    assert clinic.call(None, "GET", PLACE, params={"epsilon": "1"}).status_code == 401
