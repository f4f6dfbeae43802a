"""The commands of a curator: a first policy, what a policy says of data, and the reading of text files.

`tacit init`, `tacit check`, `tacit data import` and `tacit data forget`.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base import InputError, PolicyError, SourceError
from tacit.base.bar import progress_bar
from tacit.cli.options import USUAL, Json, argument, flag, option
from tacit.cli.screen import bullets, counted, facts, line, new_file, output, say, show, up
from tacit.policy import Policy, Table, blanks, load, notes, parse, starter
from tacit.policy.declaration import duration, number
from tacit.policy.privacy import ANYBODY
from tacit.policy.reference import as_markdown
from tacit.policy.table import Encoding

if TYPE_CHECKING:
    from tacit.engine import Comparison, Schema
    from tacit.engine.source.text import TextForm

__all__ = ["check", "forget", "import_text", "init"]

PolicyFile = Annotated[Path, argument("FILE", "The policy file.")]
Tables = Annotated[list[str] | None, option("NAME", "This table only; may be said several times.")]


def init(
    data: Annotated[str, argument("DATA", "A Parquet, CSV or DuckDB file, a folder, or a postgresql:// URL.")],
    out: Annotated[Path, option("FILE", "The policy file to write.")] = USUAL,
    unit_column: Annotated[str | None, option("COLUMN", "The column that names the protected person.")] = None,
    name: Annotated[str | None, option("TEXT", "What the dataset is called.")] = None,
    delimiter: Annotated[str | None, option("SIGN", "Of a CSV file: what stands between two cells.")] = None,
    encoding: Annotated[Encoding, option("NAME", f"Of a CSV file: {', '.join(Encoding)}.")] = Encoding.UTF_8,
) -> None:
    """Write a first policy from names and types: of a CSV file the types that all its values have, for you to confirm.

    Example: tacit init visits.parquet --unit-column patient_id
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
        unit_column=unit_column,
        links=schema.links,
        texts=texts,
    )
    policy = parse(text, file=out.name)
    with new_file(out) as file:
        file.write(text)
    tables = counted(len(policy.tables), "table")
    columns = counted(sum(len(table.columns) for table in policy.tables.values()), "column")
    say(f"{out}: {tables}, {columns}, {len(blanks(policy))} to fill.", "bold")
    steps = [f"Open {out} and fill in the lines marked “to fill”, from what everybody knows.", "Say who may ask."]
    if texts:
        steps.insert(1, f"Confirm the types. Then `tacit data import {out}` reads the file, once, for questions.")
    if url:
        steps.insert(0, "Set DATABASE_URL to the address of the database: passwords stay out of the file.")
    show(bullets([*steps, f"Run `tacit check {out}` to see what is promised and what is still missing."]))


def _form(data: str, delimiter: str | None, encoding: Encoding) -> "TextForm":
    from tacit.engine.source.text import TextForm

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
    with progress_bar("reading") as tell:
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
        bool, flag("--data", "Also open the data as questions do; CSV files that changed, and keys of links, are read.")
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
    try:
        with warnings.catch_warnings(record=True) as caught:  # shown among the notes, as those about privacy are
            warnings.simplefilter("always")
            policy = load(file)
        compared = _compare(policy, data)
        if compared.problems:
            raise PolicyError(*compared.problems)
    except PolicyError as error:
        output(as_json, {"valid": False, "problems": [str(each) for each in error.problems]})
        if not as_json:
            head = f"{file.name} has {counted(len(error.problems), 'problem')}:"
            show(line(head, "bold red"), str(error), stderr=True)
        raise typer.Exit(1) from None
    former = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, FutureWarning))
    found = _facts(policy, [*notes(policy), *compared.remarks, *former])
    output(as_json, found, _parts(policy, found))


def _compare(policy: Policy, data: bool) -> "Comparison":
    """The policy beside its data."""
    from tacit.engine import Comparison, compare_names, import_tables, open_engine

    if not data:
        return compare_names(policy)
    with progress_bar("reading") as tell:
        import_tables(policy, progress=tell)
        try:
            open_engine(policy, reads_keys=True).close()
        except SourceError as error:  # a key that links lead to, which has a value twice
            return Comparison(problems=(str(error),))
    return Comparison()


