"""Why a question is refused, as data: a danger is told from what is only missing."""

from enum import StrEnum

__all__ = ["RefusalKind"]


class RefusalKind(StrEnum):
    """Why a question is not answered as it stands: data, so that no program has to read the sentence."""

    DANGER = "danger"  # it has no private answer: it could show what one unit has
    UNSUPPORTED = "unsupported"  # only a missing feature: the same may have a private answer, asked in another way
    DECLARATION = "declaration"  # the policy does not say what the question needs
    LIMIT = "limit"  # it is too large, or beyond the numbers that are computed with
    MISTAKE = "mistake"  # it cannot be read, or names what is not there
    OFFER = "offer"  # what was offered for it does not fit

    @property
    def words(self) -> str:
        """The kind in a few words, for people."""
        return KIND_WORDS[self]


KIND_WORDS = {
    RefusalKind.DANGER: "this has no private answer",
    RefusalKind.UNSUPPORTED: "this is only a missing feature",
    RefusalKind.DECLARATION: "the policy has to declare something first",
    RefusalKind.LIMIT: "this is too large",
    RefusalKind.MISTAKE: "the question has a mistake",
    RefusalKind.OFFER: "the offer does not fit",
}
