"""The desk: the one way from a priced program to a release. Decide, recall, charge, begin, run, keep, show."""

from tacit.desk.desk import Desk, IdempotencyKey
from tacit.desk.job import Job, OwnJob, Run, Spender
from tacit.desk.quote import Expected, Hint, Quote
from tacit.desk.release import ContentRelease, Release, TableRelease

__all__ = [
    "ContentRelease",
    "Desk",
    "Expected",
    "Hint",
    "IdempotencyKey",
    "Job",
    "OwnJob",
    "Quote",
    "Release",
    "Run",
    "Spender",
    "TableRelease",
]
