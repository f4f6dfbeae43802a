"""A secure sum gives the sum of who is left, whoever drops out; and every lie of a server ends it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.cohorts import (
    RUN,
    Messages,
    client_keys,
    exchange_with,
    masked_clients,
    sum_terms,
    vectors,
)
from tacit.base import Aborted, InputError
from tacit.learn.federated.channel import KeyPair, add_mask, open_letter, seal_letter
from tacit.learn.federated.masked_client import MaskedClient
from tacit.learn.federated.masked_sum import MaskedSum
from tacit.learn.federated.terms import SumTerms
from tacit.noise import SecureRng


@pytest.mark.parametrize("lying", [False, True])
@pytest.mark.parametrize(
    "gone",
    [
        {},
        {"keys": [2]},
        {"shares": [1]},
        {"upload": [5]},
        {"unmask": [3]},
        {"survivors": [4]},
        {"keys": [1], "shares": [2], "upload": [3], "unmask": [4]},
        {"upload": [1, 2, 3]},
    ],
)
def test_the_sum_of_who_is_left(lying: bool, gone: dict[str, list[int]]) -> None:
    terms = sum_terms(clients=9, threshold=5 if lying else 4, lying=lying)
    words = vectors(terms)
    total = MaskedSum(terms)
    found = total.run(exchange_with(masked_clients(terms), words, gone=gone))
    out = {place for stage in ("keys", "shares", "upload") for place in gone.get(stage, ())}
    assert set(total.survivors) == set(range(1, 10)) - out
    assert (found == sum((words[place] for place in total.survivors), np.zeros(terms.size, "<u2"))).all()


@pytest.mark.parametrize("stage", ["keys", "shares", "upload", "unmask"])
def test_too_few_left_is_no_sum(stage: str) -> None:
    terms = sum_terms()
    with pytest.raises(Aborted, match=r"nothing is released|too few"):
        MaskedSum(terms).run(exchange_with(masked_clients(terms), vectors(terms), gone={stage: [1, 2]}))


def test_an_upload_says_nothing_by_itself() -> None:
    """The same vector, uploaded in many sums: its words are spread over all values (chi-square, p > 1e-9)."""
    seen = []
    for _ in range(60):
        terms = sum_terms(clients=2, threshold=2, size=64)
        uploads: dict[int, Any] = {}
        network = exchange_with(masked_clients(terms), {1: np.zeros(64, "<u2"), 2: np.zeros(64, "<u2")})

        def watched(stage: str, messages: Messages, network: Any = network, uploads: Any = uploads) -> Any:
            answers = network(stage, messages)
            if stage == "upload":
                uploads.update(answers)
            return answers

        assert not MaskedSum(terms).run(watched).any()
        seen.append(np.frombuffer(uploads[1]["vector"], dtype="<u2"))
    counts = np.bincount(np.concatenate(seen) >> 12, minlength=16)
    assert ((counts - 240) ** 2 / 240).sum() < 80


def test_a_late_upload_stays_hidden() -> None:
    """The server took a client for gone and learnt its mask key; its upload is still masked by its own seed."""
    terms = sum_terms()
    clients, words = masked_clients(terms), vectors(terms)
    late: dict[int, Any] = {}

    def exchange(stage: str, messages: Messages) -> Messages:
        answers = {p: clients[p].answer(stage, m, words[p] if stage == "upload" else None) for p, m in messages.items()}
        if stage == "upload":
            late[5] = answers.pop(5)
        return answers

    total = MaskedSum(terms)
    found = total.run(exchange)
    assert (found == sum((words[p] for p in range(1, 5)), np.zeros(terms.size, "<u2"))).all()
    assert not (np.frombuffer(late[5]["vector"], dtype="<u2") == words[5]).all()
    with pytest.raises(Aborted, match="out of turn"):
        clients[1].answer("unmask", {"survivors": [1, 2, 3, 4, 5]})


# --- lies


def lying_sum(lie: Callable[[str, Messages], Messages], *, clients: int = 5, threshold: int = 4) -> None:
    terms = sum_terms(clients=clients, threshold=threshold, lying=True)
    MaskedSum(terms).run(exchange_with(masked_clients(terms), vectors(terms), lie=lie))


def at(stage: str, change: Callable[[int, dict[str, Any]], None]) -> Callable[[str, Messages], Messages]:
    def lie(now: str, messages: Messages) -> Messages:
        if now == stage:
            for place, message in messages.items():
                change(place, message)
        return messages

    return lie


def test_forged_keys() -> None:
    """The server puts a key of its own in the place of client 2's, for all others."""
    own = KeyPair.draw(SecureRng())

    def change(place: int, message: dict[str, Any]) -> None:
        if place != 2:
            message["channels"] = [own.public if p == 2 else c for p, c in enumerate(message["channels"], 1)]

    with pytest.raises(Aborted, match="client 2 are forged"):
        lying_sum(at("shares", change))


