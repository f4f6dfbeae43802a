"""`tacit panel`: noisy sums of one table, line by line, under a budget for each person."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from sqlglot import exp

from tacit.base import InputError, Refused
from tacit.cli.options import Json, flag, option
from tacit.cli.screen import line, output, remark, show
from tacit.cli.settings import AskerOptions
from tacit.learn.panel import Panel, PanelSum, PanelSums
from tacit.sql.parse import parse

__all__ = ["PanelOptions", "panel"]

SHAPE = "a line is SELECT COUNT(*) FROM table, or SELECT SUM(column) FROM table, and may end WHERE column = value AND …"


@dataclass(frozen=True, kw_only=True)
class PanelOptions:
    """The plan of a panel."""

    table: Annotated[str, option("TABLE", "The table of the policy that is added up.")]
    rho: Annotated[str, option("NUMBER", "What all sums together may cost one unit, in zCDP.")]
    sigma: Annotated[str, option("NUMBER", "The noise of each sum, in units of its column.")]
    sums: Annotated[str, option("COUNT", "How many sums may be asked, all of them paid for at the start.")]
    step: Annotated[str, option("NUMBER", "Values are cut to whole multiples of it.")] = "1"
    name: Annotated[str, option("NAME", "Tells one panel from another; the same goes on where it was.")] = "panel"

    def plan(self) -> Panel:
        return Panel(
            table=self.table, rho=self.rho, sigma=self.sigma, sums=self.sums, step=self.step, name=self.name  # type: ignore[arg-type]  # read by the plan
        )  # fmt: skip


def panel(
    plan: PanelOptions,
    asker: AskerOptions,
    delta: Annotated[str | None, option("NUMBER", "The δ of an account that is paid in ε.")] = None,
    quote: Annotated[bool, flag("--quote", "Only what it would cost; nothing is read.")] = False,
    as_json: Json = False,
) -> None:
    """Ask for noisy sums: each line of standard input is one, in SQL, and is answered at once.

    One charge opens them all. Each unit takes part while its own spend lasts, and is cut to what it has left; how many
    still take part is told to nobody, so intervals cover the noise only. A line that is wrong spends nothing. When the
    input ends the panel rests, and the same command goes on.

    Example: echo 'SELECT SUM(amount) FROM sales' | tacit panel --table sales --rho 1/2 --sigma 40 --sums 20
    """
    own = plan.plan()
    with asker.open() as session:
        if quote:
            found = own.quote(session)
            most = f"one {session.policy.privacy.unit} may bring at most {own.largest:,.4g}, if it is all in one sum"
            output(as_json, found.json(), found, remark(most))
            return
        told: list[PanelSum] = []

        def loop(sums: PanelSums) -> None:
            for each in sums.released:
                _told(each, as_json)
            for text in sys.stdin:
                if not sums.left:
                    break
                if text.strip():
                    try:
                        _told(_asked(sums, text), as_json)
                    except (InputError, Refused) as error:  # before anything of it was spent
                        show(line(f"tacit: {error}", "bold red"), stderr=True)
            told.extend(sums.released)

        release = own.run(session, loop, delta=delta)
    if release is not None and release.cached:
        raise InputError(f"the panel {own.name!r} is over: another --name begins a new one, and pays for it")
    if not as_json:
        output(False, None, remark(f"the panel {own.name!r} has told {len(told):,} of {own.sums:,} sums"))


def _asked(sums: PanelSums, text: str) -> PanelSum:
    """The sum that a line asks for."""
    tree = parse(text)
    source, where = tree.args.get("from") or tree.args.get("from_"), tree.args.get("where")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or not _used(table) <= {"this", "alias"}:
        raise InputError(SHAPE)
    if not _used(tree) <= {"expressions", "from", "from_", "where", "kind"} or len(tree.expressions) != 1:
        raise InputError(SHAPE)
    if table.name.lower() != sums.panel.table.lower():
        raise InputError(f'this panel is of "{sums.panel.table}", and not of "{table.name}"')
    for column in tree.find_all(exp.Column):
        if column.table and column.table.lower() != table.alias_or_name.lower():
            raise InputError(f'"{column.table}" in {column.sql()} is not the table: this panel is of one table alone')
    wanted = tree.expressions[0].unalias()
    values = {} if where is None else dict(_equalities(where.this))
    if isinstance(wanted, exp.Count) and isinstance(wanted.this, exp.Star):
        return sums.count(values)
    if isinstance(wanted, exp.Sum) and isinstance(wanted.this, exp.Column):
        return sums.sum(wanted.this.name, values)
    raise InputError(SHAPE)


def _used(tree: Any) -> set[str]:
    return {name for name, value in tree.args.items() if value}


def _equalities(condition: Any) -> list[tuple[str, Any]]:
    """Columns and the values that they must have."""
    if isinstance(condition, exp.Paren):
        return _equalities(condition.this)
    if isinstance(condition, exp.And):
        both = [*_equalities(condition.left), *_equalities(condition.right)]
        if len(dict(both)) < len(both):
            raise InputError("a column is compared once")
        return both
    if isinstance(condition, exp.EQ) and isinstance(condition.left, exp.Column):
        return [(condition.left.name, _value(condition.right))]
    raise InputError(SHAPE)


def _value(literal: Any) -> Any:
    if isinstance(literal, exp.Neg):
        return -_value(literal.this)
    if isinstance(literal, exp.Boolean):
        return literal.this
    if isinstance(literal, exp.Literal):
        return literal.this if literal.is_string else json.loads(literal.this)
    raise InputError(SHAPE)


def _told(found: PanelSum, as_json: bool) -> None:
    """One line, at once, for whoever waits behind a pipe."""
    shown = {"asked": found.asked, "value": found.value, "margin": found.margin}
    typer.echo(json.dumps(shown) if as_json else str(found))
    sys.stdout.flush()
