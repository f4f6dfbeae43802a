"""A market as a kind of job: closing it runs it, charged once to the people of its table."""

from tacit.base import InputError
from tacit.desk import Expected, Job, Release, Run, Spender
from tacit.desk.kind import JobKind, JobSettings, job_setting
from tacit.desk.release import release_from_bytes, release_of
from tacit.market.book import MarketBook
from tacit.market.sale import charged_program
from tacit.policy.declaration import declared
from tacit.policy.kind import text
from tacit.program import Program

__all__ = ["MARKET", "MarketJob", "MarketSettings"]


@declared
class MarketSettings(JobSettings):
    """Which market is closed and run."""

    market: str = job_setting("The name of a market that you opened.", text, example='"seats"')

    @property
    def title(self) -> str:
        return self.market


class MarketJob(Job):
    """One run of a market whose reports are sealed in the book of its policy."""

    def __init__(self, settings: MarketSettings, spender: Spender) -> None:
        policy = spender.policy
        self._book, self._unit = MarketBook.of(policy), policy.privacy.unit
        self._market = self._book.find(settings.market)
        if getattr(spender, "analyst", None) != self._market.owner:
            raise InputError(f'market "{settings.market}" was opened by somebody else, who alone may close and run it')
        self._plan = self._market.plan(self._unit)
        self._program = charged_program(self._plan, policy.privacy, self._market.rules.table, self._market.sale)

    @property
    def program(self) -> Program:
        return self._program

    def run(self, run: Run) -> bytes:
        reports = self._plan.read(self._book.close(self._market, unit=self._unit))
        outcome = self._plan.play(reports, run.progress)
        return release_of(outcome, kind="choice", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        release = release_from_bytes(kept, cached=cached)
        self._book.publish(self._market, release.value())
        return release

    @property
    def expected(self) -> tuple[Expected, ...]:
        noises = "; ".join(step.mechanism.words("agent") for step in self._program.steps if hasattr(step, "mechanism"))
        return (Expected(column=self._market.rules.rule.value, error=None, words=noises),)

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"for {self._market.agents:,} agents; {self._plan.truth}",
            "running it closes it: no report is taken after",
        )


MARKET = JobKind(
    name="market",
    title="Run a market",
    words="Close a market and draw its outcome from the sealed reports: a price, a choice, who gets what, or routes.",
    settings=MarketSettings,
    job_of=MarketJob,
    makes="choice",
)
