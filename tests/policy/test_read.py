"""Reading a policy: every mistake is named at once, and nothing but PolicyError comes out of garbage."""

from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.policies import CLINIC, clinic
from tacit.base import PolicyError
from tacit.policy import Policy, load, parse


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        parse(text)
    found = tuple(map(str, caught.value.problems))
    assert str(caught.value) == "\n".join(found)
    return found


def changed(*pairs: tuple[str, str]) -> str:
    text = CLINIC
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_a_policy_is_read() -> None:
    policy = clinic()
    assert policy.dataset.identity == "patients of the clinic"
    assert policy.privacy.budget == 2
    cost = policy.table("visits").column("cost")
    assert cost.bounds == (0, 5000)
    assert (cost.step, cost.clip) == (Fraction(1, 100), Fraction(8000))
    assert (cost.name, cost.table, cost.nullable) == ("cost", "visits", False)
    assert policy.analysts["ana"].groups == ("research",)


def test_numbers_are_the_decimals_that_were_written() -> None:
    policy = parse(changed(("budget = 2.0", "budget = 0.1"), ("delta = 1e-6", "delta = 0.3e-6")))
    assert policy.privacy.budget == Fraction(1, 10)
    assert policy.privacy.delta == Fraction(3, 10**7)
    assert parse(changed(("budget = 2.0", 'budget = "1/3"'))).privacy.budget == Fraction(1, 3)


ONE = [
    (("[0, 5000]", "[5000, 0]"), 'table "visits", column "cost": bounds = [5000, 0] are reversed: write the lower one'),
    (("[0, 5000]", "[5, 5]"), 'column "cost": bounds = [5, 5] leave one value'),
    (("[0, 5000]", "[0, 0.005]"), "bounds = [0, 0.005] are not on the grid of step = 0.01"),
    (("[0, 5000]", "[0]"), "bounds = [0] must be two values, [lower, upper]"),
    (("[0, 5000]", '["0", "5"]'), 'bounds = ["0", "5"] do not suit type = "decimal"'),
    (("[0, 5000]", "[nan, 5]"), "bounds = [nan, 5] must be finite"),
    (('step = "0.01"', "step = 0"), "step = 0 must be greater than 0"),
    (('step = "0.01"', 'step = "fine"'), 'step = "fine" must be a number such as 0.5'),
    (("nullable = false", 'nullable = "no"'), 'nullable = "no" must be true or false, without quotes'),
    (("nullable = false", "nulable = false"), 'there is no key "nulable": did you mean "nullable"?'),
    (('type = "decimal"', 'type = "money"'), 'type = "money" must be one of "integer", "decimal"'),
    (('type = "decimal"\n', ""), "need a type to go with them"),
    (("clip = 8000", "clip = -1"), "clip = -1 must be greater than 0"),
    (('group_keys = ["east", "west"]', 'group_keys = ["east", "east"]'), "group_keys name a value twice"),
    (('group_keys = ["east", "west"]', "group_keys = [1]"), 'group_keys = [1] do not suit type = "text"'),
    (('group_keys = ["east", "west"]', "bounds = [1, 2]"), "are not for text columns"),
    (("hidden = true", 'hidden = true\ngroup_keys = ["a"]'), 'column "note": hidden = true contradicts group_keys'),
    (("hidden = true", "public = true"), 'column "note": public is not for columns'),
    (("hidden = true", "public = false"), "list the values as group_keys = […]"),
    (('unit_column = "patient_id"', 'unit_column = "pid"\npublic = true'), "unit_column and public exclude each other"),
    (("public = true", "public = true\nclip_rows = 1"), 'table "wards": clip_rows is for protected tables'),
    (("clip_rows = 20", "rows_per_group = 20"), "rows_per_group needs max_groups"),
    (('type = "integer"', 'type = "integer"\ngroup_keys = [1]'), "it names the people, so its values are the secret"),
    (("budget = 2.0", ""), "[privacy]: budget is missing: add budget = 0.5"),
    (("budget = 2.0", "budget = inf"), "[privacy]: budget = infinity must be finite"),
    (("budget = 2.0", "budget = 1e-30"), "is too small to be counted"),
    (("budget = 2.0", "budget = 1e7"), "must be at most 1,000,000"),
    (("budget = 2.0", "budget = true"), "budget = true must be a number"),
    (("budget = 2.0", "budget = 1e999999999999"), "out of range"),
    (("delta = 1e-6", ""), "[privacy]: delta is missing"),
    (("delta = 1e-6", "delta = 1"), "delta = 1 must be less than 1"),
    (("delta = 1e-6", "delta = 1e-6\nslack = 1e-6"), "slack = 1e-6 must be less than delta = 1e-6"),
    (("delta = 1e-6", "delta = 1e-6\nlifetime = 5"), "lifetime is for budgets that are reset"),
    (("delta = 1e-6", 'delta = 1e-6\nreset = "3 months"'), 'reset = "3 months" must be a span such as "90 days"'),
    (("delta = 1e-6", 'delta = 1e-6\nreset = "9 days"\nlifetime = 1'), "is less than the budget of one window"),
    (("delta = 1e-6", "delta = 1e-6\neach = 3"), "each = 3 is more than the budget of 2"),
    (('currency = "rho"', 'currency = "euro"'), 'currency = "euro" must be one of "epsilon", "rho"'),
    (('tables = ["visits"]', 'tables = ["visit"]'), 'analyst "ana": there is no table "visit": did you mean "visits"?'),
    (('groups = ["research"]', 'groups = ["x"]'), 'analyst "ana": there is no group "x": the groups are research'),
    (("[groups.research]", "[groups]\nresearch = 3\n[groups.x]"), 'group "research": must be written as'),
    (("[dataset]", "tables = 3\n[dataset]"), "not valid TOML"),
    (('source = "clinic.duckdb"', 'engine = "postgres"\nsource = "x"'), "must be a URL"),
    (('name = "clinic"', 'name = ""'), 'name = "" must not be empty'),
    (('name = "clinic"', 'name = "a\\u0007"'), 'name = "a\\u0007" must not hold line breaks or control characters'),
    (("[tables.wards]", "[tables.Visits]"), "differ in capitals only"),
    (("[analysts.bob]", "[analyst.bob]"), 'there is no key "analyst": did you mean "analysts"?'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), ONE, ids=[said[-40:] for _, said in ONE])
