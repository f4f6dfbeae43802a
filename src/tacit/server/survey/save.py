"""A draft becomes a survey: its file is written whole or not at all, and it is served from then on."""

from dataclasses import replace

from tacit.base import InputError, PolicyError
from tacit.server.declare_file import create, locked, trial
from tacit.server.log import event
from tacit.server.people import Identity
from tacit.server.problem import Problem
from tacit.server.survey.check import Checked, Flaw, check
from tacit.server.survey.draft import SurveyDraft
from tacit.server.survey.opened import Surveys

__all__ = ["checked", "save"]

TAKEN = "a survey has or had this name, and its reports do not mix with these: choose another"


def checked(surveys: Surveys, draft: SurveyDraft) -> Checked:
    """Everything that is wrong with a draft, alone and beside the surveys that there are."""
    found = check(draft)
    more: list[Flaw] = []
    if draft.name in surveys.every():
        more.append(Flaw(("name",), TAKEN))
    if found.sketch is not None:
        try:
            surveys.fits(found.sketch)
        except PolicyError as error:
            more.append(Flaw(("questions",), str(error)))
    if found.survey is not None and not more:
        before = surveys.store.entered(found.survey.name)
        more += [Flaw(("name",), TAKEN)] if before not in (None, found.survey.version) else []
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
            raise Problem(422, "draft", "The draft is not complete", told)
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


def _named(found: Flaw) -> str:
    """A problem with its place before it, for whoever has no form to look at."""
    place = " ".join(str(step + 1) if isinstance(step, int) else step for step in found.place)
    return f"{place}: {found.text}" if place else found.text
