"""A draft becomes a survey: its file is written whole or not at all, and it is served from then on."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.base import InputError, PolicyError, Problem
from tacit.noise import rng_or_default
from tacit.server.auth.people import Identity
from tacit.server.curate.edit import create, locked, trial
from tacit.server.ops.log import event
from tacit.server.problem import HttpProblem
from tacit.server.survey.draft import CheckedSurvey, SurveyDraft, check
from tacit.server.survey.store import Delivery, ReportStore
from tacit.server.survey.surveys import Surveys
from tacit.survey.demo import DEMO, simulate
from tacit.survey.protocol import Array
from tacit.survey.survey_file import load

__all__ = ["checked", "save", "seeded"]

TAKEN = "a survey has or had this name, and its reports do not mix with these: choose another"


def checked(surveys: Surveys, draft: SurveyDraft) -> CheckedSurvey:
    """Everything that is wrong with a draft, alone and beside the surveys that there are."""
    found = check(draft)
    more: list[Problem] = []
    if draft.name in surveys.every():
        more.append(Problem(("name",), TAKEN))
    if found.sketch is not None:
        try:
            surveys.fits(found.sketch)
        except PolicyError as error:
            more.append(Problem(("questions",), str(error)))
    if found.survey is not None and not more:
        before = surveys.store.entered(found.survey.name)
        more += [Problem(("name",), TAKEN)] if before not in (None, found.survey.version) else []
    return replace(found, survey=None, problems=(*found.problems, *more)) if more else found


def save(surveys: Surveys, who: Identity, draft: SurveyDraft) -> str:
    """Write the file and serve the survey; its name. It works, or nothing is left behind."""
    folder = surveys.folder
    assert folder is not None, "a service has a folder for surveys"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(f"the folder of surveys cannot be made: {error.strerror}") from None
    with locked(folder):
        found = checked(surveys, draft)  # now that nobody else can take the name
        if found.survey is None:
            told = "; ".join(_named(each) for each in found.problems[:5])
            raise HttpProblem(422, "draft", "The draft is not complete", told)
        path = folder / f"{found.survey.name}.toml"
        with trial(folder, found.text) as tried:
            create(tried, path)
        try:
            surveys.add(path)
        except BaseException:
            path.unlink()
            raise
    event("survey saved", who=who.name, survey=found.survey.name)
    return found.survey.name


def _named(found: Problem) -> str:
    """A problem with its place before it, for whoever has no form to look at."""
    place = " ".join(str(step + 1) if isinstance(step, int) else step for step in found.path)
    return f"{place}: {found.text}" if place else found.text


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
