"""The kind of a refusal is data that travels with the error."""

import pickle

from tacit.base import Mistake, RefusalKind, Refused, Unpriced


def test_a_refusal_is_a_danger_unless_it_says_otherwise() -> None:
    assert Refused("no").kind is RefusalKind.DANGER
    assert Refused("not yet", kind=RefusalKind.UNSUPPORTED).kind is RefusalKind.UNSUPPORTED
    assert Mistake("slip").kind is RefusalKind.MISTAKE
    assert Unpriced("how much?").kind is RefusalKind.OFFER


def test_a_kind_survives_a_copy() -> None:
    found = pickle.loads(pickle.dumps(Refused("too long", kind=RefusalKind.LIMIT)))
    assert (str(found), found.kind) == ("too long", RefusalKind.LIMIT)


def test_every_kind_has_words() -> None:
    assert len({kind.words for kind in RefusalKind}) == len(RefusalKind)
