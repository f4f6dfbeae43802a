"""What a test needs to see in a Markdown page: its code blocks, its links and its headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where the text starts."""

    language: str
    text: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text()
    found = [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in BLOCK.finditer(text)]
    return [block for block in found if block.language == language]


def links(page: Path) -> Iterator[str]:
    """Targets of links outside code."""
    prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text()))
    yield from LINK.findall(prose)


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    titles = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