def test_a_mistake_is_named_with_its_place_and_its_fix(change: tuple[str, str], said: str) -> None:
    found = problems(changed(change))
    assert all(problem.startswith("tacit.toml: ") for problem in found)
    assert any(said in problem for problem in found), found


def test_every_mistake_is_said_at_once() -> None:
    text = changed(
        ("[0, 5000]", "[5000, 0]"),
        ("clip_rows = 20", "clip_row = 20"),
        ("budget = 2.0", "budget = -2"),
        ('tables = ["visits"]', 'tables = ["visit"]'),
        ("limit = 1.5", 'limit = "much"'),
    )
    assert problems(text) == (
        "tacit.toml: [privacy]: budget = -2 must be greater than 0",
        'tacit.toml: table "visits": there is no key "clip_row": did you mean "clip_rows"?',
        'tacit.toml: table "visits", column "cost": bounds = [5000, 0] are reversed: write the lower one first',
        'tacit.toml: analyst "bob": limit = "much" must be a number such as 0.5',
        'tacit.toml: analyst "ana": there is no table "visit": did you mean "visits"?',
    )


def test_a_missing_section_says_how_to_write_it() -> None:
    assert problems("") == (
        "tacit.toml: dataset is missing: add [dataset]",
        "tacit.toml: privacy is missing: add [privacy]",
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5000,
        "x = " + "9" * 5000,
        "x = 0x" + "f" * 9000,
        "dataset = " + "[" * 300 + "]" * 300,
        "\x00",
        "= 1",
    ],
    ids=["deep", "digits", "hex", "nested", "null", "nothing"],
)
def test_what_tomllib_trips_over(text: str) -> None:
    assert problems(text)


NAMES = ["dataset", "privacy", "tables", "analysts", "groups", "columns", "name", "budget", "delta", "currency",
         "bounds", "group_keys", "type", "step", "unit_column", "reset", "visits", "limit", "*", "é"]  # fmt: skip
