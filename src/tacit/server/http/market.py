"""`/v1/markets`: agents with tokens of their own submit sealed reports and fetch their own advice; whoever opened a
market closes and runs it as a job of the kind `market`, which is charged.

A report is never shown, listed, logged or counted: what anybody is told follows from the public outcome and from their
own report. A market that one was not invited to looks like one that is not there.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, Field

from tacit.base import InputError
from tacit.desk.kind import described
from tacit.market.book import MarketBook, NotTaken, OpenMarket
from tacit.market.rules import MarketRules
from tacit.market.sale import promise
from tacit.server.auth.identify import Asks, Looks, Serving
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Strict
from tacit.server.http.ask import documented
from tacit.server.http.jobs import Setting
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem

__all__ = ["TOOLS", "router"]

router = APIRouter(prefix="/v1", tags=["markets"])

Name = Annotated[str, Field(min_length=1, max_length=100)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
RULES = {"rule": "match", "table": "people", "rho": "0.02", "goods": ["morning = 40", "evening = 25"]}
SEEN = {
    "dataset": "clinic", "name": "seats", "rule": "match", "about": ["morning", "evening"], "agents": 60,
    "state": "open", "closes": "2030-01-01T00:00:00+00:00", "yours": False, "invited": True, "reported": False,
    "report": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2},
    "promise": "ε = 0.84 at δ = 2e-06 for one report in the place of another",
    "truth": "a false report gains at most 0.0797 of the largest value on average, beside what the lottery leaves",
    "outcome": None,
}  # fmt: skip


class MarketBody(
    Strict, json_schema_extra={"examples": [{"name": "seats", "rules": RULES, "agents": ["ada", "bob", "cleo"]}]}
):
    """A market's name, its rules by the keys that `GET /v1/market-rules` lists, and who may take part, by the names
    that tokens are for."""

    name: Name
    rules: Annotated[dict[Name, Setting], Field(max_length=100)]
    agents: Annotated[list[Name], Field(min_length=1, max_length=100_000)]
    closes: AwareDatetime | None = None


class ReportBody(Strict, json_schema_extra={"examples": [{"report": [0.7, 0.2]}, {"report": 0.55}]}):
    """One agent's report, as `report` of the market describes it: a number, or a list of numbers."""

    report: Amount | Annotated[list[Amount], Field(max_length=10_000)]


class SeenMarket:
    """A market as somebody may see it who opened it or was invited."""

    def __init__(self, service: Service, who: Identity, dataset: str, name: str) -> None:
        gone = HttpProblem(404, "no-market", "There is no such market", "there is no market here that you may see")
        policy = service.datasets.known().get(dataset)
        if policy is None:
            raise gone
        self.who, self.dataset, self.policy, self.book = who, dataset, policy, MarketBook.of(policy)
        try:
            self.market: OpenMarket = self.book.find(name)
        except InputError:
            raise gone from None
        self.number = self.book.number(self.market, who.name)
        if self.number is None and self.market.owner != who.name:
            raise gone

    @property
    def unit(self) -> str:
        return self.policy.privacy.unit

    @property
    def state(self) -> str:
        return "done" if self.market.outcome is not None else "open" if self.market.taking else "closed"

    def json(self) -> dict[str, Any]:
        market, plan = self.market, self.market.plan(self.unit)
        closes = None if market.closes is None else datetime.fromtimestamp(market.closes, UTC).isoformat()
        mine = {"yours": market.owner == self.who.name, "invited": self.number is not None}
        if self.number is not None:
            mine["reported"] = self.book.reported(market, self.number)
        return {
            "dataset": self.dataset, "name": market.name, "rule": market.rules.rule.value,
            "about": list(market.rules.things), "agents": market.agents, "state": self.state, "closes": closes, **mine,
            "report": market.rules.schema, "promise": promise(plan.loss), "truth": plan.truth,
            "outcome": None if market.outcome is None else market.rules.shown(plan, market.outcome),
        }  # fmt: skip


@router.get("/market-rules", responses=documented("The keys of a market's rules.", {"keys": []}))
def list_rules(who: Looks) -> JSONResponse:
    """Every key that the rules of a market may have."""
    return JSONResponse({"keys": described(MarketRules)})


