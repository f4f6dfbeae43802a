"""tacit-survey.js in a real Node.js: byte for byte what the Python package does, small, and with coins of its own."""

import json
import re
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng
from support.node import MODULE, node, told
from support.surveys import sleep
from support.tree import ROOT
from tacit.survey.bit_flip import SeveralResponse
from tacit.survey.direct import DirectResponse
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol
from tacit.survey.registry import PROTOCOLS
from tacit.survey.square_wave import SquareWave
from tacit.survey.vectors import FixedBytes

__all__ = ["node"]

LARGEST = 5 * 1024
REPLAY = """
const reports = given.map(({question, answer, bytes}) => {
  const script = Buffer.from(bytes, "hex");
  let used = 0;
  const report = survey.randomise(question, answer, () => {
    if (used === script.length) throw new Error("the script ran out");
    return script[used++];
  });
  return [Buffer.from(report).toString("hex"), used];
});
console.log(JSON.stringify(reports));
"""


def words(number: str) -> list[int]:
    return list(divmod(int(number), 1 << 32))


def published() -> list[tuple[dict[str, Any], list[Any]]]:
    """The published vectors as (what is given to the script, what must come out)."""
    found = []
    for protocol in json.loads((ROOT / "docs/reference/survey-vectors.json").read_text())["protocols"]:
        if protocol["kind"] not in {kind.kind for kind in PROTOCOLS if kind.in_browser}:
            continue
        device: dict[str, Any] = {name: words(v) if isinstance(v, str) else v for name, v in protocol["device"].items()}
        question = {"protocol": protocol["kind"], "bytes": protocol["report_bytes"], "device": device}
        for case in protocol["cases"]:
            answer = case["answer"]
            if protocol["kind"] == "several":  # published as a number with these bits
                answer = [place for place in range(device["options"]) if answer >> place & 1]
            given = {"question": question, "answer": answer, "bytes": case["bytes"]}
            found.append((given, [case["report"], case["used"]]))
    return found


def test_the_published_vectors(node: str) -> None:
    cases = published()
    assert {given["question"]["protocol"] for given, _ in cases} >= {"direct", "local_hashing", "hadamard", "subset"}
    assert told(node, REPLAY, [given for given, _ in cases]) == [expected for _, expected in cases]


MORE: list[tuple[Protocol, list[Any]]] = [
    (SquareWave(epsilon=Fraction(1), low=Fraction(-3), high=Fraction(9), bins=16), [-3, 0.1, 9, 3.33]),
    (SquareWave(epsilon=Fraction(3), bins=300), [0, 0.5, 1, 0.9999]),
    (PrefixText(epsilon=Fraction(1), longest=12, functions=300), ["a", "Zürich", "日本語ab"]),
    (PrefixText(epsilon=Fraction(3), longest=32, step=2, functions=200), ["hello", "x" * 32]),
]


@pytest.mark.parametrize(("protocol", "answers"), MORE, ids=lambda x: getattr(x, "kind", ""))
def test_the_same_report_as_python(node: str, protocol: Protocol, answers: list[Any]) -> None:
    given, expected, rng = [], [], FixedRng(3)
    for answer in answers * 25:
        data = bytes(rng.read(96))
        stream = FixedBytes(data)
        expected.append([protocol.sample(answer, stream).hex(), stream.used])
        given.append({"question": protocol.terms(), "answer": answer, "bytes": data.hex()})
    assert told(node, REPLAY, given) == expected


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("slept", 2), ("slept", -1), ("slept", 0.5), ("slept", "1"), ("slept", None), ("slept", [0]), ("wakes", 5),
        ("takes", [3]), ("takes", 1), ("takes", ["tea"]), ("hours", 12.1), ("hours", -1), ("hours", None),
        ("hours", "7"), ("hours", [7]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_before_a_coin(node: str, name: str, answer: Any) -> None:
    question = next(each for each in sleep().terms()["questions"] if each["name"] == name)
    script = """
    let tossed = 0, refused = false;
    try { survey.randomise(given.question, given.answer, () => (tossed++, 0)); } catch { refused = true; }
    console.log(JSON.stringify([refused, tossed]));
    """
    assert told(node, script, {"question": question, "answer": answer}) == [True, 0]


DRAW = """
const {question, answers, count} = given;
const found = answers.map(answer => Array.from({length: count}, () =>
  Buffer.from(survey.randomise(question, answer)).toString("hex")));
console.log(JSON.stringify(found));
"""


@pytest.mark.parametrize(
    ("protocol", "answers", "values"),
    [
        (DirectResponse(epsilon=Fraction(1), categories=6), [0, 3], [0, 3]),
        (SeveralResponse(epsilon=Fraction(1), options=3), [[], [0, 2]], [0, 5]),
    ],
    ids=["direct", "several"],
)
def test_its_own_coins_have_the_law(node: str, protocol: Protocol, answers: list[Any], values: list[int]) -> None:
    given = {"question": protocol.terms(), "answers": answers, "count": 20_000}
    for value, found in zip(values, told(node, DRAW, given), strict=True):
        law: dict[Hashable, float] = {report.hex(): float(p) for report, p in protocol.law(value).items()}
        assert p_value(law, found) > 1e-9
        assert len(Counter(found)) == len(law)


def test_no_byte_is_used_twice_and_what_was_used_is_wiped(node: str) -> None:
    script = """
    let last;
    const real = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = stock => (last = stock, real(stock));
    const question = given;
    for (let i = 0; i < 1000; i++) survey.randomise(question, 0);
    const wiped = last.findIndex(byte => byte);
    console.log(JSON.stringify([wiped, last.slice(wiped).some(byte => byte)]));
    """
    question = DirectResponse(epsilon=Fraction(1), categories=2).terms()
    wiped, rest = told(node, script, question)
    assert wiped >= 8000, "a thousand tosses of eight bytes"
    assert rest


def bare(text: str) -> str:
    """A script without comments and the spaces that nothing needs: what a minifier does at least."""
    text = re.sub(r"(^|\s)//[^\n]*", "", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([{}()\[\];,:=<>+*|&?^/-]) ?", r"\1", text).strip()


def test_it_is_small_and_needs_nothing() -> None:
    text = MODULE.read_text(encoding="utf-8")
    assert len(bare(text).encode()) < LARGEST
    assert not re.search(r"\bimport\b|\bfetch\b|XMLHttp|WebSocket|Math\.random|localStorage|document|eval", text)


def test_bare_keeps_the_script_working(node: str, tmp_path: Path) -> None:
    """So that the size that is counted is that of something that works."""
    small = tmp_path / "small.mjs"
    small.write_text(bare(MODULE.read_text(encoding="utf-8")), encoding="utf-8")
    given, expected = published()[-1]
    script = f"const other = await import({json.dumps(small.as_uri())});\n"
    script += REPLAY.replace("survey.randomise", "other.randomise")
    assert told(node, script, [given]) == [expected]
