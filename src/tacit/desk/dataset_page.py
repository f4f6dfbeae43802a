"""The report on a dataset as one page to read, print and sign."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tacit.base.number import short
from tacit.desk.certificate.page import Html, bullets, document, facts, grid, text_of

__all__ = ["dataset_page"]

KIND = "Report on a dataset"


def dataset_page(report: Mapping[str, Any]) -> str:
    """One HTML page without scripts, of what `dataset_report` found."""
    told: Any = report
    promise, spent, made = told["promise"], told["spent"], told["made"]
    lead = f"<p class=lead>{text_of(promise['odds']['sentence'])}</p>"
    lead += (
        f"<p class=note>That is what is promised to each {text_of(promise['unit'])} if the whole budget is spent.</p>"
    )
    return document(
        KIND,
        told["dataset"],
        lead,
        {
            "The promise": facts(_promise(told)),
            "What was spent": facts(_spent(spent)) + grid(("who", "limit", "spent ever", "left"), _holders(spent)),
            "By whom and for what": _uses(spent),
            "How much one counts, and who said so": grid(
                ("of", "what", "bound", "origin"),
                [(each["of"], each["what"], each["bound"], each["origin"]) for each in told["bounds"]],
            ),
            "What the guarantee rests on, and nothing checks": bullets(told["promises of the curator"]),
            "Noise in use": facts({each["mechanism"]: _times(each["releases"]) for each in told["mechanisms"]}),
            "What is not protected": bullets(told["not protected"]),
            "Side channels": facts(told["side channels"]),
            "Points of NIST SP 800-226": facts({each["point"]: each["answer"] for each in told["nist"]}),
            "For the public registry of deployments": "".join(
                f"<h3>{text_of(tier.capitalize())}</h3>{facts({name: _flat(value) for name, value in fields.items()})}"
                for tier, fields in told["registry"].items()
            ),
            "Made from": facts(made),
            "Signed": facts({"name": "", "role": "", "place and day": "", "signature": Html("&nbsp;<br>&nbsp;")}),
        },
    )


def _promise(told: Any) -> dict[str, Any]:
    promise, odds = told["promise"], told["promise"]["odds"]
    posterior = odds["posterior"]
    found = {
        "whose": told["people"],
        "hidden": promise["hidden"],
        "in all": promise["statement"],
        "that is": "no ε"
        if promise["epsilon"] is None
        else f"ε = {promise['epsilon']:.4g} at δ = {promise['delta']:g}",
        "odds": f"move by a factor of at most {odds['odds_factor']:.4g}" if odds["odds_factor"] else "without limit",
        "a belief of 50 %": f"ends between {posterior['lower']:.1%} and {posterior['upper']:.1%}",
    }
    if promise["window"] is not None:
        found["window"] = (
            f"the budget is fresh every {promise['window']}; the odds are for all windows that may be paid"
        )
    if promise["sealed"]:
        found["sealed"] = "nothing can be spent any more"
    return found


def _spent(spent: Any) -> dict[str, str]:
    found = {f"in {spent['currency']}": _short(spent["in all"], up=True)}
    if spent["epsilon"] is not None:
        found["as ε so far"] = f"{spent['epsilon']:.4g} at δ = {spent['delta']:.3g}, at whatever moment it is read"
    return found


def _holders(spent: Any) -> list[tuple[str, ...]]:
    """Each with its limit and what is left rounded down, and what was spent rounded up."""
    return [
        (
            each["holder"],
            _short(each["limit"], up=False),
            _short(each["spent ever"], up=True),
            _short(each["left"], up=False),
        )
        for each in spent["holders"]
    ]


def _uses(spent: Any) -> str:
    if not spent["uses"]:
        return "<p>Nothing was paid for yet.</p>"
    rows = [
        (
            each["analyst"],
            each["for"],
            _times(each["times"]),
            _short(each["spent"], up=True),
            ", ".join(each["mechanisms"]),
        )
        for each in spent["uses"]
    ]
    more = spent["uses not listed"]
    note = f"<p class=note>{more:,} cheaper kinds are not listed.</p>" if more else ""
    return grid(("analyst", "for", "times", "spent", "noise"), rows) + note


def _short(number: str, *, up: bool) -> str:
    return short(Fraction(number), up=up)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _flat(value: Any) -> str:
    """Anything of the registry's fields on one line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_flat(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_flat, value)) or "none"
    return str(value)
