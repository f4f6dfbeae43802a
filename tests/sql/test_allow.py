"""Deny by default: an unknown node, or an unknown argument of a known node, is refused."""

import inspect
from typing import Any

import pytest
from sqlglot import exp

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.sql import lower, parse
from tacit.sql.allow import ALLOWED, CLASSES, MOST_DEEP, MOST_NODES, check

EVERY: list[type[exp.Expr]] = [
    kind for _, kind in inspect.getmembers(exp, inspect.isclass) if issubclass(kind, exp.Expression)
]
REFUSED = [kind for kind in EVERY if kind not in ALLOWED]


def test_most_of_the_parsers_language_is_refused() -> None:
    assert len(REFUSED) > 4 * len(ALLOWED)


def test_each_unknown_node_is_refused() -> None:
    def accepted(kind: type[exp.Expr]) -> bool:
        try:
            check(kind())
        except Refused:
            return False
        return True

    assert not [kind for kind in REFUSED if accepted(kind)]


@pytest.mark.parametrize("kind", ALLOWED, ids=lambda kind: kind.__name__)
def test_an_argument_that_is_not_listed_is_refused(kind: type[exp.Expr]) -> None:
    needed: dict[str, Any] = {name: exp.Null() for name, needed in kind.arg_types.items() if needed}
    check(kind(**needed))
    others = ["brand_new", *(set(kind.arg_types) - ALLOWED[kind])]
    for name in others:
        for value in (True, "x", [exp.Null()], exp.Null(), 0):
            with pytest.raises(Refused):
                check(kind(**needed | {name: value}))
        nothings: tuple[Any, ...] = (None, False, [])
        for nothing in nothings:
            check(kind(**needed | {name: nothing}))


@pytest.mark.parametrize("kind", ALLOWED, ids=lambda kind: kind.__name__)
def test_an_unfinished_node_is_refused(kind: type[exp.Expr]) -> None:
    needed = [name for name, needed in kind.arg_types.items() if needed]
    for missing in needed:
        with pytest.raises(Refused, match="unfinished"):
            check(kind(**{name: exp.Null() for name in needed if name != missing}))


def test_a_subclass_is_another_node() -> None:
    class Newer(exp.Column):
        pass

    with pytest.raises(Refused):
        check(Newer(this=exp.to_identifier("x")))


@pytest.mark.parametrize("value", [{"a": exp.Null()}, [[exp.Null()]], (exp.Null(),)])
def test_nodes_cannot_hide_in_other_containers(value: Any) -> None:
    with pytest.raises(Refused):
        check(exp.Paren(this=value))


def test_listed_arguments_exist() -> None:
    """A name that the parser does not have would be a slip of the pen, or one that it gave up."""
    unknown = {kind.__name__: ALLOWED[kind] - set(kind.arg_types) for kind in ALLOWED}
    assert {name: words for name, words in unknown.items() if words} == {}


def test_reasons_are_for_what_is_refused() -> None:
    assert not {kind.__name__ for kind in ALLOWED} & set(CLASSES)


def test_limits() -> None:
    def chain(sign: str, terms: int) -> str:
        return f"SELECT COUNT(*) FROM visits WHERE {sign.join(['age > 1'] * terms)}"

    assert lower(parse(chain(" AND ", 600)), CLINIC).aggregates
    assert lower(parse(chain(" OR ", 600)), CLINIC).aggregates
    assert lower(parse(f"SELECT SUM({' + '.join(['age'] * (MOST_DEEP - 10))}) FROM visits"), CLINIC).aggregates
    with pytest.raises(Refused, match="deep"):
        lower(parse(f"SELECT SUM({' + '.join(['age'] * (MOST_DEEP + 10))}) FROM visits"), CLINIC)
    with pytest.raises(Refused, match="parts"):
        check(exp.Coalesce(this=exp.Null(), expressions=[exp.Null() for _ in range(MOST_NODES)]))


def test_with_queries_cannot_multiply_without_end() -> None:
    steps = ["a0 AS (SELECT * FROM visits)"]
    steps += [
        f"a{i} AS (SELECT x.* FROM a{i - 1} x JOIN a{i - 1} y ON x.patient_id = y.patient_id)" for i in range(1, 40)
    ]
    with pytest.raises(Refused, match="one unit could have"):
        lower(parse(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a39"), CLINIC)


def test_tables_and_subqueries_have_a_number() -> None:
    joins = " ".join(f"JOIN (SELECT DISTINCT patient_id FROM visits) x{i} USING (patient_id)" for i in range(64))
    with pytest.raises(Refused, match="more than 64"):
        lower(parse(f"SELECT COUNT(*) FROM visits {joins}"), CLINIC)


def test_only_a_select_is_lowered() -> None:
    for tree in (exp.Union(), exp.Command(this="x"), exp.Subquery(this=exp.Select())):
        with pytest.raises(Refused):
            lower(tree, CLINIC)  # type: ignore[arg-type]  # what a caller without types might do