def test_keys_of_another_round() -> None:
    earlier = masked_clients(sum_terms(lying=True, round=7))
    old = earlier[3].answer("keys", {})

    def change(place: int, message: dict[str, Any]) -> None:
        if place != 3:
            for name, what in (("channels", "channel"), ("masks", "mask"), ("signatures", "signature")):
                message[name] = [old[what] if p == 3 else x for p, x in enumerate(message[name], 1)]

    with pytest.raises(Aborted, match="client 3 are forged"):
        lying_sum(at("shares", change))


def test_own_keys_changed_and_keys_twice() -> None:
    for lying in (False, True):
        terms = sum_terms(lying=lying)

        def swap(place: int, message: dict[str, Any]) -> None:
            message["channels"] = list(reversed(message["channels"]))

        def double(place: int, message: dict[str, Any]) -> None:
            message["channels"] = [message["channels"][0]] * len(message["channels"])

        for change, words in ((swap, "came back changed|forged"), (double, "are the same")):
            network = exchange_with(masked_clients(terms), vectors(terms), lie=at("shares", change))
            with pytest.raises(Aborted, match=words):
                MaskedSum(terms).run(network)


def test_a_letter_changed_or_of_another() -> None:
    def flip(place: int, message: dict[str, Any]) -> None:
        letter = bytearray(message["letters"][0])
        letter[5] ^= 1
        message["letters"][0] = bytes(letter)

    def exchanged(place: int, message: dict[str, Any]) -> None:
        message["letters"] = list(reversed(message["letters"]))

    for change in (flip, exchanged):
        with pytest.raises(Aborted, match="was changed on its way"):
            lying_sum(at("upload", change))


def test_different_survivors_to_different_clients() -> None:
    """Half is told that client 5 is left, half that it is gone: both of its secrets would come out."""

    def change(place: int, message: dict[str, Any]) -> None:
        if place % 2:
            message["survivors"] = [1, 2, 3, 4]

    with pytest.raises(Aborted):
        lying_sum(at("survivors", change))

    terms = sum_terms(lying=True)
    clients, words = masked_clients(terms), vectors(terms)

    def two_lists(stage: str, messages: Messages) -> Messages:
        """All sign that five are left; then some are asked to unmask a sum of four."""
        if stage == "unmask":
            for place in (1, 2):
                messages[place]["survivors"] = [1, 2, 3, 4]
        return messages

    with pytest.raises(Aborted, match="changed after it was signed"):
        MaskedSum(terms).run(exchange_with(clients, words, lie=two_lists))


def test_survivors_that_nobody_signed() -> None:
    stranger = client_keys(9)[8]

    def change(place: int, message: dict[str, Any]) -> None:
        message["signatures"] = [stranger.sign(b"anything") for _ in message["signers"]]

    with pytest.raises(Aborted, match="did not sign who is left"):
        lying_sum(at("unmask", change))

    def once(place: int, message: dict[str, Any]) -> None:
        message["signers"], message["signatures"] = [1] * 4, message["signatures"][:1] * 4

    with pytest.raises(Aborted, match="holds a place twice"):
        lying_sum(at("unmask", once))


