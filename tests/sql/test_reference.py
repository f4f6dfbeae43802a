"""The reference is what the tables say, and every example on it is a question that is understood."""

from pathlib import Path

import pytest

from support.clinic import CLINIC
from tacit.base import RefusalKind
from tacit.plan.operation import OPERATIONS
from tacit.server.problem import STATES
from tacit.sql import lower, parse
from tacit.sql.allow import CLASSES
from tacit.sql.reference import MEANT, as_markdown
from tacit.sql.rules import SqlRule, sections

PAGE = Path(__file__).parents[2] / "docs/reference/sql.md"
RULES = [rule for section in sections() for rule in section.rules]


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == as_markdown(), "run `python -m tacit.sql.reference > docs/reference/sql.md`"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.written[:50])
def test_each_example_is_understood(rule: SqlRule) -> None:
    assert lower(parse(rule.example, rule.dialect), CLINIC).output


def test_every_operation_and_reason_is_on_the_page() -> None:
    page = as_markdown()
    assert not [name for name in OPERATIONS if f"| `{name}` |" not in page]
    assert not [reason.why for reason in CLASSES.values() if reason.why not in page]


def test_kinds_have_the_states_that_psql_is_told() -> None:
    assert {kind: state for kind, (state, _) in MEANT.items()} == {RefusalKind.UNSUPPORTED: "0A000", **STATES}
