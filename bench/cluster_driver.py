"""What the benchmark of a Spark cluster asks there: a process of its own, which prints a line of JSON for each thing.

Its words are what to do (measure, faults or speculate), the master, three folders, and the processes of the workers.
Processor time is that of this process, of its Java and of the executors, from /proc: garbage collection, compiling and
serialising are in it.
"""

import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from typing import Any

from bench.sql_data import DAYS, REGION_NAMES
from bench.sql_tasks import TASKS, policy
from tacit.base import EngineError, Relation
from tacit.base.exact import opened
from tacit.census.measure import bounded_census
from tacit.engine import Limits, Stopped, Watch
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.spark import SparkEngine
from tacit.ledger import Ledger
from tacit.plan.bounded import Bounded
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.session.session import Session
from tacit.survey.plan import DEMO
from tacit.survey.survey import parse
from tacit.survey.survey_reports import tally_files
from tacit.synth.columns import ColumnChoices, open_columns
from tacit.synth.counts import ONE, Reach, marginal_question

ROUNDS = int(os.environ.get("TACIT_BENCH_ROUNDS", "2"))
SPARK = (  # the same without privacy and without a bound, as Spark would be asked
    "SELECT region, COUNT(*), SUM(amount) FROM {data} GROUP BY region",
    "SELECT region, day, COUNT(*) FROM {data} GROUP BY region, day",
    "SELECT region, COUNT(*), SUM(amount), AVG(amount) FROM {data} GROUP BY region",
    "SELECT product, COUNT(DISTINCT person) FROM {data} GROUP BY product",
    "SELECT region, percentile(amount, array(0.25, 0.5, 0.75)) FROM {data} GROUP BY region",
)
PER_UNIT = (  # the same by unit first, where the unit counts: what any bound has to know
    None,
    None,
    "SELECT region, SUM(n), SUM(s), SUM(s) / SUM(n) FROM (SELECT person, region, COUNT(*) n, SUM(amount) s FROM {data} "
    "GROUP BY person, region) GROUP BY region",
    SPARK[3],  # it tells persons apart already
    None,
)
BINS = "floor(product / 50) p, floor(least(amount, 500) / 25) a"
MARGINAL = f"SELECT region, p, a, COUNT(*) FROM (SELECT region, {BINS} FROM {{data}}) GROUP BY region, p, a"
PER_UNIT_MARGINAL = (  # Spark adds counts of counts in one step, so rows of a person count up to a number
    "SELECT region, p, a, SUM(least(n, 5)) FROM (SELECT person, region, p, a, COUNT(*) n FROM "
    f"(SELECT person, region, {BINS} FROM {{data}}) GROUP BY person, region, p, a) GROUP BY region, p, a"
)


SLOW = 6.0  # seconds that an executor is stopped


def say(what: str, **found: Any) -> None:
    print(json.dumps({"what": what, **found}), flush=True)


