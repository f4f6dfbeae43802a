"""Homogeneity and background knowledge: the published table, and a hospital with and without tacit."""

import pyarrow as pa
import pytest

from tacit.attack.homogeneity import homogeneity, stage
from tacit.attack.posterior import suspects
from tacit.base import InputError

QUASI = ["zip", "age"]
INPATIENTS = pa.table(  # Machanavajjhala and others 2006, figure 2
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + [">=40"] * 4 + ["30-39"] * 4,
        "condition": ["heart"] * 2 + ["viral"] * 2 + ["cancer", "heart"] + ["viral"] * 2 + ["cancer"] * 4,
    }
)


def test_bob_has_cancer() -> None:
    assert suspects(INPATIENTS, {"zip": "13053", "age": 31}, QUASI, "condition").of() == {"cancer": 4}


def test_umeko_has_a_virus_since_hearts_like_hers_are_well() -> None:
    found = suspects(INPATIENTS, {"zip": "13068", "age": 21}, QUASI, "condition").of()
    assert set(found) - {"heart"} == {"viral"}


def test_the_share_that_is_certain() -> None:
    found = homogeneity(INPATIENTS, QUASI, "condition")
    assert [found.share(facts) for facts in range(4)] == pytest.approx([4 / 12, 8 / 12, 1, 1])
    with pytest.raises(InputError, match="facts"):
        found.share(-1)


def test_columns_must_be_there() -> None:
    with pytest.raises(InputError, match='no column "town"'):
        homogeneity(INPATIENTS, ["town"], "condition")


def test_the_attack_works_on_the_table_and_not_on_private_counts() -> None:
    found = stage()
    assert found.undefended.low > 0.3
    assert found.defended.success == 0  # at epsilon 1 no posterior gets to 95 %
    assert found.facts["certain"][0] > 100
    assert found.facts["certain_private"][0] == 0
    assert found.facts["guess_private"] < 0.6  # of 0.45 without any release


def test_without_enough_noise_it_works_on_counts_too() -> None:
    found = stage(people=1000, epsilon=8.0)
    assert found.defended.low > 0.7
