"""The commands of a curator: a first policy, what a policy says of data, and the reading of text files.

`tacit init`, `tacit check`, `tacit data import` and `tacit data forget`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError, PolicyError, PrivacyWarning
from tacit.cli.options import USUAL, Json, argument, flag, option
from tacit.cli.screen import bar, bullets, facts, print_json, up
from tacit.policy import Policy, Table, blanks, load, notes, parse, starter
from tacit.policy.declaration import duration, number
from tacit.policy.privacy import ANYBODY
from tacit.policy.reference import as_markdown
from tacit.policy.table import Encoding

if TYPE_CHECKING:
    from tacit.engine import Comparison, Schema
    from tacit.engine.source.form import TextForm

__all__ = ["check", "forget", "import_text", "init"]

PolicyFile = Annotated[Path, argument("FILE", "The policy file.")]
Tables = Annotated[list[str] | None, option("--table", "NAME", "This table only; may be said several times.")]


def init(
    data: Annotated[str, argument("DATA", "A Parquet, CSV or DuckDB file, a folder, or a postgresql:// URL.")],
    out: Annotated[Path, option("--out", "FILE", "The policy file to write.")] = USUAL,
    unit: Annotated[str | None, option("--unit", "COLUMN", "The column that names the protected person.")] = None,
    name: Annotated[str | None, option("--name", "TEXT", "What the dataset is called.")] = None,
    delimiter: Annotated[
        str | None, option("--delimiter", "SIGN", "Of a CSV file: what stands between two cells.")
    ] = None,
    encoding: Annotated[
        Encoding, option("--encoding", "NAME", f"Of a CSV file: {', '.join(Encoding)}.")
    ] = Encoding.UTF_8,
) -> None:
    """Write a first policy from names and types: of a CSV file the types that all its values have, for you to confirm.

    Example: tacit init visits.parquet --unit patient_id
    """
    from tacit.engine import read_schema  # brings an engine along

    schema, texts = _with_types(read_schema(data, _form(data, delimiter, encoding)), delimiter, encoding)
    url = schema.engine == "postgres"
    files = {table: _relative(path, out) for table, path in schema.files.items()}
    text = starter(
        schema.tables,
        name=name or ("database" if url else Path(data).resolve().stem),
        engine=schema.engine,
        source="${DATABASE_URL}" if url else None if files else _relative(data, out),
        sources=files | schema.sources,
        unit=unit,
        texts=texts,
    )
    policy = parse(text, file=out.name)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{out} exists already: move it away, or choose another name with --out") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    console = Console()
    columns = sum(len(table.columns) for table in policy.tables.values())
    said = f"{out}: {_count(len(policy.tables), 'table')}, {_count(columns, 'column')}, {len(blanks(policy))} to fill."
    console.print(Text(said, style="bold"), soft_wrap=True)
    steps = [f"Open {out} and fill in the lines marked “to fill”, from what everybody knows.", "Say who may ask."]
    if texts:
        steps.insert(1, f"Confirm the types. Then `tacit data import {out}` reads the file, once, for questions.")
    if url:
        steps.insert(0, "Set DATABASE_URL to the address of the database: passwords stay out of the file.")
    console.print(bullets([*steps, f"Run `tacit check {out}` to see what is promised and what is still missing."]))


def _form(data: str, delimiter: str | None, encoding: Encoding) -> "TextForm":
    from tacit.engine.source.form import TextForm

    return TextForm.of(Path(data), Table(delimiter=delimiter, encoding=encoding))


def _with_types(
    schema: "Schema", delimiter: str | None, encoding: Encoding
) -> "tuple[Schema, dict[str, dict[str, str]]]":
    """The schema with types for the columns of text files, and how these are written; every value of them is read."""
    from tacit.engine.source.reading import propose_types

    form = {} if delimiter is None else {"delimiter": delimiter}
    form |= {} if encoding is Encoding.UTF_8 else {"encoding": str(encoding)}
    tables = dict(schema.tables)
    texts = [name for name in schema.files if not any(tables[name].values())]
    with bar("reading") as tell:
        for number, name in enumerate(texts):
            path = Path(schema.files[name])
            found = propose_types(path, _form(str(path), delimiter, encoding))
            tables[name] = {column: str(kind) for column, kind in found.items()}
            tell((number + 1) / len(texts))
    return replace(schema, tables=tables), dict.fromkeys(texts, form)


def check(
    file: PolicyFile = USUAL,
    as_json: Json = False,
    data: Annotated[
        bool, flag("--data", "Also open the data as questions do; CSV files that changed are read anew.")
    ] = False,
    reference: Annotated[bool, typer.Option("--reference", hidden=True)] = False,
) -> None:
    """Is this policy right? What it promises, who may ask, what is missing. Exit code 1 if something is wrong.

    Files, tables and columns are compared by name with what is there; no value is looked at without --data.

    Example: tacit check tacit.toml
    """
    if reference:
        typer.echo(as_markdown(), nl=False)
        return
    console = Console()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # shown among the notes
            policy = load(file)
        found = _compare(policy, data)
        if found.problems:
            raise PolicyError(*found.problems)
    except PolicyError as error:
        if as_json:
            print_json(console, {"valid": False, "problems": [str(each) for each in error.problems]})
        else:
            count = _count(len(error.problems), "problem")
            Console(stderr=True).print(Text(f"{file.name} has {count}:", style="bold red"), soft_wrap=True)
            Console(stderr=True).print(Text(str(error)), soft_wrap=True)
        raise typer.Exit(1) from None
    remarks = [*notes(policy), *found.remarks]
    if as_json:
        print_json(console, _json(policy, remarks))
    else:
        _show(console, policy, remarks)


def _compare(policy: Policy, data: bool) -> "Comparison":
    """The policy beside its data."""
    from tacit.engine import Comparison, compare_names, import_tables, open_engine

    if not data:
        return compare_names(policy)
    with bar("reading") as tell:
        import_tables(policy, progress=tell)
        open_engine(policy).close()
    return Comparison()


def _relative(data: str, out: Path) -> str:
    """A path as a policy in `out` names it: short where it lies below, else absolute."""
    path, folder = Path(data).absolute(), out.absolute().parent
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _count(many: int, what: str) -> str:
    return f"{many} {what}{'' if many == 1 else 's'}"


def _promise(policy: Policy) -> tuple[str, str]:
    """The budget as (ε, δ), and in a sentence."""
    privacy = policy.privacy
    found = privacy.promise.meaning(delta=privacy.delta)
    stated = f"ε = {up(found.epsilon, 4)}" + (f" with δ = {found.delta:g}" if found.delta else "")
    return stated, found.sentence


def _ever(policy: Policy) -> str | None:
    found = policy.privacy.promise_ever
    if found is None:
        return None
    loss, delta = found
    return f"ε = {up(loss.epsilon(delta).upper, 4)} with δ = {float(delta):g}"


def _json(policy: Policy, remarks: Sequence[str]) -> dict[str, Any]:
    privacy = policy.privacy
    stated, sentence = _promise(policy)
    return {
        "valid": True,
        "dataset": policy.dataset.name,
        "people": policy.dataset.identity,
        "unit": privacy.unit,
        "relation": privacy.relation.value,
        "currency": privacy.currency.value,
        "budget": number(privacy.budget),
        "delta": number(privacy.delta),
        "slack": number(privacy.own_delta),
        "promise": stated,
        "lifetime_promise": _ever(policy),
        "meaning": sentence,
        "tables": {
            name: {"protects": _whose(table), "columns": len(table.columns)} for name, table in policy.tables.items()
        },
        "analysts": len(policy.analysts),
        "anybody": ANYBODY in policy.analysts,
        "to_fill": [{"place": b.place, "what": b.what, "prevents": b.prevents} for b in blanks(policy)],
        "notes": list(remarks),
        "hash": policy.hash,
    }


def _show(console: Console, policy: Policy, remarks: Sequence[str]) -> None:
    privacy, dataset = policy.privacy, policy.dataset
    stated, sentence = _promise(policy)
    verb = "whether one {} is in the data" if privacy.relation.value == "add_remove" else "what the data says of one {}"
    again = "" if privacy.reset is None else f", again every {duration(privacy.reset)}"
    lines: dict[str, str | Text] = {
        "protects": f"{verb.format(privacy.unit)} ({dataset.identity})",
        "budget": f"{privacy.currency.value} {number(privacy.budget)} for everybody together{again}",
        "promise": f"spent in full: {stated}",
        "means": sentence,
    }
    ever = _ever(policy)
    if ever is not None:
        lines["lifetime"] = f"{privacy.currency.value} {number(privacy.lifetime or privacy.budget)}: {ever}"
    for name, table in policy.tables.items():
        lines[f"table {name}"] = f"{_whose(table)}, {_count(len(table.columns), 'column')}"
    lines["may ask"] = _askers(policy)
    console.print(Text(f"{dataset.name}: this policy is valid", style="bold green"), soft_wrap=True)
    facts(console, lines)
    missing = blanks(policy)
    if missing:
        console.print(Text("To fill, before these questions can be asked:", style="bold"))
        console.print(bullets([f"{blank.place}: {blank.what}. Prevents {blank.prevents}." for blank in missing]))
    if remarks:
        console.print(Text("Good to know:", style="bold"))
        console.print(bullets(list(remarks)))


def _askers(policy: Policy) -> str:
    named = [name for name in policy.analysts if name != ANYBODY]
    who = [", ".join(named[:10]) + (f" and {len(named) - 10} more" if len(named) > 10 else "")] if named else []
    who += ["anybody else" if named else "anybody"] if ANYBODY in policy.analysts else []
    return " and ".join(who) or "nobody yet"


def _whose(table: Table) -> str:
    if table.public:
        return "public, not protected"
    if table.each_row_is_a_unit:
        return "each row is one unit"
    return f"protected by {table.unit}" if table.unit else "does not say whose rows they are"


# --- text files


def import_text(file: PolicyFile = USUAL, table: Tables = None, as_json: Json = False) -> None:
    """Read the CSV files of a policy, strictly, into typed copies that questions read; again whenever they change.

    A file that is not well formed is refused, with the numbers of its lines; a value that does not suit its column's
    type is NULL.

    Example: tacit data import tacit.toml
    """
    from tacit.engine import import_tables

    policy = load(file)
    with bar("reading") as tell:
        found = import_tables(policy, table, tell)
    console = Console()
    if as_json:
        print_json(console, {name: {"files": files, "read": read} for name, (files, read) in found.items()})
        return
    for name, (files, read) in found.items():
        whole = f"{files} file{'' if files == 1 else 's'}"
        said = f"{name}: {whole}, {'as read before' if not read else f'{read} read now'}"
        console.print(Text(said), soft_wrap=True)
    if not found:
        console.print(Text("There is nothing to import: Parquet and databases are read as they are."), soft_wrap=True)


def forget(
    file: Annotated[Path | None, argument("FILE", "The policy file. Default: tacit.toml.")] = None,
    table: Tables = None,
    data: Annotated[Path | None, option("--data", "FILE", "A CSV file that was asked without a policy.")] = None,
    unused: Annotated[bool, flag("--unused", "Only copies of files that have changed, or are gone.")] = False,
    as_json: Json = False,
) -> None:
    """Delete the typed copies that were made of CSV files. Questions about them wait for the next `tacit data import`.

    Example: tacit data forget tacit.toml --table visits
    """
    from tacit.engine import forget_tables
    from tacit.engine.source.copies import Copies, state_folder

    if data is not None:
        if file is not None or table:
            raise InputError("--data and a policy exclude each other: name the one or the other")
        copies = Copies(state_folder(f"{data.resolve()}.ledger", None))
        gone = copies.forget([data.resolve()], unused=unused)
    else:
        gone = forget_tables(load(file or USUAL), table, unused=unused)
    console = Console()
    if as_json:
        print_json(console, {"deleted": gone})
    else:
        console.print(Text(f"{gone} cop{'y' if gone == 1 else 'ies'} deleted."), soft_wrap=True)
