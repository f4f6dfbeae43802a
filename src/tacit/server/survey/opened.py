"""The surveys that this worker serves, and the store that their reports go to."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from tacit.base import PolicyError
from tacit.server.collect import Collector
from tacit.server.collect_store import ReportStore
from tacit.server.limits import Rate
from tacit.server.problem import Problem
from tacit.server.survey.body import delivery_of
from tacit.survey.results import Results, results_of
from tacit.survey.survey import Survey
from tacit.survey.survey_file import load

__all__ = ["Surveys"]

COUNTED, KNOWN = (json.dumps({"counted": new}).encode() for new in (True, False))


class Surveys:
    """Opened once. Every survey's name is known to the store with what its reports mean, or it is refused."""

    def __init__(self, files: Iterable[Path], where: str | Path, *, rate: int, body: int) -> None:
        found: dict[str, Survey] = {}
        for survey in map(load, files):
            if survey.name in found:
                raise PolicyError(f'two surveys are called "{survey.name}": give one of them another name')
            if (size := _body(survey)) > body:
                raise PolicyError(
                    f'what one respondent of "{survey.name}" sends has {size:,} bytes, and requests at most {body:,}: '
                    "ask with fewer options, or set body"
                )
            found[survey.name] = survey
        self.known: Mapping[str, Survey] = MappingProxyType(found)
        self.rate = Rate(rate)
        self.store = ReportStore(where)
        try:
            for survey in found.values():
                self.store.enter(survey)
            self.collector = Collector(self.store)
        except BaseException:
            self.store.close()
            raise

    def named(self, name: str) -> Survey:
        """The survey of this name."""
        if name not in self.known:
            raise Problem(404, "no-survey", "There is no such survey", "there is no survey of this name here")
        return self.known[name]

    def open_now(self, survey: Survey) -> None:
        """Whether reports are taken now; else a `Problem` that says since when or from when."""
        now = datetime.now(UTC)
        if survey.is_open(now):
            return
        begun = survey.opens is None or survey.opens <= now
        moment = survey.closes if begun else survey.opens
        words = f"it {'closed' if begun else 'opens'} at {moment:%Y-%m-%d %H:%M} UTC"
        raise Problem(403, "closed" if begun else "not-open", "The survey takes no answers now", words)

    async def take(self, name: str, body: bytes, *, address: str) -> bytes:
        """What one device sent, on disk when this returns; what it is told. Or a `Problem`."""
        self.rate.take(address)
        survey = self.named(name)
        self.open_now(survey)
        new = await self.collector.submit(survey, delivery_of(survey, body))
        return COUNTED if new else KNOWN

    def results(self, survey: Survey) -> Results:
        """What its reports say so far."""
        counted = self.store.counted(survey)
        return results_of(survey, counted.tallies, waiting=counted.waiting)

    def close(self) -> None:
        """Write what is waiting, and let go of the store."""
        self.collector.close()
        self.store.close()


def _body(survey: Survey) -> int:
    """How many bytes a submission has at most: names and hexadecimal digits, each with quotes and commas."""
    return 200 + sum(len(name) + 2 * size + 10 for name, size in survey.sizes.items())
