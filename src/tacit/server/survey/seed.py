"""Made-up respondents of the demo survey, so that its results show something at the first start."""

from pathlib import Path

import numpy as np

from tacit.base import InputError
from tacit.noise import rng_or_default
from tacit.server.collect_store import Delivery, ReportStore
from tacit.survey.demo import DEMO, simulate
from tacit.survey.protocol import Array
from tacit.survey.survey_file import load

__all__ = ["seeded"]

PEOPLE, AT_ONCE, NAME = 3000, 1000, 16


def seeded(folder: Path, where: str | Path) -> Path:
    """The demo survey's file, written the first time, and its store with made-up reports."""
    path = folder / "survey.toml"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(DEMO, encoding="utf-8")
        except OSError as error:
            raise InputError(f'the demo cannot be written to "{folder}": {error.strerror}') from None
    survey = load(path)
    store = ReportStore(where)
    try:
        store.enter(survey)
        if not store.size(survey):
            made = simulate(survey, answers=PEOPLE).reports
            columns = {name: _each(made[name], survey.sizes[name]) for name in survey.questions}
            names = bytes(rng_or_default(None).read(NAME * PEOPLE))
            sent = [
                Delivery(names[NAME * n : NAME * (n + 1)], {name: column[n] for name, column in columns.items()})
                for n in range(PEOPLE)
            ]
            for start in range(0, PEOPLE, AT_ONCE):
                store.add(survey, sent[start : start + AT_ONCE])
    finally:
        store.close()
    return path


def _each(reports: Array, size: int) -> list[bytes]:
    data = np.ascontiguousarray(reports).tobytes()
    return [data[at : at + size] for at in range(0, len(data), size)]
