"""Rows that were drawn, and files of them: each says that it is synthetic, with its certificate beside it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table

from tacit.base import InputError, TacitError

if TYPE_CHECKING:
    import pandas

    from tacit.desk.certificate.certificate import Certificate

__all__ = ["SyntheticRows"]


@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticRows:
    """Drawn rows as an Arrow table whose metadata say so. Drawing is free; what is drawn describes nobody."""

    table: pa.Table
    about: Mapping[str, Any]
    certificate: "Certificate | None" = field(default=None)

    def __post_init__(self) -> None:
        told = {"tacit": json.dumps({"synthetic": True, **self.about}), "synthetic": "true"}
        if self.certificate is not None:
            told["certificate"] = json.dumps(self.certificate.json())
        object.__setattr__(self, "table", self.table.replace_schema_metadata(told))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def arrow(self) -> pa.Table:
        return self.table

    def to_pandas(self) -> "pandas.DataFrame":
        try:
            frame: pandas.DataFrame = self.table.to_pandas()
        except ImportError as missing:
            raise TacitError("to_pandas() needs pandas, which is not installed: pip install pandas") from missing
        frame.attrs["synthetic"] = True
        return frame

    def to_parquet(self, where: Path | str) -> None:
        """The rows as a Parquet file, marked in its metadata; and beside it `….synthetic.json`."""
        self._written(Path(where), self.parquet())

    def parquet(self) -> bytes:
        """The content of such a file; the certificate is in its metadata too."""
        sink = pa.BufferOutputStream()
        write_table(self.table, sink)
        return bytes(sink.getvalue().to_pybytes())

    def csv(self) -> bytes:
        """The content of a CSV file."""
        sink = pa.BufferOutputStream()
        write_csv(self.table, sink)
        return bytes(sink.getvalue().to_pybytes())

    def to_csv(self, where: Path | str) -> None:
        """The rows as a CSV file, which has no place for a mark: `….synthetic.json` beside it says what it is."""
        self._written(Path(where), self.csv())

    def _written(self, path: Path, content: bytes) -> None:
        told: dict[str, Any] = {"synthetic": True, "file": path.name, **self.about}
        if self.certificate is not None:
            told["certificate"] = self.certificate.json()
        try:
            path.write_bytes(content)
            path.with_name(path.name + ".synthetic.json").write_text(
                json.dumps(told, indent=1) + "\n", encoding="utf-8"
            )
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def __repr__(self) -> str:
        return f"<{len(self):,} synthetic rows of {', '.join(self.table.column_names)}>"
