"""`tacit synth`: what a synthetic table would cost, making one, rows of it, and a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tacit.base import InputError
from tacit.cli.ask import DatasetOptions, OfferOptions
from tacit.cli.options import Json, argument, extra, option
from tacit.cli.screen import output, remark, say
from tacit.desk.show import spelled

if TYPE_CHECKING:
    from tacit.session import Session
    from tacit.synth import Synthesis, SyntheticTable

__all__ = ["make", "new", "quote", "report", "rows"]

Settings = Annotated[Path, argument("SETTINGS", "A file such as synth.toml; `tacit synth new` writes a first one.")]
Made = Annotated[Path, argument("FILE", "What `tacit synth make` wrote.")]
PolicyFile = Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")]
Who = Annotated[str | None, option("NAME", "Who asks. Default: $TACIT_ANALYST, or who is logged in.")]
Out = Annotated[Path, option("FILE", "Where to write it.")]


def new(out: Annotated[Path, argument("FILE", "Where to write it.")] = Path("synth.toml")) -> None:
    """Write a first file of settings, with every key explained.

    Example: tacit synth new synth.toml
    """
    from tacit.cli.settings import write_template
    from tacit.synth.config import SYNTH

    write_template(SYNTH, out)


def quote(settings: Settings, policy: PolicyFile = None, analyst: Who = None, as_json: Json = False) -> None:
    """What a synthetic table would cost and how large its noise would be. Free, and nothing is looked at.

    Example: tacit synth quote synth.toml
    """
    with DatasetOptions(policy=policy, analyst=analyst).open(OfferOptions()) as session:
        found = _plan(settings, session).quote()
    output(as_json, found.json(), found)


def make(settings: Settings, out: Out, policy: PolicyFile = None, analyst: Who = None, as_json: Json = False) -> None:
    """Pay for a synthetic table, once, and write it: rows are then drawn from the file for nothing.

    Its certificate is written beside it.

    Example: tacit synth make synth.toml --out people.npz
    """
    if not out.parent.is_dir():
        raise InputError(f"there is no directory {out.parent} to write {out.name} in")
    with DatasetOptions(policy=policy, analyst=analyst).open(OfferOptions()) as session:
        made = _plan(settings, session).release()
        left = session.left()
    out.write_bytes(made.release.to_bytes())
    if made.certificate is not None:
        made.certificate.save(_beside(out))
    told = {**made.about, "units": made.units, "cached": made.cached, "file": str(out)}
    paid = "made before: free" if made.cached else "paid"
    output(as_json, told, repr(made), remark(f"{paid}; {spelled(left)} is left; wrote {out}"))


def rows(
    made: Made,
    out: Annotated[Path, option("FILE", "A file that ends in .parquet or .csv.")],
    count: Annotated[int | None, option("NUMBER", "How many rows. Default: as many as there are units.")] = None,
    where: Annotated[list[str] | None, option("COLUMN=VALUE", "Only rows with this value; also LOW:HIGH.")] = None,
) -> None:
    """Draw rows, as often as you like: it costs nothing. The file says that they are synthetic.

    Example: tacit synth rows people.npz --count 1000 --out rows.parquet
    """
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"{out.name} must end in .parquet or .csv")
    table = _read(made)
    if where:
        table = table.where(**dict(_condition(text) for text in where))
    found = table.rows(count)
    (found.to_parquet if out.suffix == ".parquet" else found.to_csv)(out)
    say(f"Wrote {len(found):,} synthetic rows to {out}, and what they are to {out.name}.synthetic.json.")


def report(made: Made, out: Out, as_json: Json = False) -> None:
    """Write a page with pictures: what was measured, what it cost, and how the table fits. Free.

    Example: tacit synth report people.npz --out report.html
    """
    table = _read(made)
    with extra("plot", "a report"):
        table.report().save(out)
    output(as_json, table.report().json(), f"Wrote {out}.")


def _plan(settings: Path, session: "Session") -> "Synthesis":
    from tacit.cli.settings import settings_of
    from tacit.synth.config import SYNTH, synthesis_of

    return synthesis_of(settings_of(SYNTH, settings), session)


def _read(path: Path) -> "SyntheticTable":
    """With its certificate, where that still lies beside it."""
    from tacit.desk.certificate.certificate import Certificate
    from tacit.desk.release import release_from_bytes
    from tacit.synth import SyntheticTable

    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    certificate = Certificate.read(_beside(path)) if _beside(path).exists() else None
    return SyntheticTable.of(release_from_bytes(content), certificate=certificate)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".certificate.json")


def _condition(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f'--where is written as in --where sex=F, not as "{text}"')
    low, colon, high = value.partition(":")
    return name.strip(), (low, high) if colon else value.strip()
