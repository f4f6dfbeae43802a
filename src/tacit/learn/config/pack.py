"""The certificate of a model in the model's own file."""

from dataclasses import replace

from tacit.base import InputError
from tacit.desk.certificate.certificate import Certificate
from tacit.learn.model import ModelFile

__all__ = ["with_certificate"]


def with_certificate(content: bytes, certificate: Certificate) -> bytes:
    """The file with its certificate; a model that is no such file as it is."""
    try:
        file = ModelFile.from_bytes(content)
    except InputError:
        return content
    return replace(file, certificate=certificate).to_bytes()
