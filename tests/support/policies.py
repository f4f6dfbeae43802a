"""A small valid policy, for tests that need one."""

from tacit.policy import Policy, parse

__all__ = ["CLINIC", "clinic"]

CLINIC = """\
[dataset]
name = "clinic"
people = "patients of the clinic"
source = "clinic.duckdb"
ledger = "clinic.ledger"

[privacy]
unit = "patient"
currency = "rho"
budget = 2.0
delta = 1e-6

[tables.visits]
unit_column = "patient_id"
clip_rows = 20

[tables.visits.columns.patient_id]
type = "integer"

[tables.visits.columns.cost]
type = "decimal"
bounds = [0, 5000]
step = "0.01"
nullable = false
clip = 8000

[tables.visits.columns.age]
type = "integer"

[tables.visits.columns.ward]
type = "text"
group_keys = ["east", "west"]

[tables.visits.columns.note]
type = "text"
hidden = true

[tables.wards]
public = true

[analysts.ana]
limit = 1.0
each = 0.1
tables = ["visits"]
groups = ["research"]

[analysts.bob]
limit = 1.5

[groups.research]
limit = 1.5
"""


def clinic(**changes: str) -> Policy:
    """The policy above, with lines replaced: `clinic(budget="budget = 3")`, or added to a table by its first line."""
    text = CLINIC
    for key, line in changes.items():
        found = next(each for each in text.splitlines() if each.startswith(f"{key} ="))
        text = text.replace(found, line, 1)
    return parse(text)
