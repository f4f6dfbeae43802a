"""Tables in memory: values of no library's error get out."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tacit.base import InputError, SourceError, TacitError
from tacit.engine.source.memory import arrow_schema, arrow_table

SECRET = "secret-diagnosis"


def mixed() -> list[tuple[str, Any]]:
    polars = pytest.importorskip("polars")
    nested = [SECRET, {"a": SECRET}, [SECRET], 3, object()]
    return [
        ("pandas", pd.DataFrame({"who": [1, 2], "diagnosis": pd.Series([3, SECRET], dtype=object)})),
        ("pandas huge", pd.DataFrame({"diagnosis": pd.Series([2**70, SECRET], dtype=object)})),
        ("pandas nested", pd.DataFrame({"diagnosis": pd.Series(nested, dtype=object)})),
        ("pandas twice", pd.DataFrame([[1, SECRET]], columns=["x", "x"])),
        ("polars", polars.DataFrame({"diagnosis": polars.Series([SECRET, object()], dtype=polars.Object)})),
        ("a list", [SECRET]),
        ("a series", pd.Series([SECRET])),
    ]


def chain(error: BaseException | None) -> str:
    """All that can be read from an error and whatever is behind it."""
    text, seen = "", set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text += repr(error) + str(error)
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.parametrize("case", range(7))
@pytest.mark.parametrize("read", [arrow_table, arrow_schema])
def test_what_cannot_be_read_is_refused_without_a_value(case: int, read: Any) -> None:
    name, data = mixed()[case]
    with pytest.raises(TacitError) as caught:
        read(data, "visits")
    assert SECRET not in chain(caught.value), name
    assert caught.value.__context__ is caught.value.__cause__ is None
    if name == "pandas":
        assert isinstance(caught.value, SourceError)
        assert 'table "visits": column "diagnosis" holds values of more than one type' in str(caught.value)
    for at in caught.traceback[1:]:
        if "tacit" in str(at.path):
            assert SECRET not in repr([value for value in at.frame.f_locals.values() if isinstance(value, str | bytes)])


def test_what_can_be_read() -> None:
    frame = pd.DataFrame({"a": [1, 2], 5: ["x", None]})
    assert arrow_table(frame).to_pydict() == {"a": [1, 2], "5": ["x", None]}
    table = pa.table({"a": [1]})
    assert arrow_table(table) == table
    assert arrow_schema(table) == table.schema
    for names in (["a", "a"], ["a", "A"], ["a", ""]):
        with pytest.raises(SourceError, match=r"number 2 (repeats|has none)"):
            arrow_table(pa.table([[1], [2]], names=names))
    with pytest.raises(InputError, match="not int"):
        arrow_table(5)
