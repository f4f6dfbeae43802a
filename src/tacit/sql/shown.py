"""The last stage of a question, on what the ledger keeps: the same way for a new answer and an old one."""

from tacit.base import EngineError
from tacit.desk.release import Release
from tacit.ledger import StoredRelease
from tacit.sql.assemble import assemble
from tacit.sql.hints import notes_of
from tacit.sql.noise import Stored
from tacit.sql.plans import Plan

__all__ = ["shown"]


def shown(kept: StoredRelease, plan: Plan, *, cached: bool) -> Release:
    """The release; an `EngineError` for a failure, and for anything that goes wrong here."""
    if kept.kind == "failure":
        raise EngineError
    try:
        stored = Stored.from_bytes(kept.release)
        answer = assemble(plan.priced, stored.parts, confidence=plan.offer.confidence)
        return Release(
            table=answer.table,
            intervals=answer.intervals,
            confidence=plan.offer.confidence,
            notes=(*plan.remarks, *notes_of(plan.priced, plan.policy, stored.parts)),
            facts=stored.facts,
            cached=cached,
        )
    except Exception:
        pass
    raise EngineError