@router.post(
    "/datasets/{dataset}/markets", status_code=201, responses=documented("It is open for reports.", SEEN, status=201)
)
def open_market(dataset: str, body: MarketBody, who: Asks, service: Serving) -> JSONResponse:
    """Open a market for agents of your choice. Free: what it costs is charged when it is run."""
    opened = service.datasets.find(who, dataset)
    rules, policy = MarketRules.read(body.rules), opened.policy
    opened.session(who).scan(rules.table)  # a table that this person may name
    closes = None if body.closes is None else int(body.closes.timestamp())
    unit = policy.privacy.unit
    MarketBook.of(policy).open(body.name, rules, body.agents, owner=who.name, unit=unit, closes=closes)
    return JSONResponse(SeenMarket(service, who, dataset, body.name).json(), status_code=201)


@router.get("/markets", responses=documented("Those that you opened or are invited to.", {"items": [SEEN]}))
def list_markets(who: Looks, service: Serving) -> JSONResponse:
    """Every market that you may see."""
    found = []
    for dataset, policy in service.datasets.known().items():
        found += [SeenMarket(service, who, dataset, name).json() for name in MarketBook.of(policy).names(who.name)]
    return JSONResponse({"items": found})


@router.get("/markets/{dataset}/{market}", responses=documented("Rules, state, and the outcome if there is one.", SEEN))
def one_market(dataset: str, market: str, who: Looks, service: Serving) -> JSONResponse:
    """What a market is about, what a report is, until when it takes one, and what everybody may see of the outcome."""
    return JSONResponse(SeenMarket(service, who, dataset, market).json())


@router.put(
    "/markets/{dataset}/{market}/report", responses=documented("It is sealed.", {"sealed": True, "again": False})
)
def submit(dataset: str, market: str, body: ReportBody, who: Looks, service: Serving) -> JSONResponse:
    """Submit your sealed report, once. The same one again is no harm; another one, or one that is late, is refused.

    The best report is the truth: see `truth` of the market."""
    seen = SeenMarket(service, who, dataset, market)
    try:
        new = seen.book.submit(seen.market, who.name, body.report, unit=seen.unit)
    except NotTaken as error:
        raise HttpProblem(409, "not-taken", "The report is not taken", str(error)) from None
    return JSONResponse({"sealed": True, "again": not new})


@router.get(
    "/markets/{dataset}/{market}/advice",
    responses=documented("What the outcome means for you alone.", {"good": 1, "price": 0.31, "name": "evening"}),
)
def advice(dataset: str, market: str, who: Looks, service: Serving) -> JSONResponse:
    """Your own advice, which follows from the public outcome and your own report: what you pay, get or should take."""
    seen = SeenMarket(service, who, dataset, market)
    if seen.number is None or seen.market.outcome is None:
        told = "you are no agent of this market" if seen.number is None else "it was not run yet: ask again later"
        raise HttpProblem(409, "no-advice", "There is no advice for you", told)
    number, report = seen.book.report(seen.market, who.name, unit=seen.unit)
    plan = seen.market.plan(seen.unit)
    found = plan.advice(seen.market.outcome, plan.read([report])[0], number)
    return JSONResponse(seen.market.rules.labelled(found))


@router.delete("/markets/{dataset}/{market}", status_code=204)
def drop(dataset: str, market: str, who: Looks, service: Serving) -> None:
    """Forget a market that you opened, with all reports on it. What was charged stays charged."""
    seen = SeenMarket(service, who, dataset, market)
    if seen.market.owner != who.name:
        raise HttpProblem(403, "role", "Your role does not allow this", "whoever opened a market can drop it")
    seen.book.drop(seen.market)


PLACE = {
    "dataset": {"type": "string", "description": "The dataset, as list_markets names it."},
    "market": {"type": "string", "description": "The market, as list_markets names it."},
}


def _tool(name: str, words: str, **more: Any) -> dict[str, Any]:
    properties = ({} if name == "list_markets" else PLACE) | more
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": words, "inputSchema": schema}


REPORT = {
    "description": "As the market's `report` schema says: one number, or a list of numbers in its order.",
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "array", "items": {"type": "number", "minimum": 0}}],
}
TOOLS = [
    _tool("list_markets", "Markets that you opened or are invited to, with their state and what a report is."),
    _tool("read_market", "One market: what a report is, until when, what a lie is worth, and the outcome once it ran."),
    _tool(
        "submit_report",
        "Submit your sealed report, once and before it closes. Report the truth: `truth` says how little a lie gains.",
        report=REPORT,
    ),
    _tool("read_advice", "After the run: what the outcome means for you alone. Nobody else is told."),
]


@router.get("/market-tools", responses=documented("As MCP's tools/list answers.", {"tools": TOOLS[:1]}))
def tools(who: Looks) -> JSONResponse:
    """The calls of an agent as tools of the Model Context Protocol; `tacit market tools` serves them to a model."""
    return JSONResponse({"tools": TOOLS})
