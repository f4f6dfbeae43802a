"""`tacit ask` and `tacit quote`: a question in SQL, about a dataset with a policy or about one file."""

import re
import sys
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

from tacit.base import InputError, exact
from tacit.cli.options import ANALYST, USUAL, Json, Picture, analyst_name, argument, option
from tacit.cli.screen import check_outputs, output, remark, write_out
from tacit.desk.show import spelled
from tacit.engine import Limits
from tacit.engine.watch import size
from tacit.ledger.checkpoint import Signer
from tacit.policy import Currency
from tacit.session import Session, TableRelease
from tacit.session.single import OneTable
from tacit.sql.parse import DIALECTS

__all__ = ["ask", "explain_sql", "quote"]

EXPLAIN = re.compile(r"\s*explain\s+", re.I)

Sql = Annotated[str, argument("SQL", "The question; - reads it from standard input.")]


@dataclass(frozen=True, kw_only=True)
class OfferOptions:
    """What is offered for an answer."""

    epsilon: Annotated[str | None, option("NUMBER", "What to spend, as ε.")] = None
    rho: Annotated[str | None, option("NUMBER", "What to spend, as ρ.")] = None
    mu_squared: Annotated[str | None, option("NUMBER", "What to spend, as μ².")] = None
    error: Annotated[str | None, option("NUMBER", "The error to reach: the price is found.")] = None
    confidence: Annotated[str, option("NUMBER", "How likely intervals hold.")] = "0.95"


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Where the question is put: a policy and an analyst, or one file."""

    policy: Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")] = None
    analyst: Annotated[str | None, option("NAME", f"Who asks. Default: ${ANALYST}, or who is logged in.")] = None
    data: Annotated[Path | None, option("FILE", "Ask one Parquet or CSV file, without a policy.")] = None
    unit_column: Annotated[str | None, option("COLUMN", 'With --data: whose row it is, or "each row".')] = None
    bounds: Annotated[list[str] | None, option("COLUMN=LOW:HIGH", "With --data: a column's range.")] = None
    group_keys: Annotated[list[str] | None, option("COLUMN=A,B,…", "With --data: a column's possible values.")] = None
    clip_rows: Annotated[
        str | None, option("NUMBER", "With --data: rows of one unit that count. Default: private.")
    ] = None
    budget: Annotated[str | None, option("NUMBER", "With --data: the most that is ever spent. Default: 10.")] = None

    def open(self, offer: OfferOptions, limits: Limits | None = None) -> AbstractContextManager[Session]:
        """A session, with a bar for whoever watches a long query."""
        if self.data is None:
            return Session(self._policy(), self._analyst(), limits=limits, progress=True)
        return self._one(self.data, offer).session(limits=limits)

    def _policy(self) -> Path:
        for name in ("unit_column", "bounds", "group_keys", "clip_rows", "budget"):
            if getattr(self, name):
                raise InputError(f"--{name.replace('_', '-')} goes with --data; a policy declares these things itself")
        if self.policy is None and not USUAL.exists():
            raise InputError(
                "ask what? There is no tacit.toml here: name a policy with --policy, write one with `tacit init DATA`, "
                "or ask one file with --data FILE --unit-column COLUMN"
            )
        return self.policy or USUAL

    def _analyst(self) -> str:
        return analyst_name(self.analyst)

    def _one(self, data: Path, offer: OfferOptions) -> OneTable:
        for name, value in {"--policy": self.policy, "--analyst": self.analyst}.items():
            if value is not None:
                raise InputError(f"{name} and --data exclude each other: a file without a policy has one owner")
        if self.unit_column is None:
            raise InputError('--data needs --unit-column: the column that says whose row it is, or "each row"')
        more: dict[str, Any] = {"clip_rows": self.clip_rows, "budget": self.budget}
        keys = [_column_value(text, "--group-keys") for text in self.group_keys or ()]
        return OneTable(
            data=data,
            unit_column=self.unit_column,
            bounds=dict(_range(text) for text in self.bounds or ()),
            group_keys={name: values.split(",") for name, values in keys},
            currency=next((name for name in Currency if getattr(offer, name) is not None), None),
            spelled=True,
            **{name: value for name, value in more.items() if value is not None},
        )


def ask(
    sql: Sql,
    offer: OfferOptions,
    dataset: DatasetOptions,
    idempotency_key: Annotated[str | None, option("NAME", "Names the charge: the same name never pays twice.")] = None,
    as_json: Json = False,
    csv: Annotated[Path | None, option("FILE", "Also write the answer there, with intervals.")] = None,
    parquet: Annotated[Path | None, option("FILE", "The same as Parquet.")] = None,
    plot: Picture = None,
    certificate: Annotated[
        Path | None, option("FILE", "How it was made, for others: .json to check, .html to read.")
    ] = None,
    signing_key: Annotated[
        Path | None, option("FILE", "Sign the certificate with this key of `tacit ledger key new`.")
    ] = None,
    seconds: Annotated[float | None, option("NUMBER", "The time it may take. Default: 600.")] = None,
    memory: Annotated[str | None, option("SIZE", "The memory it may take, as in 2GB. Default: half of it.")] = None,
    disk: Annotated[str | None, option("SIZE", "Temporary files it may write. Default: up to 8GB.")] = None,
) -> None:
    """Ask in SQL; the answer has error bars, and is paid for before anything is looked at.

    Example: tacit ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
    """
    _writable(csv, parquet, certificate)
    check_outputs(plot=plot)
    if signing_key is not None and certificate is None:
        raise InputError("--signing-key: there is nothing to sign: say where with --certificate FILE.json")
    signer, text = None if signing_key is None else Signer(signing_key), _text(sql)
    limits = Limits(
        seconds=Limits().seconds if seconds is None else seconds,
        memory=None if memory is None else size(memory, "--memory"),
        disk=None if disk is None else size(disk, "--disk"),
    )
    with dataset.open(offer, limits) as session:
        found = session.ask(text, idempotency_key=idempotency_key, **vars(offer))
        left = session.left()
        if certificate is not None:
            session.certificate(found, signing_key=signer, sql=text).save(certificate)
    paid = "answered before: free" if found.cached else f"cost {_cost(found, left)}"
    told = {**found.json(), "cached": found.cached, "left": left.json()}
    output(as_json, told, found, remark(f"{paid}; {spelled(left)} is left"))
    _write(found, csv, parquet)
    write_out("picture", plot, found.plot, quiet=as_json)


def quote(sql: Sql, offer: OfferOptions, dataset: DatasetOptions, as_json: Json = False) -> None:
    """What a question would cost and how well it would be answered. Free: nothing is looked at.

    Example: tacit quote "SELECT COUNT(*) FROM visits" --error 50
    """
    with dataset.open(offer) as session:
        found = session.quote(_text(sql), **vars(offer))
    output(as_json, found.json(), found)


def explain_sql(
    sql: Sql,
    dataset: DatasetOptions,
    dialect: Annotated[str | None, option("NAME", f"How it is written: {', '.join(DIALECTS)}.")] = None,
    as_json: Json = False,
) -> None:
    """How a question is understood: units, joins, clips, keys, and what is done after the release. Free.

    Example: tacit explain-sql "SELECT ward, AVG(cost) FROM visits GROUP BY ward"
    """
    with dataset.open(OfferOptions()) as session:
        found = session.explain(EXPLAIN.sub("", _text(sql), count=1), dialect=dialect)
    output(as_json, found.json(), *found.lines)


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
    if "-" in text[1:]:  # 20240101 is a number
        for kind in (date, datetime):
            with suppress(ValueError):
                return kind.fromisoformat(text)
    return exact(text, f"--bounds {name}", toward="decimal")


def _text(sql: str) -> str:
    return sys.stdin.read() if sql == "-" else sql


def _cost(found: TableRelease, left: Any) -> str:
    """What the answer cost, in the currency that what is left is counted in."""
    name = next(name for name in Currency if getattr(left, name) is not None)
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
