"""Everything that one worker of the service holds open."""

from dataclasses import dataclass

from tacit.server.config import Config
from tacit.server.desk import Desk
from tacit.server.jobs import Jobs
from tacit.server.limits import Rate
from tacit.server.metrics import Metrics
from tacit.server.people import People
from tacit.server.shelf import Shelf
from tacit.server.state import State

__all__ = ["Service"]


@dataclass(frozen=True, kw_only=True)
class Service:
    """Opened once, used by every request, closed at the end."""

    config: Config
    state: State
    people: People
    desk: Desk
    shelf: Shelf
    jobs: Jobs
    metrics: Metrics
    rate: Rate
    failures: Rate

    @classmethod
    def open(cls, config: Config) -> "Service":
        state = State(config.store)
        try:
            desk = Desk(config.datasets, padding=config.padding)
        except BaseException:
            state.close()
            raise
        return cls(
            config=config,
            state=state,
            people=People(state),
            desk=desk,
            shelf=Shelf(state),
            jobs=Jobs(state, at_once=config.jobs, tells=not config.padding),
            metrics=Metrics(),
            rate=Rate(config.rate),
            failures=Rate(config.failures),
        )

    def close(self) -> None:
        """Wait for what is running, as long as the config says, and let go of everything."""
        self.jobs.close(self.config.grace)
        self.desk.close()
        self.state.close()
