"""Text that is none: arrays of Arrow that no library would make, with any bytes."""

import pyarrow as pa

__all__ = ["broken"]


def broken(cells: list[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """An array of text with these bytes, whatever they are."""
    raw = pa.array(cells, pa.binary())
    found = pa.StringArray.from_buffers(len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0])
    return found if kind is None else found.cast(kind)
