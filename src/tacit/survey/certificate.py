"""Is the certificate of a survey's results true? Checked offline, from what is in it; and against a key and a table.

By itself it shows that it agrees with itself: that the coins which each device tosses are those of the protocol at the
ε that is stated, that the questions together give away no more than respondents were promised, and that the odds and
the bars are as stated. That these are the coins which the devices tossed, and these the reports that came, is the
issuer's word: the signature holds it, under a key that came from elsewhere. A survey has no ledger.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from hashlib import sha256
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tacit.base import InputError, LossError, TacitError
from tacit.desk.certificate.check import Check, CheckResult, looked_at, signature_check
from tacit.ledger.checkpoint import Signer
from tacit.program import canonical
from tacit.survey.coin import joined
from tacit.survey.mean import OneBitMean
from tacit.survey.protocol import Protocol, Tally
from tacit.survey.registry import PROTOCOLS
from tacit.survey.results import QuestionResult, Results, meaning, plain
from tacit.survey.shuffle import shuffled_loss
from tacit.survey.square_wave import SquareWave

__all__ = ["FORMAT", "KIND", "SurveyCertificate", "certificate_of", "check_survey", "stated", "when_shuffled"]

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
    signed = {} if signer is None else {"public_key": signer.public_key, "signature": signer.sign(KIND, content)}
    return {"certificate": content, **signed}


def _question(results: Results, finding: QuestionResult, tally: Tally) -> dict[str, Any]:
    protocol = results.survey.protocols[finding.name]
    counts = np.ascontiguousarray(tally.counts, dtype="<i8").tobytes()
    return {
        "name": finding.name,
        "ask": finding.ask,
        "epsilon": finding.epsilon,
        "protocol": stated(protocol.terms()),
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


SECTIONS = {"format", "survey", "title", "version", "guarantee", "minimum", "reports", "questions"}
PARTS = {"name", "ask", "epsilon", "protocol", "reports", "tally_sha256", "shuffled", "confidence", "estimates"}
NUMBERS = ("value", "lower", "upper", "consistent")
SHOWN = ("answer", "estimate", "lower", "upper", "consistent")  # an answer and its numbers in a table of results


@dataclass(frozen=True, kw_only=True, repr=False)
class SurveyCertificate:
    """What is stated of a survey's results, and who signed it, if anybody did."""

    content: Mapping[str, Any]
    public_key: str | None = None
    signature: str | None = None

    @staticmethod
    def is_one(data: Any) -> bool:
        """Whether this says of itself that it is one, of any version."""
        content = data.get("certificate") if isinstance(data, dict) else None
        return isinstance(content, dict) and str(content.get("format")).startswith("tacit survey certificate")

    @classmethod
    def of(cls, data: Any) -> "SurveyCertificate":
        """From the JSON of the service; InputError if it is none."""
        content = data["certificate"]
        if content["format"] != FORMAT:
            raise InputError("this certificate of a survey is of a newer format: install a newer release of tacit")
        who = [data.get(name) for name in ("public_key", "signature")]
        known = set(data) <= {"certificate", "public_key", "signature"}
        if not known or not all(each is None or isinstance(each, str) for each in who):
            raise InputError("this is not a certificate: one has the fields certificate, public_key and signature")
        questions = content.get("questions")
        if set(content) != SECTIONS or not isinstance(questions, list) or not questions:
            raise InputError("this certificate of a survey has sections too many or too few")
        if not all(isinstance(each, dict) and set(each) == PARTS for each in questions):
            raise InputError("a question of this certificate has fields too many or too few")
        canonical(content)  # no floats, no half characters
        return cls(content=content, public_key=who[0], signature=who[1])

    @property
    def sentence(self) -> str:
        """What it means for a respondent."""
        return str(self.content["guarantee"]["meaning"])


def check_survey(
    certificate: SurveyCertificate, *, public_key: str | None = None, answer: Path | None = None
) -> list[Check]:
    """Everything that can be checked with what is given; it is true as far as no check has `ok` False."""
    content: Any = certificate.content
    named, signed = certificate.public_key, certificate.signature
    looked: list[tuple[str, Callable[[], CheckResult]]] = [
        ("signature", partial(signature_check, content, named, signed, public_key, kind=KIND)),
        *((name, partial(check, content)) for name, check in CHECKS.items()),
    ]
    if answer is not None:
        looked.append(("answer", partial(_answer, content, _table(answer))))
    return [Check(name="form", ok=True, words="every section is there, and nothing else"), *map(looked_at, looked)]