def test_both_secrets_of_one_client() -> None:
    for lying in (False, True):
        terms = sum_terms(clients=6, lying=lying, threshold=4)
        clients, words = masked_clients(terms), vectors(terms)
        asked: dict[str, Any] = {}

        def remember(stage: str, messages: Messages, asked: dict[str, Any] = asked) -> Messages:
            if stage == "unmask":
                asked.update(messages[1])
            return messages

        MaskedSum(terms).run(exchange_with(clients, words, lie=remember))
        with pytest.raises(Aborted, match="out of turn"):
            clients[1].answer("unmask", asked | {"survivors": [1, 2, 3, 4, 5]})


def test_answers_never_hold_both_shares() -> None:
    terms = sum_terms(clients=6, threshold=4)
    told: dict[int, Any] = {}
    network = exchange_with(masked_clients(terms), vectors(terms), gone={"upload": [6]})

    def exchange(stage: str, messages: Messages) -> Any:
        answers = network(stage, messages)
        if stage == "unmask":
            told.update(answers)
        return answers

    MaskedSum(terms).run(exchange)
    for answer in told.values():
        assert answer["left"] == [1, 2, 3, 4, 5]
        assert answer["gone"] == [6]


def test_letters_of_another_round() -> None:
    """The server keeps letters of an earlier round, between the same clients, and hands them out once more."""
    kept: dict[int, Any] = {}

    def keep(stage: str, messages: Messages) -> Messages:
        if stage == "upload":
            kept.update(messages)
        return messages

    earlier = sum_terms(lying=True, round=7)
    MaskedSum(earlier).run(exchange_with(masked_clients(earlier), vectors(earlier), lie=keep))
    with pytest.raises(Aborted, match="was changed on its way"):
        lying_sum(at("upload", lambda place, message: message.update(kept[place])))


COLLUDING = (5, 6)


@pytest.mark.parametrize("forged", ["in others' names", "of another list", "of another round", "too few"])
def test_a_shorter_list_that_colluders_sign(forged: str) -> None:
    """Six clients, of whom two help the server; all have signed that six are left. The server asks for the sum of five,
    with signatures of the two and whatever it can find."""
    terms = sum_terms(clients=6, threshold=5, lying=True, colluding=2)
    keys, shorter = client_keys(6), [1, 3, 4, 5, 6]
    earlier = sum_terms(clients=6, threshold=5, lying=True, colluding=2, round=7)

    def change(place: int, message: dict[str, Any]) -> None:
        own = {p: keys[p - 1].sign(terms.survivors_content(shorter)) for p in COLLUDING}
        if forged == "in others' names":
            found = own | dict.fromkeys((1, 3, 4), own[5])
        elif forged == "of another list":
            found = own | {p: message["signatures"][p - 1] for p in (1, 3, 4)}
        elif forged == "of another round":
            found = own | {p: keys[p - 1].sign(earlier.survivors_content(shorter)) for p in (1, 3, 4)}
        else:
            found = own
        message |= {"survivors": shorter, "signers": list(found), "signatures": list(found.values())}

    with pytest.raises(Aborted, match="changed after it was signed"):  # whoever signed six, whatever it is shown
        MaskedSum(terms).run(exchange_with(masked_clients(terms), vectors(terms), lie=at("unmask", change)))

    def from_the_start(stage: str, messages: Messages) -> Messages:
        """Client 4 is asked to sign the shorter list itself, and no other honest one is."""
        if stage == "survivors":
            messages[4]["survivors"] = shorter
        return at("unmask", change)(stage, {4: dict(messages[1])} if stage == "unmask" else messages)

    with pytest.raises(Aborted, match=r"did not sign who is left|are fewer than"):
        MaskedSum(terms).run(exchange_with(masked_clients(terms), vectors(terms), lie=from_the_start))


