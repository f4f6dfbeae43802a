"""What is still to fill, and what is good to know."""

import warnings

from support.policies import CLINIC, clinic
from tacit.base import PrivacyWarning
from tacit.policy import Policy, blanks, notes, parse


def said(policy: Policy) -> str:
    return "\n".join(notes(policy))


def test_what_is_missing_and_what_that_prevents() -> None:
    (blank,) = blanks(clinic())
    assert (blank.place, blank.what) == ('table "visits", column "age"', "bounds")
    assert "SUM(age)" in blank.prevents


def test_everything_can_be_missing() -> None:
    text = '[dataset]\nname = "x"\n[privacy]\ncurrency = "epsilon"\nbudget = 1\n'
    assert [blank.place for blank in blanks(parse(text))] == ["[tables]", "[analysts]"]
    open_ = text + '[tables.t]\n[tables.t.columns.a]\n[tables.t.columns.b]\ntype = "float"\n[analysts."*"]\n'
    open_ += '[tables.t.columns.c]\ntype = "date"\n[tables.t.columns.d]\nhidden = true\n'
    assert [blank.what.split(" ")[0] for blank in blanks(parse(open_))] == ["unit", "type", "bounds", "bounds"]


def test_limits_that_add_up_to_more_than_the_total() -> None:
    assert "add up to 2.5, more than the dataset's 2" in said(clinic())
    assert "add up" not in said(clinic(limit="limit = 0.5"))


def test_windows_and_anybody_and_passwords() -> None:
    text = CLINIC.replace("delta = 1e-6", 'delta = 1e-6\nreset = "90 days"').replace(
        'source = "clinic.duckdb"', 'engine = "postgres"\nsource = "postgresql://a:b@${HOST}/x"'
    )
    found = said(parse(text + '[analysts."*"]\n[groups.empty]\n[tables.x]\neach_row_is_a_unit = true\n'))
    for part in ("every 90 days the same people pay again, without end", "anybody may ask", "a password stands", "HOST",
                 'nobody is in group "empty"', "you promise that no two rows are about the same person"):  # fmt: skip
        assert part in found


def test_delta_and_population() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        policy = clinic(delta="delta = 0.01\npopulation = 100")
    assert "delta = 0.01 is not below 1 divided by the population" in said(policy)
