"""What is sent to ask and what comes back: bodies of requests, and an answer as JSON, CSV or Arrow."""

from decimal import Decimal
from io import BytesIO
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tacit.base import Number
from tacit.server.problem import Problem
from tacit.session import Release

__all__ = ["ANSWERED", "ARROW", "CSV", "HTML", "JSON", "Question", "answered", "media"]

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
HTML = "text/html"
SQL = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"

# digits are bounded, so that no number can be written that takes long to read
Positive = Annotated[Decimal, Field(gt=0, le=10**12, max_digits=45, decimal_places=30)]
Share = Annotated[Decimal, Field(gt=0, lt=1, max_digits=20, decimal_places=20)]


class Question(BaseModel):
    """A question in SQL, and one of: what to spend as `epsilon` or `rho`, or the `error` to reach."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"sql": SQL, "epsilon": 0.5}, {"sql": SQL, "error": 100}]},
    )

    sql: str = Field(min_length=1, max_length=50_000)
    epsilon: Positive | None = None
    rho: Positive | None = None
    error: Positive | None = None
    confidence: Share = Decimal("0.95")

    def offer(self) -> dict[str, Number | None]:
        """The arguments of `quote` and `ask`."""
        return {"epsilon": self.epsilon, "rho": self.rho, "error": self.error}


ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, with an interval for each noisy number.",
        "content": {
            JSON: {
                "example": {
                    "id": "5f2c9d0e8a7b4c61b0f3d2e1a4958677",
                    "key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
                    "cached": False,
                    "columns": ["ward", "visits"],
                    "rows": [["east", 15895], ["north", 12031]],
                    "intervals": {"visits": [[15775.0, 11911.0], [16015.0, 12151.0]]},
                    "confidence": 0.95,
                    "notes": ["what one patient adds beyond its clip is scaled down"],
                    "facts": {"dataset": "clinic", "unit": "patient", "cost": {"epsilon": "0.5", "delta": "0"}},
                }
            },
            CSV: {"example": "ward,visits,visits_low,visits_high\neast,15895,15775,16015\n"},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


def media(request: Request, forms: tuple[str, ...] = (JSON, CSV, ARROW)) -> str:
    """The form of the answer that the caller likes best, by the weights of Accept. Settled before anything is paid."""
    accept = request.headers.get("accept", "*/*") or "*/*"
    best, weight = "", 0.0
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        here = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            quality = float(here)
        except ValueError:
            quality = 0.0
        offered = [form for form in forms if kind in (form, form.split("/")[0] + "/*", "*/*")]
        if offered and quality > weight:
            best, weight = offered[0], quality
    if not best:
        raise Problem(406, "accept", "This format is not offered", f"accept {' or '.join(forms)}")
    return best


def answered(release: Release, form: str, *, name: str, cached: bool, key: str | None = None, **more: Any) -> Response:
    """A release in one of the forms, with the key of its charge where it was asked for just now."""
    headers = {"Tacit-Release": name, "Tacit-Cached": str(cached).lower(), "Vary": "Accept"}
    if key is not None:
        headers["Idempotency-Key"] = key
        more["key"] = key
    if form == JSON:
        return JSONResponse({"id": name, **more, "cached": cached, **release.json()}, headers=headers)
    if form == ARROW:
        return Response(release.to_bytes(), media_type=ARROW, headers=headers)
    out = BytesIO()
    release.to_csv(out)
    return Response(out.getvalue(), media_type=CSV, headers=headers)
