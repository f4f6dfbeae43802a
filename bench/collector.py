"""Surveys at both ends: reports a second that a device makes in Node.js, and submissions a second that are kept.

The collector runs as a process of its own with its usual settings, SQLite with `synchronous = FULL`, and is spoken to
over loopback by another process. Beside it: the same rows, one transaction each, which is what it would be without
heaps. At the end every acknowledged submission is looked for.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep

from rich.table import Table

import tacit.survey
from tacit.server.survey.store import Delivery, ReportStore
from tacit.survey.device import Device, Submission
from tacit.survey.plan import DEMO, simulate
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey, parse
from tacit.survey.survey_reports import tally_files, write_reports

__all__ = ["COUNT", "run"]

MODULE = Path(tacit.survey.__file__).parent / "static" / "tacit-survey.js"
MADE, KEPT, ALONE = 1_000_000, 20_000, 200
CONNECTIONS = 128
WORKERS = 2  # of the second collector; they share one database
SLICE, FILES = 500_000, 4  # respondents in each of so many files, tallied in a batch
MANY = 10**9
DEVICE, COLLECTOR = 1_000_000, 2_000  # targets, a second
COUNT = 5
GOOD = {"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}
SCRIPT = """
import {{randomise}} from {module};
const questions = {questions};
for (const [question, answers] of questions) {{
  let best = 0;
  for (let round = 0; round < 3; round++) {{
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < {count}; i++) sum += randomise(question, i % answers)[0];
    best = Math.max(best, {count} / (performance.now() - start) * 1000);
  }}
  console.log(question.protocol, best);
}}
"""


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    tick("a device in Node.js")
    made = devices()
    survey = parse(DEMO)
    sent = [Device(survey).answer(GOOD) for _ in range(KEPT)]
    with TemporaryDirectory() as name:
        tick(f"{KEPT:,} submissions")
        together = collected(Path(name), survey, sent)
        tick(f"{WORKERS} workers")
        (Path(name) / "workers").mkdir()
        shared = collected(Path(name) / "workers", survey, sent, workers=WORKERS)
        tick("one by one")
        alone = one_by_one(Path(name), survey, sent[:ALONE])
        tick("files")
        batches = tallied(Path(name), survey)
    table = Table(title=f"Surveys: {MADE:,} reports made, {KEPT:,} submissions of 4 reports kept, a second")
    for column in ("what", "tacit", "beside", "ratio", "target", "met"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for kind, rate in made.items():
        met = rate >= DEVICE
        table.add_row(
            f"{kind}, 1024 answers, in Node.js", f"{rate:,.0f}", "", "", f"{DEVICE:,}", "yes" if met else "NO"
        )
    row = (f"{together:,.0f}", f"{alone:,.0f}", f"{together / alone:,.0f}×", f"{COLLECTOR:,}")
    table.add_row("kept on disk, over loopback", *row, "yes" if together >= COLLECTOR else "NO")
    beside = (f"{shared:,.0f}", f"{together:,.0f}", f"{shared / together:.2f}×", "", "")
    table.add_row(f"the same by {WORKERS} workers, beside one", *beside)
    table.add_row("respondents tallied from files, 4 reports each", f"{batches:,.0f}", "", "", "", "")
    table.caption = f"beside: the same rows, a transaction for each submission; {MANY:,} respondents in files would "
    table.caption += f"take {MANY / batches / 60:,.0f} minutes of processor time"
    return [table], bool(made) and min(made.values()) >= DEVICE and together >= COLLECTOR


def devices() -> dict[str, float]:
    """Reports a second by protocol; empty where there is no Node.js."""
    from tacit.survey import DirectResponse, HadamardResponse, LocalHashing

    node = shutil.which("node")
    if node is None:
        return {}
    kinds: tuple[Protocol, ...] = tuple(
        kind(epsilon=Fraction(1), categories=1024) for kind in (DirectResponse, HadamardResponse, LocalHashing)
    )
    questions = json.dumps([[protocol.terms(), 1024] for protocol in kinds])
    script = SCRIPT.format(module=json.dumps(MODULE.as_uri()), questions=questions, count=MADE)
    done = subprocess.run([node, "--input-type=module", "--eval", script], capture_output=True, text=True, check=True)
    return {kind: float(rate) for kind, rate in (line.split() for line in done.stdout.splitlines())}


def tallied(folder: Path, survey: Survey) -> float:
    """Respondents a second of processor time, whose reports are counted from files by DuckDB."""
    paths = [folder / f"{number}.parquet" for number in range(FILES)]
    for path in paths:
        write_reports(path, survey, simulate(survey, answers=SLICE).reports)
    start = process_time()
    found = tally_files(survey, paths)
    seconds = process_time() - start
    if any(tally.reports != FILES * SLICE for tally in found.values()):
        raise RuntimeError("reports were lost")
    return FILES * SLICE / seconds


def collected(folder: Path, survey: Survey, sent: list[Submission], workers: int = 1) -> float:
    """Submissions a second that a collector of its own acknowledges; all of them are on disk afterwards, and once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "survey.toml").write_text(DEMO, encoding="utf-8")
    settings = {"SURVEYS": folder / "survey.toml", "STATE": folder / "state", "LISTEN": f"127.0.0.1:{port}"}
    settings |= {"SURVEY_RATE": 10**9, "CONNECTIONS": 10 * CONNECTIONS, "WORKERS": workers}
    environment = os.environ | {f"TACIT_SERVER_{name}": str(value) for name, value in settings.items()}
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "tacit", "serve"]
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=quiet, stderr=quiet) as process:
        try:
            for _ in range(600):
                with socket.socket() as door:
                    if door.connect_ex(("127.0.0.1", port)) == 0:
                        break
                sleep(0.1)
            rate = asyncio.run(_load(port, survey, sent))
        finally:
            process.terminate()
    store = ReportStore(folder / "state" / "surveys.db")
    known = store.add(survey, [Delivery(each.id, each.reports) for each in sent])
    kept = store.size(survey)
    store.close()
    if any(known) or kept != len(sent):
        raise RuntimeError(f"{known.count(True)} acknowledged submissions were lost, or some were counted twice")
    return rate


async def _load(port: int, survey: Survey, sent: list[Submission]) -> float:
    head = f"POST /v1/surveys/{survey.name}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    waiting = []
    for each in sent:
        body = each.json().encode()
        waiting.append(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    async def respondents() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            writer.write(waiting.pop())
            top = await reader.readuntil(b"\r\n\r\n")
            length = int(top.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            answer = await reader.readexactly(length)
            if json.loads(answer) != {"counted": True}:
                raise RuntimeError(answer.decode())
        writer.close()

    start = perf_counter()
    await asyncio.gather(*(respondents() for _ in range(CONNECTIONS)))
    return len(sent) / (perf_counter() - start)


def one_by_one(folder: Path, survey: Survey, sent: list[Submission]) -> float:
    """Submissions a second with a transaction for each."""
    store = ReportStore(folder / "alone.db")
    store.enter(survey)
    start = perf_counter()
    for each in sent:
        store.add(survey, [Delivery(each.id, each.reports)])
    rate = len(sent) / (perf_counter() - start)
    store.close()
    return rate