def test_a_letter_withheld_from_one() -> None:
    """Client 2 is not told of client 1, and all sign a list with both: their masks do not cancel, and nothing shows."""
    terms = sum_terms(clients=6, threshold=4, lying=True, size=4096)
    clients, words = masked_clients(terms), vectors(terms)

    def exchange(stage: str, messages: Messages) -> Messages:
        if stage == "upload":
            senders, letters = messages[2]["senders"], messages[2]["letters"]
            at = senders.index(1)
            messages[2] = {"senders": senders[:at] + senders[at + 1 :], "letters": letters[:at] + letters[at + 1 :]}
        if stage in ("survivors", "unmask"):
            if stage == "survivors":
                with pytest.raises(Aborted, match="cannot be there"):
                    clients[2].answer(stage, messages[2])
            messages.pop(2, None)
        return {p: clients[p].answer(stage, m, words[p] if stage == "upload" else None) for p, m in messages.items()}

    found = MaskedSum(terms).run(exchange)
    for some in (range(1, 7), [1, 3, 4, 5, 6], range(2, 7), range(3, 7)):
        assert (found == sum((words[p] for p in some), np.zeros(4096, "<u2"))).mean() < 0.005


def test_a_vector_that_is_cut_short_or_counted_twice() -> None:
    """A client's short vector is as good as none. A server that counts one twice has masks left in its sum."""
    terms = sum_terms(size=4096)
    words, kept = vectors(terms), dict[int, Any]()

    def short(stage: str, messages: Messages) -> Any:
        answers = dict(network(stage, messages))
        if stage == "upload":
            answers[3] = {"vector": answers[3]["vector"][:-2]}
            kept.update(answers)
        return answers

    network = exchange_with(masked_clients(terms), words)
    total = MaskedSum(terms)
    assert (total.run(short) == sum((words[p] for p in (1, 2, 4, 5)), np.zeros(4096, "<u2"))).all()
    assert total.survivors == (1, 2, 4, 5)

    def twice(stage: str, messages: Messages) -> Any:
        answers = dict(again(stage, messages))
        if stage == "upload":
            answers[3] = answers[2]
        return answers

    again = exchange_with(masked_clients(terms), words)
    found = MaskedSum(terms).run(twice)
    for counts in ((1, 2, 0, 1, 1), (1, 1, 1, 1, 1), (1, 2, 1, 1, 1)):
        wanted = sum((np.uint16(c) * words[p] for p, c in enumerate(counts, 1)), np.zeros(4096, "<u2"))
        assert (found == wanted).mean() < 0.005


def test_shares_of_another_round_are_noticed() -> None:
    """A holder gives the share of a client's mask key that it got in another round."""
    old: dict[int, Any] = {}

    def unmasked(terms: SumTerms, spoil: bool) -> None:
        network = exchange_with(masked_clients(terms), vectors(terms), gone={"upload": [5]})

        def exchange(stage: str, messages: Messages) -> Any:
            answers = dict(network(stage, messages))
            if stage == "unmask":
                if spoil:
                    answers[1] = dict(answers[1]) | {"masks": old[1]["masks"]}
                old.update(answers)
            return answers

        MaskedSum(terms).run(exchange)

    unmasked(sum_terms(round=1), spoil=False)
    with pytest.raises(Aborted, match="are wrong: nothing is released"):
        unmasked(sum_terms(round=2), spoil=True)


@pytest.mark.parametrize(
    ("stage", "name", "value", "words"),
    [
        ("shares", "places", [1, 1, 2, 3], "twice"),
        ("shares", "places", [1, 2, 3, 99], "cannot be there"),
        ("shares", "places", "all", "list of places"),
        ("shares", "channels", [b""], "list of"),
        ("upload", "senders", [2], "fewer|list of"),
        ("upload", "senders", None, "must be a list"),
        ("unmask", "survivors", [1, 2], "fewer"),
        ("unmask", "survivors", [2, 3, 4, 5], "not part of|changed"),
        ("unmask", "survivors", [True, 2, 3, 4], "list of places"),
    ],
)
@pytest.mark.parametrize("lying", [False, True])
def test_a_message_that_is_not_as_it_must_be(stage: str, name: str, value: Any, words: str, lying: bool) -> None:
    terms = sum_terms(lying=lying)

    def change(place: int, message: dict[str, Any]) -> None:
        if place == 1:
            message[name] = value

    clients = masked_clients(terms)
    with pytest.raises(Aborted, match=words):
        MaskedSum(terms).run(exchange_with(clients, vectors(terms), lie=at(stage, change)))
    with pytest.raises(Aborted, match="out of turn"):  # and it answers nothing more
        clients[1].answer("unmask", {"survivors": [1, 2, 3, 4, 5]})


