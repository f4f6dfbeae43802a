"""A column of text as examples: words are hashed to numbers, so that no list of words is read from the rows."""

import re
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from tacit.base import InputError
from tacit.learn.rows import InputSize
from tacit.learn.table_rows import Array, TableRows
from tacit.plan.facts import Type
from tacit.policy.declaration import quoted

__all__ = ["TextRows", "hashed_words"]

WORD = re.compile(r"\w+|[^\w\s]")


def hashed_words(text: str, vocabulary: int, length: int) -> list[int]:
    """The first words of a text as numbers from 1, then zeros. A word's number follows from the word alone."""
    words = [1 + crc32(word.encode()) % (vocabulary - 1) for word in WORD.findall(text.lower())[:length]]
    return words + [0] * (length - len(words))


class TextRows(TableRows):
    """Rows of a table of the policy, of which one column of text is read, and the label."""

    def __init__(self, table: str, *, column: str, label: str, per_unit: int, vocabulary: int, length: int) -> None:
        super().__init__(table, features=(column,), label=label, per_unit=per_unit)
        self.vocabulary, self.length = vocabulary, length

    def about(self) -> dict[str, Any]:
        return {**super().about(), "kind": "text", "vocabulary": self.vocabulary, "length": self.length}

    def inputs(self) -> tuple[InputSize, ...]:
        if self._scan is None:
            return ()
        (column,) = self.features
        if self._facts(column).type is not Type.TEXT:
            raise InputError(
                f"column {quoted(column)} holds no text, and the model text reads text: take another model"
            )
        return InputSize((self.length,), self.vocabulary), self.label_input()

    def read(self, columns: Mapping[str, pa.ChunkedArray]) -> tuple[Array, Array]:
        (column,) = self.features
        texts = columns[column].combine_chunks().dictionary_encode()
        each = [hashed_words(text or "", self.vocabulary, self.length) for text in texts.dictionary.to_pylist()]
        each.append([0] * self.length)  # of what is missing
        places = texts.indices.fill_null(len(each) - 1).to_numpy()
        return np.array(each, dtype=np.int64)[places], self.labels(columns)
