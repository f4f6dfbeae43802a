"""`tacit ask` and `tacit quote`: a question in SQL, about a dataset with a policy or about one file."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text

from tacit.base import InputError, TacitError, exact
from tacit.cli.options import USUAL, Json, Picture, argument, option
from tacit.cli.screen import announce, bar, check_outputs, print_json
from tacit.desk.show import spelled
from tacit.engine import Limits
from tacit.engine.watch import size
from tacit.ledger.checkpoint import Signer
from tacit.policy import Currency
from tacit.session import Session, TableRelease
from tacit.session.single import OneTable

__all__ = ["ask", "quote"]

ANALYST = "TACIT_ANALYST"

Sql = Annotated[str, argument("SQL", "The question; - reads it from standard input.")]
PolicyFile = Annotated[Path | None, option("--policy", "FILE", "The dataset's policy. Default: tacit.toml.")]
AnalystName = Annotated[str | None, option("--analyst", "NAME", f"Who asks. Default: ${ANALYST}, or who is logged in.")]
Epsilon = Annotated[str | None, option("--epsilon", "NUMBER", "What to spend, as ε.")]
Rho = Annotated[str | None, option("--rho", "NUMBER", "What to spend, as ρ.")]
Error = Annotated[str | None, option("--error", "NUMBER", "The error to reach: the price is found.")]
Confidence = Annotated[str, option("--confidence", "NUMBER", "How likely intervals hold.")]
Data = Annotated[Path | None, option("--data", "FILE", "Ask one Parquet or CSV file, without a policy.")]
Unit = Annotated[str | None, option("--unit", "COLUMN", 'With --data: whose row it is, or "each row".')]
Bounds = Annotated[list[str] | None, option("--bounds", "COLUMN=LOW:HIGH", "With --data: a column's range.")]
Keys = Annotated[list[str] | None, option("--keys", "COLUMN=A,B,…", "With --data: a column's possible values.")]
Budget = Annotated[str | None, option("--budget", "NUMBER", "With --data: the most that is ever spent. Default: 10.")]
ClipRows = Annotated[
    str | None, option("--clip-rows", "NUMBER", "With --data: rows of one unit that count. Default: private.")
]
ChargeKey = Annotated[str | None, option("--key", "NAME", "Names the charge: the same name never pays twice.")]
Seconds = Annotated[float | None, option("--seconds", "NUMBER", "The time it may take. Default: 600.")]
Memory = Annotated[str | None, option("--memory", "SIZE", "The memory it may take, as in 2GB. Default: half of it.")]
Disk = Annotated[str | None, option("--disk", "SIZE", "Temporary files it may write. Default: up to 8GB.")]
Csv = Annotated[Path | None, option("--csv", "FILE", "Also write the answer there, with intervals.")]
Parquet = Annotated[Path | None, option("--parquet", "FILE", "The same as Parquet.")]
CertificateAt = Annotated[
    Path | None, option("--certificate", "FILE", "How it was made, for others: .json to check, .html to read.")
]
SignWith = Annotated[
    Path | None, option("--sign", "KEY", "Sign the certificate with this key of `tacit ledger key new`.")
]


def ask(
    sql: Sql,
    policy: PolicyFile = None,
    analyst: AnalystName = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    error: Error = None,
    confidence: Confidence = "0.95",
    data: Data = None,
    unit: Unit = None,
    bounds: Bounds = None,
    keys: Keys = None,
    clip_rows: ClipRows = None,
    budget: Budget = None,
    key: ChargeKey = None,
    as_json: Json = False,
    csv: Csv = None,
    parquet: Parquet = None,
    plot: Picture = None,
    certificate: CertificateAt = None,
    sign: SignWith = None,
    seconds: Seconds = None,
    memory: Memory = None,
    disk: Disk = None,
) -> None:
    """Ask in SQL; the answer has error bars, and is paid for before anything is looked at.

    Example: tacit ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
    """
    _writable(csv, parquet, certificate)
    check_outputs(plot=plot)
    if sign is not None and certificate is None:
        raise InputError("--sign: there is nothing to sign: say where with --certificate FILE.json")
    signer, asked = None if sign is None else Signer(sign), _text(sql)
    desk = _Desk(policy, analyst, data, unit, bounds or [], keys or [], clip_rows, budget, rho)
    with desk.open(_limits(seconds, memory, disk)) as session:
        found = session.ask(asked, epsilon=epsilon, rho=rho, error=error, confidence=confidence, key=key)
        left = session.left()
        if certificate is not None:
            session.certificate(found, key=signer, sql=asked).save(certificate)
    console = Console()
    if as_json:
        print_json(console, {**found.json(), "cached": found.cached, "left": left.json()})
    else:
        console.print(found)
        paid = "answered before: free" if found.cached else f"cost {_cost(found, left)}"
        console.print(Text.assemble(("• ", "cyan"), f"{paid}; {spelled(left)} is left"), soft_wrap=True)
    _write(found, csv, parquet)
    if plot is not None:
        found.plot(plot)
        announce(console, "picture", plot, quiet=as_json)


def quote(
    sql: Sql,
    policy: PolicyFile = None,
    analyst: AnalystName = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    error: Error = None,
    confidence: Confidence = "0.95",
    data: Data = None,
    unit: Unit = None,
    bounds: Bounds = None,
    keys: Keys = None,
    clip_rows: ClipRows = None,
    budget: Budget = None,
    as_json: Json = False,
) -> None:
    """What a question would cost and how well it would be answered. Free: nothing is looked at.

    Example: tacit quote "SELECT COUNT(*) FROM visits" --error 50
    """
    desk = _Desk(policy, analyst, data, unit, bounds or [], keys or [], clip_rows, budget, rho)
    with desk.open() as session:
        found = session.quote(_text(sql), epsilon=epsilon, rho=rho, error=error, confidence=confidence)
    if as_json:
        print_json(Console(), found.json())
    else:
        Console().print(found)


def _limits(seconds: float | None, memory: str | None, disk: str | None) -> Limits:
    usual = Limits()
    return Limits(
        seconds=usual.seconds if seconds is None else seconds,
        memory=None if memory is None else size(memory, "--memory"),
        disk=None if disk is None else size(disk, "--disk"),
    )


@dataclass(frozen=True)
class _Desk:
    """Where the question is put: a policy and an analyst, or one file."""

    policy: Path | None
    analyst: str | None
    data: Path | None
    unit: str | None
    bounds: list[str]
    keys: list[str]
    clip_rows: str | None
    budget: str | None
    rho: str | None

    @contextmanager
    def open(self, limits: Limits | None = None) -> Iterator[Session]:
        """A session, with a bar for whoever watches a long query."""
        with _bar() as progress:
            if self.data is None:
                with Session(self._policy(), self._analyst(), limits=limits, progress=progress) as session:
                    yield session
            else:
                with self._one(self.data).session(progress, limits) as session:
                    yield session

    def _policy(self) -> Path:
        given = {"--unit": self.unit, "--bounds": self.bounds, "--keys": self.keys}
        given |= {"--clip-rows": self.clip_rows, "--budget": self.budget}
        for name, value in given.items():
            if value:
                raise InputError(f"{name} goes with --data; a policy declares these things itself")
        if self.policy is None and not USUAL.exists():
            raise InputError(
                "ask what? There is no tacit.toml here: name a policy with --policy, write one with `tacit init DATA`, "
                "or ask one file with --data FILE --unit COLUMN"
            )
        return self.policy or USUAL

    def _analyst(self) -> str:
        if self.analyst is not None:
            return self.analyst
        if os.environ.get(ANALYST):
            return os.environ[ANALYST]
        try:
            return getuser()
        except (KeyError, OSError, ImportError):
            raise InputError(f"who asks? Say --analyst NAME, or set {ANALYST}") from None

    def _one(self, data: Path) -> OneTable:
        for name, value in {"--policy": self.policy, "--analyst": self.analyst}.items():
            if value is not None:
                raise InputError(f"{name} and --data exclude each other: a file without a policy has one owner")
        if self.unit is None:
            raise InputError('--data needs --unit: the column that says whose row it is, or --unit "each row"')
        more: dict[str, Any] = {"clip_rows": self.clip_rows, "budget": self.budget}
        return OneTable(
            data=data,
            unit=self.unit,
            bounds=dict(_range(text) for text in self.bounds),
            keys={name: values.split(",") for name, values in (_column_value(text, "--keys") for text in self.keys)},
            currency=Currency.EPSILON if self.rho is None else Currency.RHO,
            spelled=True,
            **{name: value for name, value in more.items() if value is not None},
        )


def _column_value(text: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not (name and found and value):
        raise InputError(f'{option} "{text}" is not COLUMN=…: write {option} cost=0:5000 or {option} ward=east,west')
    return name, value


def _range(text: str) -> tuple[str, tuple[Any, Any]]:
    name, value = _column_value(text, "--bounds")
    middle = len(value) // 2 if "T" in value else value.find(":")  # two timestamps have colons of their own
    low, colon, high = value[:middle], value[middle : middle + 1], value[middle + 1 :]
    if colon != ":":
        raise InputError(f'--bounds "{text}" is not COLUMN=LOW:HIGH: write --bounds {name}=0:5000')
    return name, (_end(low, name), _end(high, name))


def _end(text: str, name: str) -> Any:
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text) if "-" in text[1:] else exact(text, f"--bounds {name}", toward="decimal")
        except ValueError as error:
            if isinstance(error, TacitError):
                raise
    raise InputError(f'--bounds {name}: "{text}" is not a number or a date')


def _text(sql: str) -> str:
    return sys.stdin.read() if sql == "-" else sql


def _cost(found: TableRelease, left: Any) -> str:
    """What the answer cost, in the currency that what is left is counted in."""
    name = "epsilon" if left.epsilon is not None else "rho"
    cost = found.facts["cost"]
    delta = "" if float(cost["delta"]) == 0 else f", delta {float(cost['delta']):.3g}"
    return f"{name} {float(cost[name]):.4g}{delta}"


def _writable(csv: Path | None, parquet: Path | None, certificate: Path | None) -> None:
    """Refuse files that cannot be written before anything is spent."""
    for name, path in (("--csv", csv), ("--parquet", parquet), ("--certificate", certificate)):
        if path is not None and not path.parent.is_dir():
            raise InputError(f'{name}: there is no folder "{path.parent}" to write {path.name} in')
    if certificate is not None and certificate.suffix not in (".json", ".html"):
        raise InputError(f"--certificate: {certificate.name} must end in .json, to be checked, or in .html, to be read")


def _write(found: TableRelease, csv: Path | None, parquet: Path | None) -> None:
    try:
        if csv is not None:
            found.to_csv(csv)
        if parquet is not None:
            found.to_parquet(parquet)
    except OSError as error:
        raise InputError(
            f"the answer was released but cannot be written ({error.strerror}): ask again, free while the data "
            "are known to be the same"
        ) from None


@contextmanager
def _bar() -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error for what takes longer, if somebody sees it; an engine that tells nothing moves it too."""
    if not Console(stderr=True).is_terminal:
        yield None
        return
    with bar("asking") as tell:
        yield tell
