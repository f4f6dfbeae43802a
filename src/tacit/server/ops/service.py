"""Everything that one worker of the service holds open."""

from dataclasses import dataclass, field

from tacit.ledger.checkpoint import Signer
from tacit.server.ask.datasets import Datasets
from tacit.server.ask.jobs import Jobs, QuestionPool
from tacit.server.ask.running import RunningQuestions
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.oidc_provider import Provider
from tacit.server.auth.people import People
from tacit.server.curate.checks import Checks
from tacit.server.curate.requests import Requests
from tacit.server.curate.save import Curation, Journal
from tacit.server.db import State
from tacit.server.http.rate import RateLimit, SharedRateLimit
from tacit.server.ops.config import Config
from tacit.server.ops.health import Health
from tacit.server.ops.log import Metrics
from tacit.server.survey.surveys import Surveys

__all__ = ["Service"]


@dataclass(frozen=True, kw_only=True)
class Service:
    """Opened once, used by every request, closed at the end."""

    config: Config
    state: State
    people: People
    datasets: Datasets
    running: RunningQuestions
    health: Health
    shelf: Shelf
    jobs: Jobs
    metrics: Metrics
    rate: RateLimit
    failures: RateLimit
    curation: Curation
    requests: Requests
    checks: Checks
    surveys: Surveys
    oidc: Provider | None = None
    signer: Signer | None = None
    pool: QuestionPool = field(default_factory=QuestionPool)

    @classmethod
    def open(cls, config: Config) -> "Service":
        provider = Provider.of(config)
        state = State(config.store)
        surveys, running = None, RunningQuestions(state)
        try:
            signer = _signer(config)
            surveys = _surveys(config)
            datasets = Datasets(
                config.datasets,
                padding=config.padding,
                folder=config.policy_folder,
                limits=config.limits,
                running=running,
            )
        except BaseException:
            if surveys is not None:
                surveys.close()
            state.close()
            raise
        return cls(
            config=config,
            state=state,
            people=People(state),
            datasets=datasets,
            running=running,
            health=Health(state, datasets),
            shelf=Shelf(state),
            jobs=Jobs(state, at_once=config.jobs, tells=not config.padding),
            metrics=Metrics(),
            rate=_rate(config, state, "requests", config.rate, "at most {} requests of one person a minute"),
            failures=_rate(config, state, "failures", config.failures, WRONG),
            curation=Curation(config, datasets, Journal(state)),
            requests=Requests(state),
            checks=Checks(state),
            oidc=provider,
            signer=signer,
            surveys=surveys,
        )

    def close(self) -> None:
        """Wait for what is running, as long as the config says, and let go of everything."""
        self.jobs.close(self.config.grace)
        self.checks.close()
        self.surveys.close()
        self.datasets.close()
        self.pool.close()
        self.running.close()
        self.state.close()


WRONG = "at most {} wrong tokens or links a minute from one address; right ones are let in at any time"


def _rate(config: Config, state: State, what: str, per_minute: int, told: str) -> RateLimit:
    """A limit of the whole service: in memory where it is one process, else in the database that all share."""
    if config.workers > 1 or config.database:
        return SharedRateLimit(state, what, per_minute, told=told)
    return RateLimit(per_minute, told=told)


def _signer(config: Config) -> Signer | None:
    """The key that was set, which must be there; or our own, made at the first start; or none."""
    path = config.signs_with
    if path is None:
        return None
    return Signer(path) if config.signing_key is not None else Signer.at(path)


def _surveys(config: Config) -> Surveys:
    """The surveys, with a store of their own beside the service's: reports have no business near people."""
    # no address of a respondent is written down, so this limit is not counted in a database but shared out
    rate = max(1, config.survey_rate // config.workers)
    folder, body = config.survey_folder, config.body
    return Surveys(config.surveys, config.survey_store, rate=rate, body=body, folder=folder)