def test_a_key_of_low_order_ends_it() -> None:
    terms = sum_terms()

    def change(place: int, message: dict[str, Any]) -> None:
        if place != 2:
            message["channels"] = [bytes(32) if p == 2 else c for p, c in enumerate(message["channels"], 1)]

    with pytest.raises(Aborted, match="public key"):
        MaskedSum(terms).run(exchange_with(masked_clients(terms), vectors(terms), lie=at("shares", change)))


@pytest.mark.parametrize("secrets", ["masks", "seeds"])
def test_wrong_shares_are_noticed(secrets: str) -> None:
    terms = sum_terms()
    network = exchange_with(masked_clients(terms), vectors(terms), gone={"upload": [5]})

    def spoiled(stage: str, messages: Messages) -> Any:
        answers = dict(network(stage, messages))
        if stage == "unmask":
            answers[1] = dict(answers[1]) | {secrets: [bytes(33)] * len(answers[1][secrets])}
        return answers

    with pytest.raises(Aborted, match="are wrong: nothing is released"):
        MaskedSum(terms).run(spoiled)


@pytest.mark.parametrize("stage", ["keys", "survivors"])
@pytest.mark.parametrize("wrong", [b"", b"x" * 64, None])
def test_a_client_that_signs_wrongly_is_as_good_as_none(stage: str, wrong: Any) -> None:
    """All others would break off over it: one client would end every round."""
    terms = sum_terms(lying=True)
    words = vectors(terms)
    network = exchange_with(masked_clients(terms), words)

    def exchange(now: str, messages: Messages) -> Any:
        answers = dict(network(now, messages))
        if now == stage:
            answers[2] = dict(answers[2]) | {"signature": wrong}
        return answers

    total = MaskedSum(terms)
    found = total.run(exchange)
    assert total.survivors == ((1, 3, 4, 5) if stage == "keys" else (1, 2, 3, 4, 5))
    assert (found == sum((words[place] for place in total.survivors), np.zeros(terms.size, "<u2"))).all()


# --- terms


def test_thresholds() -> None:
    with pytest.raises(InputError, match="colluding < threshold"):
        sum_terms(colluding=4)
    with pytest.raises(InputError, match="two halves"):
        sum_terms(clients=6, threshold=3, lying=True)
    sum_terms(clients=6, threshold=4, lying=True, colluding=1)
    with pytest.raises(InputError, match="at least 5, not 4"):
        sum_terms(clients=6, threshold=4, lying=True, colluding=2)
    with pytest.raises(InputError, match="registered"):
        SumTerms(clients=3, threshold=3, size=1, bits=8, run=RUN, round=1, server="lying")
    with pytest.raises(InputError, match="key that is registered"):
        MaskedClient(sum_terms(lying=True), 1, key=client_keys(2)[1])


def test_letters_are_bound_to_their_round_and_pair() -> None:
    first, second = (KeyPair.draw(SecureRng()) for _ in range(2))
    sealed = seal_letter(first.secret, second.public, bound=b"round 1", letter=b"a share")
    assert open_letter(second.secret, first.public, bound=b"round 1", sealed=sealed) == b"a share"
    assert open_letter(second.secret, first.public, bound=b"round 2", sealed=sealed) is None
    assert "share" not in repr(first)


def test_masks_cancel_and_cover_every_type() -> None:
    for kind in ("<u2", "<u4"):
        words = np.arange(300_000).astype(kind)
        masked = words.copy()
        add_mask(masked, bytes(range(16)))
        assert (masked != words).mean() > 0.99
        add_mask(masked, bytes(range(16)), minus=True)
        assert (masked == words).all()
