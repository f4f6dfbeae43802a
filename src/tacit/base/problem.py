"""What is wrong with a declaration, with its place, so that a form finds its field and a file its line."""

from dataclasses import dataclass, replace

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a declaration, and where: `path` has the keys of the file that lead to it, such as
    ("tables", "visits", "columns", "age", "bounds"), or numbers in a list; `place` says in words what `text` does not.

    `short` is for whoever sees the key and its value beside it.
    """

    path: tuple[str | int, ...]
    text: str
    place: str = ""
    short: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text

    def within(self, place: str, *path: str) -> "Problem":
        """The same, found in a larger part."""
        words = f"{place}, {self.place}" if self.place else place
        return replace(self, path=(*path, *self.path), place=words)

    def of_file(self, name: str) -> "Problem":
        """The same, found in this file."""
        return replace(self, place=f"{name}: {self.place}" if self.place else name)
