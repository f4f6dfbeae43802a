"""Every kind of job that plain data can buy: one line each, read by the command line, HTTP and the console alike.

A kind is imported when it is asked for, so that none makes the others wait.
"""

from importlib import import_module

from tacit.base import InputError
from tacit.desk import Release
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.kind import JobKind, ReleaseForm
from tacit.policy.declaration import instead, quoted

__all__ = ["JOB_KINDS", "file_with_certificate", "forms_of", "job_kind", "job_kinds"]

JOB_KINDS = {
    "train": "tacit.learn.config.train:TRAIN",
    "census": "tacit.census.settings:CENSUS",
    "synth": "tacit.synth.config:SYNTH",
    "market": "tacit.market.job:MARKET",
}


def job_kind(name: str) -> JobKind:
    """The kind of this name."""
    if name not in JOB_KINDS:
        raise InputError(f"there is no kind of job {quoted(name)}: {instead(name, JOB_KINDS, those='kinds')}")
    module, _, attribute = JOB_KINDS[name].partition(":")
    found: JobKind = getattr(import_module(module), attribute)
    return found


def job_kinds() -> list[JobKind]:
    """All of them, in their order."""
    return [job_kind(name) for name in JOB_KINDS]


def file_with_certificate(release: Release, content: bytes, certificate: Certificate) -> bytes:
    """The file of a release with its certificate in it, where its kind has a place for one."""
    kind = release.description()["kind"]
    packed = next((each.certified for each in job_kinds() if each.makes == kind and each.certified is not None), None)
    return content if packed is None else packed(content, certificate)


def forms_of(release: Release) -> tuple[ReleaseForm, ...]:
    """The other forms that a release has."""
    media = release.description().get("media")
    return next((kind.forms for kind in job_kinds() if kind.media and kind.media == media), ())
