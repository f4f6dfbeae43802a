"""The reference is written from the model and is current."""

import tomllib

from support.markdown import blocks
from support.policies import CLINIC
from support.tree import ROOT
from tacit.policy import parse
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
