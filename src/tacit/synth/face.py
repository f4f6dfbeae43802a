"""What `Session.synthesise` and `Session.synthesise_family` take, checked as people type it."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Required, TypedDict, Unpack

from tacit.base import InputError
from tacit.base.number import Number
from tacit.desk import Spender
from tacit.synth.columns import MOST_CELLS, ColumnChoices, mapping_of, names_of
from tacit.synth.family import FamilyPlan
from tacit.synth.plan import Synthesis
from tacit.synth.workload import Pairs
from tacit.synth.zeros import Rules

__all__ = ["FamilyTerms", "SynthesisTerms", "plan_family", "plan_table"]


class CellTerms(TypedDict, total=False):
    """What may be said of price, size and cells."""

    rho: Number | None
    epsilon: Number | None
    rows: int | None
    bins: Mapping[str, int] | None
    edges: Mapping[str, Sequence[Any]] | None
    most_cells: int


class SynthesisTerms(CellTerms, total=False):
    """What may be said of one table."""

    columns: Required[Sequence[str]]
    delta: Number | None
    pairs: Pairs
    method: Literal["aim", "mst", "independent"]
    model_cells: int | None
    private_edges: Sequence[str]
    impossible: Sequence[Mapping[str, Any]]
    follows: Mapping[tuple[str, str], Mapping[Any, Any]] | None


class FamilyTerms(CellTerms, total=False):
    """What may be said of two related tables."""

    columns: Required[Sequence[str]]
    child_columns: Required[Sequence[str]]
    given: Required[Sequence[str]]
    most: Required[int]
    size: str
    method: Literal["aim", "mst"]


def _complete(terms: Any, kind: Any) -> None:
    """Everything that must be said is, and nothing else."""
    for name in terms:
        if name not in kind.__annotations__:
            raise InputError(f"there is no {name} of a synthetic table: {_nearest(name, kind.__annotations__)}")
    for name in kind.__required_keys__:
        if name not in terms:
            raise InputError(f"{name} is missing: say {name}=…")


def _nearest(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant."""
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def _choices(terms: CellTerms, private_edges: Sequence[str] = ()) -> ColumnChoices:
    return ColumnChoices(
        bins=mapping_of(terms.get("bins"), "bins", "{'age': 20}"),
        edges=mapping_of(terms.get("edges"), "edges", "{'age': [18, 65]}"),
        private_edges=names_of(private_edges, "private_edges"),
        most_cells=terms.get("most_cells", MOST_CELLS),
    )


def plan_table(session: Spender, table: str, **terms: Unpack[SynthesisTerms]) -> Synthesis:
    """The plan of one table."""
    _complete(terms, SynthesisTerms)
    follows = mapping_of(terms.get("follows"), "follows", "{('city', 'state'): {…}}")
    return Synthesis(
        session=session,
        table=table,
        columns=names_of(terms["columns"], "columns"),
        rho=terms.get("rho"),
        epsilon=terms.get("epsilon"),
        delta=terms.get("delta"),
        pairs=terms.get("pairs", "all"),
        method=terms.get("method", "aim"),
        rows=terms.get("rows"),
        model_cells=terms.get("model_cells"),
        choices=_choices(terms, terms.get("private_edges", ())),
        rules=Rules(impossible=terms.get("impossible", ()), follows=follows),
    )


def plan_family(session: Spender, parents: str, children: str, **terms: Unpack[FamilyTerms]) -> FamilyPlan:
    """The plan of two related tables."""
    _complete(terms, FamilyTerms)
    return FamilyPlan(
        session=session,
        parents=parents,
        children=children,
        columns=names_of(terms["columns"], "columns"),
        child_columns=names_of(terms["child_columns"], "child_columns"),
        given=names_of(terms["given"], "given"),
        most=terms["most"],
        rho=terms.get("rho"),
        epsilon=terms.get("epsilon"),
        method=terms.get("method", "aim"),
        rows=terms.get("rows"),
        size=terms.get("size", "children"),
        choices=_choices(terms),
    )
