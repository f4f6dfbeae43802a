"""A trained model as a file: weights, the plan, what was paid, and a certificate; `tacit verify` reads it.

The release is the file without the certificate, which cannot be in what it certifies. `ModelFile` takes it out and
puts it in; the weights can be read by anything that reads safetensors.
"""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import InputError
from tacit.desk import ContentRelease
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.check import Check
from tacit.learn.job import FORMAT
from tacit.learn.weights import Arrays, arrays_from_bytes, arrays_to_bytes, tensors_from

if TYPE_CHECKING:
    from tacit.learn.training import Training

__all__ = ["ModelFile", "TrainedModel"]

CERTIFICATE = "certificate"


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelFile:
    """Weights and what is said of them. What it says is the word of whoever made the file, until it was verified."""

    arrays: Arrays
    about: dict[str, Any]
    certificate: Certificate | None = None

    @classmethod
    def read(cls, path: Path | str) -> "ModelFile":
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        return cls.from_bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> "ModelFile":
        arrays, metadata = arrays_from_bytes(data)
        try:
            about = json.loads(metadata["tacit"])
            known = about["format"] == FORMAT and set(metadata) <= {"tacit", CERTIFICATE}
        except (KeyError, TypeError, ValueError):
            known = False
        if not known:
            raise InputError("this file does not say how its model was trained: it is not one that tacit released")
        stored = metadata.get(CERTIFICATE)
        certificate = None if stored is None else Certificate.read(stored.encode())
        return cls(arrays=arrays, about=about, certificate=certificate)

    @property
    def content(self) -> bytes:
        """The release: the same file without its certificate."""
        return arrays_to_bytes(self.arrays, {"tacit": json.dumps(self.about)})

    def to_bytes(self) -> bytes:
        if self.certificate is None:
            return self.content
        certificate = json.dumps(self.certificate.json(), ensure_ascii=False)
        return arrays_to_bytes(self.arrays, {"tacit": json.dumps(self.about), CERTIFICATE: certificate})

    @property
    def sha256(self) -> str:
        """By which a certificate knows it."""
        return sha256(self.content).hexdigest()

    @property
    def epsilon(self) -> float | None:
        """The ε of the plan it was trained by; None where that was not stated in ε."""
        stated = self.about["plan"]["epsilon"]
        return None if stated is None else float(_fraction(stated))

    @property
    def delta(self) -> float:
        return float(_fraction(self.about["plan"]["delta"]))

    def tensors(self) -> dict[str, Any]:
        """The weights, for `model.load_state_dict`."""
        return tensors_from(self.arrays)

    @property
    def sentence(self) -> str:
        """What it promises, as it says itself."""
        plan, cost = self.about["plan"], self.about["cost"]
        stated = f"ε = {_fraction(plan['epsilon']):.4g}" if plan["epsilon"] else f"a cost of {json.dumps(cost)}"
        return (
            f"trained on {self.about['dataset']!r} with {stated}, δ = {self.delta:g} for one {self.about['unit']} "
            f"({self.about['relation']}), paid for by entry {self.about['ledger']['entry']} of its ledger"
        )

    def checks(self) -> list[Check]:
        """Whether what the file says of itself is what its certificate says."""
        content: Any = None if self.certificate is None else self.certificate.content
        if content is None:
            return [Check(name="model", ok=None, words="it has no certificate")]
        query = content["program"]["content"]["query"]
        same = (
            isinstance(query, dict)
            and query.get("training") == self.about["plan"]
            and self.about["program"] == content["program"]["hash"]
            and self.about["unit"] == content["protects"]["unit"]
        )
        words = "the plan in it is the one that was charged" if same else "it states another plan than was charged"
        return [Check(name="model", ok=same, words=words)]

    def __repr__(self) -> str:
        size = sum(len(data) for _, _, data in self.arrays.values())
        sign = "with a certificate" if self.certificate is not None else "without a certificate"
        return f"<model of {len(self.arrays)} arrays, {size:,} bytes, {sign}: {self.sentence}>"


def _fraction(text: Any) -> float:
    return float(Fraction(str(text)))


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainedModel:
    """What a training gave: the `release`, its `file`, and the `plan` it was bought by."""

    release: ContentRelease
    file: ModelFile
    plan: "Training"

    @property
    def cached(self) -> bool:
        """Whether the release was known already, and nothing was paid now."""
        return self.release.cached

    @property
    def loss(self) -> Any:
        return self.plan.loss

    def save(self, path: Path | str, *, session: Any = None, signing_key: Any = None) -> ModelFile:
        """Write the file; with a `session`, its certificate goes into it."""
        file = self.file
        if session is not None:
            file = replace(file, certificate=session.certificate(self.release, signing_key=signing_key))
        try:
            Path(path).write_bytes(file.to_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        return file

    def __repr__(self) -> str:
        return f"TrainedModel({self.file.sentence})"
