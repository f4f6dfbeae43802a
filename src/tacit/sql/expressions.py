"""Expressions of the query become expressions of the plan, or are refused. Each construct has one rule."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from tacit.base import InputError, Mistake, Refused
from tacit.plan.canonical import canonical
from tacit.plan.describe import SIGNS
from tacit.plan.expression import Constant, Expression, constant
from tacit.plan.facts import Type
from tacit.plan.node import MOST_PARTS
from tacit.sql.constants import number
from tacit.sql.refusals import place, quoted, refused, shown
from tacit.sql.scope import Scope

__all__ = ["Expressions", "Rule", "alternatives", "conjuncts", "literal"]

Rule = Callable[["Expressions", exp.Expr], Expression]
Special = Callable[[exp.Expr], Expression | None]


class Expressions:
    """Lowers expressions over the names of one scope. `special` may answer for a node before its rule does."""

    def __init__(self, scope: Scope, special: Special | None = None) -> None:
        self.scope, self.special = scope, special
        self.known: dict[int, tuple[exp.Expr, Expression]] = {}  # the node is kept, so that its id stays its own

    def lower(self, node: exp.Expr) -> Expression:
        """The expression of the plan. Equal nodes give equal expressions."""
        found = self.known.get(id(node))
        if found is None:
            made = (self.special(node) if self.special is not None else None) or self._ruled(node)
            found = self.known[id(node)] = (node, made)
        return found[1]

    def _ruled(self, node: exp.Expr) -> Expression:
        if not isinstance(node, exp.Expr):  # the parser leaves out what it did not find
            raise Mistake("a value is missing in this question: complete it")
        rule = rules().get(type(node))
        if rule is None:
            raise refused(shown(node), "it has no meaning as a value of one row", at=node)
        return rule(self, node)

    def call(self, node: exp.Expr, name: str, *arguments: Expression) -> Expression:
        """The operation on arguments that are lowered; what it does not take is refused at the node's place."""
        try:
            made = canonical(name, *arguments)
        except InputError as error:
            told = str(error)
            if name in SIGNS and told.startswith(f"{name} "):  # as it is written in SQL
                told = f"{SIGNS[name]}{told.removeprefix(name)}"
            raise Mistake(f"{place(node)}{shown(node)} is refused: {told}") from None
        if made.size > MOST_PARTS:
            raise Refused(
                f"{place(node)}this is refused, since it has more than {MOST_PARTS:,} parts when names are written out"
                ": compute less of it at once"
            )
        return made

    def condition(self, node: exp.Expr, where: str) -> Expression:
        """A truth value."""
        found = self.lower(node)
        if found.facts.type is not Type.BOOLEAN and not (isinstance(found, Constant) and found.value is None):
            raise refused(
                f"{where} {shown(node)}", f"it is a {found.facts.type} and no condition", "compare it", at=node
            )
        return found


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """What AND joins, in order, however long the chain is."""
    return _chain(node, exp.And)


def alternatives(node: exp.Expr) -> list[exp.Expr]:
    """What OR joins, in order."""
    return _chain(node, exp.Or)


def _chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    ahead, found = [node], []
    while ahead:
        at = ahead.pop()
        plain = at.unnest()
        if type(plain) is kind:
            ahead += [plain.args["expression"], plain.args["this"]]
        else:
            found.append(at)
    return found


def literal(node: exp.Expr | None) -> Constant | None:
    """A number, text or truth value as it stands in the query, or NULL; None for anything else."""
    plain = None if node is None else node.unnest()
    sign = 1
    if type(plain) is exp.Neg:
        plain, sign = plain.this.unnest(), -1
    if type(plain) is exp.Literal and not plain.is_string:
        return constant(sign * number(plain.name))
    if sign == -1 or plain is None:
        return None
    match plain:
        case exp.Literal():
            return constant(plain.name)
        case exp.Boolean():
            return constant(bool(plain.this))
        case exp.Null():
            return constant(None)
    return None


def column(lower: Expressions, node: exp.Expr) -> Expression:
    """A name: the value of the one column it means."""
    assert isinstance(node, exp.Column)  # as the table of rules has it
    if isinstance(node.this, exp.Star):
        raise refused("* in an expression", "a value is one column", "name it", at=node)
    field = lower.scope.resolve(node)
    if field.value is None:
        raise Refused(f"{place(node)}{field.missing or f'column {quoted(field.name)} cannot be computed with'}")
    return field.value


def rules() -> Mapping[type[exp.Expr], Rule]:
    """Every rule, by the class of the node."""
    from tacit.sql.rules import RULES  # the rules are written in terms of Expressions

    return RULES
