"""The desk: questions of one analyst about one dataset, from SQL to a release."""

from tacit.session.answer import Release
from tacit.session.session import Quote, Session

__all__ = ["Quote", "Release", "Session"]
