"""The certificate of a survey's results: what respondents were promised, how, and what was counted."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from math import ceil
from typing import Any

import numpy as np

from tacit.base import InputError, LossError
from tacit.ledger.checkpoint import Signer
from tacit.survey.device_terms import terms_of
from tacit.survey.protocol import Protocol, Tally
from tacit.survey.results import Finding, Results, meaning
from tacit.survey.shuffle import shuffled_loss

__all__ = ["FORMAT", "KIND", "certificate_of", "stated", "when_shuffled"]

FORMAT = "tacit survey certificate 1"
KIND = "survey certificate"  # what is signed
DELTA = "1e-6"


def certificate_of(results: Results, tallies: Mapping[str, Tally], *, signer: Signer | None = None) -> dict[str, Any]:
    """Everything that is stated, without floats, and a signature over it if there is a key to sign with."""
    survey = results.survey
    content = {
        "format": FORMAT,
        "survey": survey.name,
        "title": survey.title,
        "version": survey.version,
        "guarantee": {
            "epsilon": results.json()["epsilon"],
            "unit": "respondent",
            "relation": "replace",
            "where": "on the respondent's device, before anything is sent",
            "meaning": meaning(float(survey.epsilon)),
        },
        "minimum": survey.minimum,
        "reports": results.reports,
        "questions": [_question(results, finding, tallies[finding.name]) for finding in results.findings],
    }
    if signer is None:
        return {"certificate": content}
    return {
        "certificate": content,
        "public_key": signer.public_key,
        "signature": signer.sign(KIND, content),
    }


def _question(results: Results, finding: Finding, tally: Tally) -> dict[str, Any]:
    protocol = results.survey.protocols[finding.name]
    counts = np.ascontiguousarray(tally.counts, dtype="<i8").tobytes()
    return {
        "name": finding.name,
        "ask": finding.ask,
        "epsilon": finding.epsilon,
        "protocol": stated(terms_of(protocol)),
        "reports": finding.reports,
        "tally_sha256": sha256(counts).hexdigest(),
        "shuffled": when_shuffled(protocol, results.survey.minimum),
        "confidence": repr(results.confidence),
        "estimates": [
            {name: value if isinstance(value, str) else repr(value) for name, value in line.json().items()}
            for line in finding.lines
        ],
    }


def stated(terms: dict[str, Any]) -> dict[str, Any]:
    """The terms of a device without floats, which have no one spelling."""
    device = {name: repr(value) if isinstance(value, float) else value for name, value in terms["device"].items()}
    return {**terms, "device": device}


@lru_cache(maxsize=256)
def when_shuffled(protocol: Protocol, minimum: int) -> dict[str, str] | None:
    """What is left of ε for whoever sees the results alone, if the collector mixes honest batches as it says."""
    try:
        found = shuffled_loss(protocol, reports=minimum).epsilon(DELTA).upper
    except (InputError, LossError):
        return None  # too large an ε for batches to hide anything
    bound = min(found, float(protocol.epsilon))
    return {"epsilon": f"{ceil(bound * 10_000) / 10_000:g}", "delta": DELTA, "if": "every report of a batch is honest"}
