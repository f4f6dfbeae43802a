"""The reference is written from the model and is current."""

import tomllib
import warnings

from support.markdown import blocks
from support.policies import CLINIC, clinic
from support.tree import ROOT
from tacit.base import PrivacyWarning
from tacit.policy import Policy, blanks, notes, parse
from tacit.policy.declaration import keys, part_of
from tacit.policy.reference import SECTIONS, as_markdown


def test_the_reference_is_current() -> None:
    page = ROOT / "docs" / "reference" / "policy.md"
    assert page.read_text() == as_markdown(), "run `tacit check --reference > docs/reference/policy.md`"


def test_every_key_is_explained_with_an_example_that_is_read() -> None:
    for _, _, part in SECTIONS:
        for item in keys(part):
            assert item.metadata["words"]
            if part_of(item) is None:
                value = parse_value(item.metadata["example"])
                item.metadata["kind"].read(value)


def parse_value(example: str) -> object:
    return tomllib.loads(f"x = {example}")["x"]


def test_the_policies_of_the_how_to_are_valid() -> None:
    found = blocks(ROOT / "docs" / "how-to" / "declare-a-dataset.md", "toml")
    assert found
    for block in found:
        parse(block.text if "[dataset]" in block.text else CLINIC + block.text)


# --- what is still to fill, and what is good to know


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
    assert [blank.what.split(" ")[0] for blank in blanks(parse(open_))] == ["unit_column", "type", "bounds", "bounds"]


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