def _relative(data: str, out: Path) -> str:
    """A path as a policy in `out` names it: short where it lies below, else absolute."""
    path, folder = Path(data).absolute(), out.absolute().parent
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _facts(policy: Policy, remarks: Sequence[str]) -> dict[str, Any]:
    """What a policy says, as plain data."""
    privacy = policy.privacy
    meaning, ever = privacy.promise.meaning(delta=privacy.delta), privacy.promise_ever
    stated = f"ε = {up(meaning.epsilon, 4)}" + (f" with δ = {meaning.delta:g}" if meaning.delta else "")
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
        "lifetime_promise": ever and f"ε = {up(ever[0].epsilon(ever[1]).upper, 4)} with δ = {float(ever[1]):g}",
        "meaning": meaning.sentence,
        "tables": {
            name: {"protects": _whose(table), "columns": len(table.columns)} for name, table in policy.tables.items()
        },
        "analysts": len(policy.analysts),
        "anybody": ANYBODY in policy.analysts,
        "to_fill": [{"place": b.place, "what": b.what, "prevents": b.prevents} for b in blanks(policy)],
        "notes": list(remarks),
        "hash": policy.hash,
    }


def _parts(policy: Policy, found: dict[str, Any]) -> Iterator[Any]:
    privacy = policy.privacy
    verb = "whether one {} is in the data" if privacy.relation.value == "add_remove" else "what the data says of one {}"
    again = "" if privacy.reset is None else f", again every {duration(privacy.reset)}"
    lines = {
        "protects": f"{verb.format(privacy.unit)} ({found['people']})",
        "budget": f"{found['currency']} {found['budget']} for everybody together{again}",
        "promise": f"spent in full: {found['promise']}",
        "means": found["meaning"],
    }
    if found["lifetime_promise"] is not None:
        ever = number(privacy.lifetime or privacy.budget)
        lines["lifetime"] = f"{found['currency']} {ever}: {found['lifetime_promise']}"
    for name, table in found["tables"].items():
        lines[f"table {name}"] = f"{table['protects']}, {counted(table['columns'], 'column')}"
    lines["may ask"] = _askers(policy)
    yield from (line(f"{found['dataset']}: this policy is valid", "bold green"), facts(lines))
    missing = [f"{blank['place']}: {blank['what']}. Prevents {blank['prevents']}." for blank in found["to_fill"]]
    told = {"To fill, before these questions can be asked:": missing, "Good to know:": found["notes"]}
    for head, below in told.items():
        yield from (line(head, "bold"), bullets(below)) if below else ()


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
    if table.link is not None:
        return f"protected through {table.link}"
    return (
        f"protected by {' and '.join(table.unit_columns)}" if table.unit_column else "does not say whose rows they are"
    )


# --- text files


def import_text(file: PolicyFile = USUAL, table: Tables = None, as_json: Json = False) -> None:
    """Read the CSV files of a policy, strictly, into typed copies that questions read; again whenever they change.

    A file that is not well formed is refused, with the numbers of its lines; a value that does not suit its column's
    type is NULL.

    Example: tacit data import tacit.toml
    """
    from tacit.engine import import_tables

    policy = load(file)
    with progress_bar("reading") as tell:
        found = import_tables(policy, table, tell)
    lines = [
        f"{name}: {counted(files, 'file')}, {f'{read} read now' if read else 'as read before'}"
        for name, (files, read) in found.items()
    ]
    nothing = "There is nothing to import: Parquet and databases are read as they are."
    data = {name: {"files": files, "read": read} for name, (files, read) in found.items()}
    output(as_json, data, *(lines or [nothing]))


def forget(
    file: Annotated[Path | None, argument("FILE", "The policy file. Default: tacit.toml.")] = None,
    table: Tables = None,
    data: Annotated[Path | None, option("FILE", "A CSV file that was asked without a policy.")] = None,
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
    output(as_json, {"deleted": gone}, f"{counted(gone, 'copy', 'copies')} deleted.")