def processor(pids: Sequence[int]) -> float:
    """Seconds of these processes and all under them, ended ones included."""
    parents, spent = {}, {}
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            parents[int(place.name)] = int(fields[1])
            spent[int(place.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine, new = set(pids), set(pids)
    while new := {pid for pid, parent in parents.items() if parent in new} - mine:
        mine |= new
    return sum(spent.get(pid, 0.0) for pid in mine)


class Meter:
    """Processor time and bytes that were shuffled, from one moment to another."""

    def __init__(self, session: Any, workers: Sequence[int]) -> None:
        self._session, self._pids = session, [os.getpid(), *workers]

    def _shuffled(self) -> int:
        found = self._session.sparkContext._jsc.sc().statusStore().executorList(False)
        return sum(int(found.apply(place).totalShuffleWrite()) for place in range(found.size()))

    def of(self, work: Callable[[], object]) -> dict[str, float]:
        cpu, wall, bytes_ = processor(self._pids), perf_counter(), self._shuffled()
        work()
        wall = perf_counter() - wall
        sleep(0.5)  # the last words of executors
        return {"cpu": processor(self._pids) - cpu, "wall": wall, "shuffled": self._shuffled() - bytes_}

    def beside(self, **ways: Callable[[], object]) -> dict[str, dict[str, float]]:
        """Each way in turn, several times over; the least of each."""
        best: dict[str, dict[str, float]] = {}
        for turn in range(ROUNDS + 1):
            for name, work in ways.items():
                found = self.of(work)
                if turn:  # the first time Java compiles
                    best[name] = min(best.get(name, found), found, key=lambda each: each["cpu"])
        return best


def integers(engine: Any, parts: Sequence[Bounded]) -> str:
    """A hash of all true whole numbers, whatever their order."""
    seen = sha256()
    for part in parts:
        result = opened(engine.run(part))
        for name, table in sorted({"": result.groups, **result.ranks}.items()):
            columns = [[str(value) for value in column] for column in (*table.keys, *table.columns.values())]
            seen.update(repr((name, sorted(zip(*columns, strict=True)))).encode())
        if result.presence is not None:
            seen.update(repr(sorted(map(int, result.presence))).encode())
    return seen.hexdigest()


def scan(unit: str | None) -> Scan:
    facts = {
        "region": Facts(type=Type.TEXT, domain=REGION_NAMES, nullable=False),
        "day": Facts(type=Type.INTEGER, domain=tuple(range(DAYS)), nullable=False),
        "product": Facts(type=Type.INTEGER, low=0, high=999, step=Fraction(1)),
        "amount": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(500)),
    }
    columns = [Source(name=name, column=name, facts=each) for name, each in facts.items()]
    if unit is not None:
        columns.append(Source(name=unit, column=unit, facts=Facts(type=Type.INTEGER)))
    unit_type = None if unit is None else Type.INTEGER
    return Scan(table="sales", columns=tuple(columns), is_private=True, unit_name=unit, unit_type=unit_type)


def counting() -> dict[str, tuple[Bounded, str, str | None]]:
    """A census's question and one of a synthetic table, with plain Spark's words for them, and those by unit."""
    census = bounded_census(scan(None), "region", ["day"], 1)
    source = scan("person")
    domain, _ = open_columns(
        source, ["region", "product", "amount"], ColumnChoices(bins={"product": 20, "amount": 20}), selects=False
    )
    marginal = marginal_question(source, domain, (0, 1, 2), Reach(one=ONE, relation=Relation.ADD_REMOVE))
    return {
        "census: region × day": (census, SPARK[1], None),
        "synthetic table: 3-way marginal": (marginal, MARGINAL, PER_UNIT_MARGINAL),
    }


class Questions:
    """Sessions over a folder, with ledgers on disk: one for each way of counting people, since data has one unit."""

    def __init__(self, spark: Any, data: Path, folder: Path, limits: Limits | None = None) -> None:
        self.engine = SparkEngine(spark, {"sales": data, "each_sale": data}, limits=limits)
        self._sessions = {}
        for name in ("sales", "each_sale"):
            ledger = Ledger.open(folder / name)
            self._sessions[name] = Session(
                policy(data, folder / name, only=name), "ana", ledger=ledger, engine=self.engine
            )
        self._prices = iter(range(10**6))

    def of(self, question: str) -> Session:
        return self._sessions["each_sale" if "each_sale" in question else "sales"]

    def ask(self, question: str) -> object:
        return self.of(question).ask(question, rho=f"0.05{next(self._prices):06}")

    def parts(self, question: str) -> Sequence[Bounded]:
        return self.of(question).job(question, rho="0.05").priced.parts

    def charges(self, question: str) -> int:
        ledger = self.of(question).ledger
        return sum(entry.kind == "charge" for people in ledger.people() for entry in ledger.log(people))


def measure(spark: Any, data: Path, skewed: Path, reports: Path, workers: Sequence[int]) -> None:
    meter = Meter(spark, workers)

    def plainly(sql: str, place: Path) -> Callable[[], object]:
        return lambda: spark.sql(sql.format(data=f"parquet.`{place}`")).collect()

    def ways(plain: str, unit: str | None, place: Path) -> dict[str, Callable[[], object]]:
        said = {"spark": plain} if unit is None else {"spark": plain, "by unit": unit}
        return {name: plainly(sql, place) for name, sql in said.items()}

    with TemporaryDirectory() as folder:
        for what, place in (("", data), ("skew: ", skewed)):
            (Path(folder) / (what or "even")).mkdir()
            questions = Questions(spark, place, Path(folder) / (what or "even"))
            local = DuckDBEngine({"sales": place, "each_sale": place})
            for task, plain, unit in zip(TASKS, SPARK, PER_UNIT, strict=True):
                if what and task is not TASKS[2]:
                    continue
                found = meter.beside(**ways(plain, unit, place), tacit=partial(questions.ask, task.question))
                parts = questions.parts(task.question)
                same = integers(questions.engine, parts) == integers(local, parts)
                say(what + task.name, ways=found, same=same)
            for name, (question, plain, unit) in counting().items() if not what else ():
                found = meter.beside(**ways(plain, unit, place), tacit=partial(questions.engine.run, question))
                same = integers(questions.engine, [question]) == integers(local, [question])
                say(name, ways=found, same=same)
            local.close()
    survey, paths = parse(DEMO), sorted(reports.glob("*.parquet"))

    def counted() -> None:
        for name in survey.questions:
            spark.read.parquet(str(reports)).groupBy(f"`{name}`").count().collect()

    found = meter.beside(spark=counted, tacit=lambda: tally_files(survey, paths, engine="spark", spark=spark))
    same = tally_files(survey, paths, engine="spark", spark=spark) == tally_files(survey, paths)
    say("survey: all tallies", ways=found, same=same)


def speculate(spark: Any, data: Path, skewed: Path, reports: Path, workers: Sequence[int]) -> None:
    """Tasks that are slower than others are started twice: an executor is stopped for a while once this says so."""
    with TemporaryDirectory() as folder:
        questions = Questions(spark, skewed, Path(folder))
        task = TASKS[2]
        parts = questions.parts(task.question)
        local = DuckDBEngine({"sales": skewed, "each_sale": skewed})
        right = integers(local, parts)
        same = [integers(questions.engine, parts) == right]  # and Java has compiled
        before = questions.charges(task.question)
        for _ in range(3):
            say("slow now")
            same.append(integers(questions.engine, parts) == right)
        say("slow now")
        questions.of(task.question).ask(task.question, rho="0.09", idempotency_key="k")
        charges = questions.charges(task.question) - before
        sleep(SLOW)
        found = spark.sparkContext._jsc.sc().statusStore()
        gateway = spark.sparkContext._gateway
        lists = gateway.jvm.java.util.ArrayList
        stages = found.stageList(lists(), False, False, gateway.new_array(gateway.jvm.double, 0), lists())
        killed = sum(int(stages.apply(place).numKilledTasks()) for place in range(stages.size()))
        say("speculative retries", same=all(same), killed=killed, charges=charges)


def faults(spark: Any, data: Path, skewed: Path, reports: Path, workers: Sequence[int]) -> None:
    """Time, a stop, and a worker that is killed from outside once this says so."""
    tracker = spark.sparkContext.statusTracker()

    def over() -> float:
        start = monotonic()
        while tracker.getActiveStageIds():
            sleep(0.01)
        return monotonic() - start

    with TemporaryDirectory() as folder:
        for name in ("warm", "short"):
            (Path(folder) / name).mkdir()
        Questions(spark, data, Path(folder) / "warm").ask(TASKS[4].question)  # before, Java takes longer than the limit
        short = Questions(spark, data, Path(folder) / "short", Limits(seconds=1.0))
        start = perf_counter()
        try:
            short.ask(TASKS[4].question)
            ended = "answered"
        except EngineError:
            ended = "failed"
        say("limit of 1 s", ended=ended, seconds=perf_counter() - start, jobs_end=over())
        questions = Questions(spark, data, Path(folder))
        watch, start = Watch(), perf_counter()
        threading.Timer(1.0, watch.stop).start()
        try:
            questions.of(TASKS[4].question).ask(TASKS[4].question, rho="0.07", watch=watch)
            ended = "answered"
        except Stopped:
            ended = "stopped"
        say("stop after 1 s", ended=ended, seconds=perf_counter() - start, jobs_end=over())
        task = TASKS[2]
        parts = questions.parts(task.question)
        local = DuckDBEngine({"sales": data, "each_sale": data})
        right = integers(local, parts)
        before = questions.charges(task.question)
        say("kill now")
        tries, answers = [], []
        for _ in range(2):  # the same key twice: the second time from the store
            for _ in range(5):
                try:
                    answers.append(
                        questions.of(task.question).ask(task.question, rho="0.09", idempotency_key="k").table
                    )
                    tries.append("answered")
                    break
                except EngineError:
                    tries.append("failed")
        found = "no answer"
        with suppress(EngineError):
            found = "right" if integers(questions.engine, parts) == right else "WRONG"
        charges = questions.charges(task.question) - before
        alike = len({str(each.to_pydict()) for each in answers}) <= 1
        say("a worker was killed", tries=tries, integers=found, charges=charges, alike=alike)


def main() -> None:
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    mode, master, *places, pids = sys.argv[1:]
    building = SparkSession.builder.master(master).appName("bench").config("spark.ui.enabled", "false")
    building = building.config("spark.sql.shuffle.partitions", "8").config("spark.scheduler.mode", "FAIR")
    if mode == "speculate":
        for name, value in {"": "true", ".interval": "20ms", ".multiplier": "1.01", ".quantile": "0.2"}.items():
            building = building.config(f"spark.speculation{name}", value)
        building = building.config("spark.speculation.minTaskRuntime", "1ms")
    session = building.getOrCreate()
    work = {"measure": measure, "faults": faults, "speculate": speculate}[mode]
    data, skewed, reports = map(Path, places)
    work(session, data, skewed, reports, [int(pid) for pid in pids.split(",")])
    session.stop()


if __name__ == "__main__":
    main()
