"""The desk: questions of one analyst about one dataset, from SQL to a release."""

from tacit.desk.certificate.certificate import Certificate
from tacit.desk.quote import Quote
from tacit.desk.release import Release, TableRelease
from tacit.session.session import Session
from tacit.session.single import ask, open_session

__all__ = ["Certificate", "Quote", "Release", "Session", "TableRelease", "ask", "open_session"]