def _coins(content: Any) -> CheckResult:
    unknown = []
    for question in content["questions"]:
        protocol = _protocol(question)
        if protocol is None:
            unknown.append(str(question["name"]))
        elif protocol.epsilon > Fraction(question["epsilon"]) or stated(protocol.terms()) != question["protocol"]:
            wrong = f'the coins of "{question["name"]}"'
            return False, f"{wrong} are not those of its protocol at the epsilon that is stated"
    if unknown:
        return None, f"the coins of {', '.join(unknown)[:200]} cannot be worked out again from what it says"
    return True, "the coins that devices toss are those of each protocol at the epsilon that is stated"


def _protocol(question: Any) -> Protocol | None:
    """The protocol of a question, made again from what is stated; None if that is not enough."""
    terms, epsilon = question["protocol"], Fraction(question["epsilon"])
    kind = next((each for each in PROTOCOLS if each.kind == terms["protocol"]), None)
    if kind is None:
        return None
    device = {name: _number(value) for name, value in terms["device"].items()}
    try:
        return kind.from_device(epsilon, device)
    except (TacitError, TypeError):
        return None


def _number(value: Any) -> Any:
    """A number of the device's terms: large ones are two words, fractions are texts."""
    if not isinstance(value, int | str | list):
        raise InputError("a number of a device's terms is a whole number, two words of one, or a fraction as text")
    return Fraction(value) if isinstance(value, str) else joined(value)


def _promise(content: Any) -> CheckResult:
    total = sum(Fraction(question["epsilon"]) for question in content["questions"])
    promised = Fraction(content["guarantee"]["epsilon"])
    if total > promised or content["guarantee"]["relation"] != "replace":
        return False, "the questions together give away more than respondents were promised"
    return True, f"the questions together give away at most epsilon = {content['guarantee']['epsilon']} of a respondent"


def _odds(content: Any) -> CheckResult:
    if content["guarantee"]["meaning"] != meaning(float(Fraction(content["guarantee"]["epsilon"]))):
        return False, "the odds that it states are not those of its epsilon"
    return True, "the odds that it states are those of its epsilon"


def _shuffled(content: Any) -> CheckResult:
    unknown = False
    for question in content["questions"]:
        protocol = _protocol(question)
        if protocol is None:
            unknown = unknown or question["shuffled"] is not None
            continue
        found, said = when_shuffled(protocol, content["minimum"]), question["shuffled"]
        better = said is not None and (found is None or Fraction(said["epsilon"]) < Fraction(found["epsilon"]))
        if better or (said is not None and found is not None and said["delta"] != found["delta"]):
            return False, f'mixing batches of {content["minimum"]} hides less of "{question["name"]}" than it states'
    if unknown:
        return None, "what mixing batches hides cannot be worked out again from what it says"
    return True, f"mixing batches of {content['minimum']} hides what it states, if every report of a batch is honest"


def _bars(content: Any) -> CheckResult:
    for question in content["questions"]:
        least, most, terms = 0.0, 1.0, question["protocol"]  # of shares, or of the numbers whose mean is told
        if terms["protocol"] == OneBitMean.kind:
            least, most = float(terms["device"]["low"]), float(terms["device"]["high"])
        for line in question["estimates"]:
            low, value, high = (float(line[name]) for name in ("lower", "value", "upper"))
            held = min(most, max(least, value))  # bars end where what is possible does
            if not (low <= value <= high or low <= held <= high) or not all(map(isfinite, (low, value, high))):
                return False, f'an estimate of "{question["name"]}" lies outside its bar'
        if not 0 <= question["reports"] <= content["reports"] or not 0 < Fraction(question["confidence"]) < 1:
            return False, f'the reports or the confidence of "{question["name"]}" cannot be so'
    return True, "every estimate lies in its bar; what the reports were is the issuer's word"


CHECKS = {"coins": _coins, "promise": _promise, "odds": _odds, "shuffled": _shuffled, "bars": _bars}


def _table(path: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of results as the service gives them in CSV, by question."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} cannot be read as CSV: give the results as the service writes them") from None
    if not rows or not {"question", *SHOWN} <= set(rows[0]):
        raise InputError(f"{path} holds no results of a survey: give the CSV that the service writes")
    return {name: [row for row in rows if row["question"] == name] for name in {row["question"] for row in rows}}


def _answer(content: Any, table: dict[str, list[dict[str, str]]]) -> CheckResult:
    stated_names = [question["name"] for question in content["questions"] if question["estimates"]]
    if sorted(stated_names) != sorted(table):
        return False, "the table is about other questions"
    for question in content["questions"]:
        rows = table.get(question["name"], [])
        if question["protocol"]["protocol"] == SquareWave.kind and rows[-1:] and rows[-1]["answer"] == "mean":
            rows = rows[:-1]  # beside a distribution, and not certified
        lines = [[plain(line["answer"]), *(str(line[name]) for name in NUMBERS)] for line in question["estimates"]]
        if [[row[name] for name in SHOWN] for row in rows] != lines:
            return False, f'the table says something else of "{question["name"]}"'
    return True, "its estimates are those that were certified; a mean beside a distribution is not"