leaves = (
    st.sampled_from(["true", '"rho"', '"90 days"', "1e-6", "2", "-0", "nan", "-inf", '""', "1979-05-27", "07:32:00"])
    | st.sampled_from(["1979-05-27T07:32:00Z", '"private"', '"integer"', '"1/0"', '"1e999999999"', "1e-400", '"/"'])
    | st.integers().map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f'"{key}" = {value}' for key, value in items.items()) + "}"
        )
    ),
    max_leaves=12,
)
lines = st.lists(
    st.builds(lambda key, value: f'"{key}" = {value}', st.sampled_from(NAMES), values)
    | st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(
        lambda path: "[" + ".".join(f'"{name}"' for name in path) + "]"
    ),
    max_size=8,
)


def understood_or_refused(text: str) -> Policy | tuple[str, ...]:
    """The policy, or its problems; any other error is the test's."""
    try:
        return parse(text)
    except PolicyError as error:
        return tuple(map(str, error.problems))


@given(lines.map("\n".join) | st.text())
def test_garbage_gives_a_policy_or_a_policy_error(text: str) -> None:
    assert understood_or_refused(text) is not None


@given(st.data())
def test_a_policy_with_one_value_replaced_gives_a_policy_or_a_policy_error(data: st.DataObject) -> None:
    written = CLINIC.splitlines()
    place = data.draw(st.sampled_from([at for at, line in enumerate(written) if " = " in line]))
    written[place] = written[place].split(" = ")[0] + " = " + data.draw(values)
    found = understood_or_refused("\n".join(written))
    if isinstance(found, tuple):
        assert found
        assert all(problem.startswith("tacit.toml: ") for problem in found)


def test_names_in_every_script() -> None:
    policy = parse(
        changed(
            ('name = "clinic"', 'name = "診療所 🏥"'),
            ("[tables.visits.columns.ward]", '[tables.visits.columns."Größe der \\"Station\\""]'),
            ("[analysts.bob]", '[analysts."Zoe\u0308"]'),
        )
    )
    assert policy.dataset.name == "診療所 🏥"
    assert policy.table("visits").column('Größe der "Station"').group_keys == ("east", "west")
    assert "Zo\u00eb" in policy.analysts, "one spelling for what looks the same"


def test_two_spellings_of_one_name_are_one_person_twice() -> None:
    text = changed(("[analysts.bob]", '[analysts."Zoe\u0308"]')) + '[analysts."Zo\u00eb"]\n'
    assert "is there twice" in problems(text)[0]


def test_ten_thousand_analysts() -> None:
    text = CLINIC + "".join(f'[analysts."analyst {n}"]\nlimit = 0.001\ngroups = ["research"]\n' for n in range(10_000))
    policy = parse(text)
    assert len(policy.analysts) == 10_002
    assert len(policy.terms().limits) == 10_004


def test_load_names_the_file_and_knows_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("\ufeff" + CLINIC, encoding="utf-8")
    policy = load(path)
    assert policy.where("visits").database == str(tmp_path / "clinic.duckdb")
    assert policy == clinic(), "where a policy lies is no part of what it says"
    path.write_text(CLINIC + "x = 1")
    with pytest.raises(PolicyError, match=r'my.toml: group "research": there is no key "x"'):
        load(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"no.toml: there is no such file"):
        load(tmp_path / "no.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match=r"binary.toml: is not UTF-8"):
        load(tmp_path / "binary.toml")
    with pytest.raises(PolicyError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(PolicyError, match="cannot be read"):
        load("a\0b")


def test_spans() -> None:
    policy = parse(changed(("delta = 1e-6", 'delta = 1e-6\nreset = "2 weeks"\nlifetime = 10')))
    assert policy.privacy.reset == timedelta(days=14)


def test_former_names_are_read_with_a_warning() -> None:
    former = CLINIC.replace("unit_column = ", "unit = ").replace("group_keys = ", "keys = ")
    assert former != CLINIC
    with pytest.warns(FutureWarning) as told:
        found = parse(former)
    assert found == parse(CLINIC)
    assert found.hash == parse(CLINIC).hash
    assert {str(each.message).partition(" is now")[0] for each in told} == {"a policy: unit", "a policy: keys"}


def test_a_name_beside_its_former_one_is_a_mistake() -> None:
    with pytest.raises(PolicyError, match='there is no key "unit"'):
        parse(CLINIC.replace('unit_column = "patient_id"', 'unit_column = "patient_id"\nunit = "patient_id"'))
