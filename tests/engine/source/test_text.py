"""The strict reader of text: its grammar against one that goes byte by byte, and refusals without a value."""

from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.base import SourceError
from tacit.engine.source import text
from tacit.engine.source.text import TextForm, TextReader

Rows = list[tuple[str | None, ...]]


def read(raw: bytes, form: TextForm | None = None) -> tuple[list[str], Rows]:
    reader = TextReader(BytesIO(raw), form or TextForm(), name="visits.csv")
    rows: Rows = []
    for batch in reader.batches(reader.names):
        rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return reader.names, rows


def slowly(raw: bytes) -> list[list[str]] | None:
    """The same grammar as a machine that takes one character after another; None where a file breaks it."""
    try:
        chars = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    if "\0" in chars or not chars:
        return None
    if not chars.endswith("\n"):
        chars += "\n"
    rows, row, cell, state, place = [], [], "", "start", 0
    while place < len(chars):
        at, rest = chars[place], chars[place:]
        if state == "quoted":
            if rest.startswith('""'):
                cell, place = cell + '"', place + 1
            elif at == '"':
                state = "closed"
            else:
                cell += at
        elif at == '"':
            if state != "start":
                return None
            state = "quoted"
        elif at == "," or at == "\n" or rest.startswith("\r\n"):
            row.append(cell)
            cell, state = "", "start"
            if at != ",":
                rows.append(row)
                row, place = [], place + (at == "\r")
        elif state == "closed" or at == "\r":
            return None
        else:
            cell, state = cell + at, "plain"
        place += 1
    if state == "quoted" or len({len(each) for each in rows}) != 1:
        return None
    names = [name.strip() for name in rows[0]]
    return rows if all(names) and len(set(names)) == len(names) else None


pieces = st.sampled_from(
    [
        '"',
        '""',
        ",",
        "\n",
        "\r\n",
        "\r",
        "a",
        "1",
        "#",
        "'",
        "\\",
        " ",
        ";",
        "é",
        "\ufeff",
        "\0",
        "x,y\n",
        '"q"',
        "apt #5",
    ]
)
files = st.lists(pieces, max_size=14).map(lambda found: "a,b\n" + "".join(found))


@settings(max_examples=600, deadline=None)
@given(body=files, block=st.sampled_from([1, 2, 3, 7, 1 << 24]))
@example(body='a,b\n"",""""\n', block=1)
@example(body='a,b\n"x\r\n",\r\n', block=2)
@example(body="a,b\n1,2\n,\n", block=3)
@example(body='a,b\n1,"2', block=7)
@example(body='a,b\n1,2\n"', block=7)
def test_it_reads_what_the_grammar_says_and_refuses_the_rest(body: str, block: int) -> None:
    expected = slowly(body.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        if expected is None:
            with pytest.raises(SourceError):
                read(body.encode())
        else:
            names, rows = read(body.encode(), TextForm(null=()))
            assert [names, *map(list, rows)] == [["a", "b"], *expected[1:]]


@settings(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=12))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    whole = b"a,b\n" + raw
    if slowly(whole) is None:
        with pytest.raises(SourceError):
            read(whole)
    else:
        read(whole)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1,2,Smith\n3,4\n5\n", "lines 2, 4: not 2 cells"),
        ("1,2\n\n3,4\n", "line 3: not 2 cells"),
        ('1,2\n3,"Smith\n5,6\n', "line 3: a quote that is never closed"),
        ('1,Smi"th\n3,4\n', "line 2: a quote in the middle of a cell"),
        ('1,"Smith"x\n', "line 2: a quote in the middle of a cell"),
        ('"1\n2",3\n4,Smi\rth\n', "line 4: a carriage return"),
        ("1,Smith\0\n", "line 2: a NUL byte"),
        ("1,2\n" * 3 + "Smith\n" * 9, "lines 5, 6, 7, 8, 9 and 4 more: not 2 cells"),
    ],
)
def test_a_refusal_names_lines_and_no_value(body: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(f"a,b\n{body}".encode())
    assert '"visits.csv" cannot be read as a table: ' in str(caught.value)
    assert message in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "Smi" not in str(error)
        error = error.__cause__ or error.__context__


def test_bytes_that_are_no_text_are_refused_without_a_trace_of_them() -> None:
    for raw, form in (
        (b"a,b\n1,2\n3,Smith\xff\n", TextForm()),
        (b"a,b\n1,2\n3,Smith\x81\n", TextForm(encoding="windows-1252")),
    ):
        with pytest.raises(SourceError, match="line 3: bytes that are not") as caught:
            read(raw, form)
        assert "Smith" not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_the_line_of_names() -> None:
    assert read(b'\xef\xbb\xbf "id" , age\n1,2\n'.replace(b' "id" ', b'"id "')) == (["id", "age"], [("1", "2")])
    assert read(b"a,b") == (["a", "b"], [])
    for raw, message in (
        (b"", "is empty"),
        (b"Smith,Smith\n", "cell 2 of it repeats"),
        (b"Smith,\n", "cell 2 of it is"),
    ):
        with pytest.raises(SourceError, match=message) as caught:
            read(raw)
        assert "Smith" not in str(caught.value)
    declared = TextForm(header=("a", "b"))
    assert read(b"1,2\n3,4\n", declared) == (["a", "b"], [("1", "2"), ("3", "4")])
    assert read(b"", declared) == (["a", "b"], [])
    with pytest.raises(SourceError, match="not 2 cells, as the names"):
        read(b"1,2,3\n", declared)


def test_what_is_declared_of_a_file_is_used() -> None:
    assert read("a;b\n1,5;'x;''y'\n".encode("utf-16"), TextForm(delimiter=";", quote="'", encoding="utf-16")) == (
        ["a", "b"],
        [("1,5", "x;'y")],
    )
    assert read(b'a\tb\n"1\t2"\n', TextForm(delimiter="\t", quote="")) == (["a", "b"], [('"1', '2"')])
    assert read("a,b\ncafé,NA\n,x\n".encode("latin-1"), TextForm(encoding="latin-1", null=("NA",)))[1] == [
        ("café", None),
        ("", "x"),
    ]
    assert read(b'a,b\n,""\n', TextForm())[1] == [(None, None)]


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 1 << 10)
    monkeypatch.setattr(text, "LONGEST", 1 << 12)
    with pytest.raises(SourceError, match="line 2: a quote that is never closed"):
        read(b'a,b\n1,"' + b"x\n" * 9000)
    with pytest.raises(SourceError, match="line 2: is longer than"):
        read(b"a,b\n" + b"x" * 9000)


def test_rows_over_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 100)
    body = "".join(f'{i},"{i}\n""é"""\r\n' for i in range(500))
    assert read(f"a,b\n{body}".encode())[1] == [(str(i), f'{i}\n"é"') for i in range(500)]
