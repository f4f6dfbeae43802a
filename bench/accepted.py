"""How much of ordinary SQL is accepted: queries in the style of public documentation, each marked with its fate.

The files are `tests/sql/public_queries/*.sql`, over the tables that `policy.toml` there declares. A query has a comment
above it: `accept` where it has a private answer, else the kind of its refusal. Comments below it name a dialect, or the
kind of refusal that it meets until that feature is there. `python -m bench.accepted` prints the
share accepted of what has a private answer, and the refusals by reason; with -v each query that is not as marked.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.base import RefusalKind, Refused, TacitError
from tacit.policy import Policy
from tacit.policy.read import PolicyFile
from tacit.sql.catalog import Catalog
from tacit.sql.job import Plans
from tacit.sql.offer import Offer

__all__ = ["COUNT", "FOLDER", "PublicQuery", "Verdict", "queries", "run", "verdicts"]

FOLDER = Path(__file__).parents[1] / "tests/sql/public_queries"
COUNT = 1
ENOUGH = 0.85
ACCEPT = "accept"


@dataclass(frozen=True, kw_only=True)
class PublicQuery:
    """`expected` is `accept`, or the kind of its refusal; `private` says that a private answer exists."""

    file: str
    sql: str
    expected: str
    private: bool
    dialect: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a query: `accept`, or the kind of refusal and its words."""

    query: PublicQuery
    found: str
    words: str = ""


def queries(folder: Path = FOLDER) -> Iterator[PublicQuery]:
    """Every query of the files."""
    for path in sorted(folder.glob("*.sql")):
        for block in path.read_text().strip().split("\n\n"):
            lines = [line for line in block.splitlines() if not line.startswith("# ")]
            said = [word for line in lines if line.startswith("-- ") for word in line[3:].split()]
            if not said:
                continue
            named = dict(word.split("=") for word in said if "=" in word)
            kinds = [word for word in said if "=" not in word]
            yield PublicQuery(
                file=path.stem,
                sql="\n".join(line for line in lines if not line.startswith("-- ")),
                expected=kinds[-1],
                private=kinds[0] == ACCEPT,
                dialect=named.get("dialect"),
            )


def verdicts(folder: Path = FOLDER) -> Iterator[Verdict]:
    """What becomes of each, planned and priced as a session would. No data is needed."""
    policy = PolicyFile.read(folder / "policy.toml").policy
    catalog, plans, offer = Catalog.from_policy(policy), Plans(), Offer.of(epsilon=1)
    for query in queries(folder):
        yield _verdict(query, policy, catalog, plans, offer)


def _verdict(query: PublicQuery, policy: Policy, catalog: Catalog, plans: Plans, offer: Offer) -> Verdict:
    try:
        plans.plan(query.sql, query.dialect, offer, policy, catalog)
    except Refused as error:
        return Verdict(query=query, found=error.kind.value, words=str(error))
    except TacitError as error:  # a declaration that is missing
        return Verdict(query=query, found=RefusalKind.DECLARATION.value, words=str(error))
    return Verdict(query=query, found=ACCEPT)


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The share accepted, the refusals by reason, and whether every target was met."""
    tick("accepted")
    return _tables(list(verdicts()))


def _tables(found: list[Verdict]) -> tuple[list[Table], bool]:
    private = [each for each in found if each.query.private]
    accepted = [each for each in private if each.found == ACCEPT]
    others = [each for each in found if not each.query.private]
    answered = [each for each in others if each.found == ACCEPT]
    share = Table("queries", "number", "accepted", "share", title="SQL that is accepted")
    for name in sorted({each.query.file for each in private}):
        mine = [each for each in private if each.query.file == name]
        many = sum(each.found == ACCEPT for each in mine)
        share.add_row(name, str(len(mine)), str(many), f"{many / len(mine):.1%}")
    whole = len(accepted) / len(private)
    share.add_row("with a private answer", str(len(private)), str(len(accepted)), f"{whole:.1%}")
    share.add_row("to be refused", str(len(others)), str(len(answered)), f"{len(answered) / len(others):.1%}")
    reasons = Table("refused as", "has a private answer", "has none", title="refusals by reason")
    for kind in RefusalKind:
        rows = [each for each in found if each.found == kind]
        reasons.add_row(kind, *(str(sum(each.query.private is is_so for each in rows)) for is_so in (True, False)))
    return [share, reasons], whole >= ENOUGH and not answered


def main(arguments: list[str]) -> int:
    console, found = Console(), list(verdicts())
    if "-v" in arguments:
        for each in found:
            if each.found != each.query.expected:
                console.print(f"[bold]{each.query.expected} → {each.found}[/]", highlight=False)
                console.print(f"  {each.query.sql}\n  {each.words}\n", markup=False, highlight=False, soft_wrap=True)
    tables, met = _tables(found)
    for table in tables:
        console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
