"""The server's side of a secure sum: it carries letters, adds up masked vectors, and takes off what masks are left.

It is given what clients answered, and says what to send next; how messages travel is not its business. Too few answers
at any stage, or answers that do not fit together, raise `Aborted`: nothing of the sum is known then.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tacit.base import Aborted, InputError
from tacit.learn.federated.channel import SEED, Words, add_mask, mask_seed, public_of
from tacit.learn.federated.masked_client import SHARE
from tacit.learn.federated.shamir import PRIME, join_shares
from tacit.learn.federated.terms import Message, SumTerms, is_signed

__all__ = ["Exchange", "MaskedSum"]

Messages = dict[int, dict[str, Any]]
Exchange = Callable[[str, Messages], Mapping[int, Message]]  # a stage and what to send; gives what came back
KEY = 32


class MaskedSum:
    """One sum. `survivors` are the places whose vectors are in it, once it is known."""

    def __init__(self, terms: SumTerms) -> None:
        self.terms = terms
        self.survivors: tuple[int, ...] = ()
        self._public: dict[int, tuple[bytes, bytes]] = {}

    def run(self, exchange: Exchange) -> Words:
        """The sum modulo 2^bits, by asking everybody for one stage after the other."""
        everybody: Messages = {place: {} for place in range(1, self.terms.clients + 1)}
        keys = self._ask(exchange, "keys", everybody, self._has_keys)
        letters = self._ask(exchange, "shares", self._introduce(keys), self._has_letters)
        vectors = self._ask(exchange, "upload", self._deliver(letters), self._has_vector)
        left = sorted(vectors)
        asked: dict[str, Any] = {"survivors": left}
        helpers = left
        if self.terms.server == "lying":
            signed = self._ask(exchange, "survivors", {place: dict(asked) for place in left}, self._has_signature(left))
            helpers = sorted(signed)
            asked |= {"signers": helpers, "signatures": [signed[place]["signature"] for place in helpers]}
        shares = self._ask(exchange, "unmask", {place: dict(asked) for place in helpers}, self._has_shares(left))
        total = self._unmasked(vectors, sorted(letters), shares)
        self.survivors = tuple(left)
        return total

    def _ask(
        self, exchange: Exchange, stage: str, messages: Messages, fits: Callable[[int, Message], bool]
    ) -> dict[int, Message]:
        """The answers that are whole, of those who were asked; others are as good as none."""
        answers = exchange(stage, messages)
        whole = {place: answers[place] for place in messages if place in answers and fits(place, answers[place])}
        if len(whole) < self.terms.threshold:
            raise Aborted(
                f"{len(whole)} of {self.terms.clients} clients are left, and {self.terms.threshold} are needed: "
                "nothing is released"
            )
        return whole

    def _introduce(self, keys: dict[int, Message]) -> Messages:
        self._public = {place: (each["channel"], each["mask"]) for place, each in keys.items()}
        told: dict[str, Any] = {
            "places": list(keys),
            "channels": [channel for channel, _ in self._public.values()],
            "masks": [mask for _, mask in self._public.values()],
        }
        if self.terms.server == "lying":
            told["signatures"] = [each["signature"] for each in keys.values()]
        return {place: dict(told) for place in keys}

    def _has_keys(self, place: int, answer: Message) -> bool:
        if not all(isinstance(answer.get(name), bytes) and len(answer[name]) == KEY for name in ("channel", "mask")):
            return False
        content = self.terms.keys_content(place, answer["channel"], answer["mask"])
        return self.terms.server != "lying" or self._signed(place, content, answer)

    def _has_signature(self, left: list[int]) -> Callable[[int, Message], bool]:
        content = self.terms.survivors_content(left)
        return lambda place, answer: self._signed(place, content, answer)

    def _signed(self, place: int, content: bytes, answer: Message) -> bool:
        """All others break off over a signature that does not fit, so one client's is looked at before it is told."""
        signature = answer.get("signature")
        return isinstance(signature, bytes) and is_signed(self.terms.registered[place - 1], content, signature)

    def _has_letters(self, place: int, answer: Message) -> bool:
        places, letters = answer.get("places"), answer.get("letters")
        if not isinstance(places, list) or not isinstance(letters, list) or len(letters) != len(places):
            return False
        return sorted(places) == sorted(self._public.keys() - {place}) and all(type(each) is bytes for each in letters)

    def _deliver(self, letters: dict[int, Message]) -> Messages:
        sent = {place: dict(zip(each["places"], each["letters"], strict=True)) for place, each in letters.items()}
        out = {}
        for place in sent:
            senders = [other for other in sent if other != place]
            out[place] = {"senders": senders, "letters": [sent[other][place] for other in senders]}
        return out

    def _has_vector(self, place: int, answer: Message) -> bool:
        vector = answer.get("vector")
        return isinstance(vector, bytes) and len(vector) == self.terms.size * np.dtype(self.terms.letters).itemsize

    def _has_shares(self, left: list[int]) -> Callable[[int, Message], bool]:
        def fits(place: int, answer: Message) -> bool:
            lists = [answer.get(name) for name in ("left", "seeds", "gone", "masks")]
            if not all(isinstance(each, list) for each in lists) or answer["left"] != left:
                return False
            return all(type(gone) is int for gone in answer["gone"])

        return fits

    def _unmasked(self, vectors: dict[int, Message], uploaders: list[int], shares: dict[int, Message]) -> Words:
        terms = self.terms
        total = np.zeros(terms.size, dtype=terms.letters)
        for each in vectors.values():
            total += np.frombuffer(each["vector"], dtype=terms.letters)
        seeds, masks = _by_place(shares, "left", "seeds"), _by_place(shares, "gone", "masks")
        for place in vectors:
            add_mask(total, self._joined(seeds, place, SEED), minus=True)
        for place in (place for place in uploaders if place not in vectors):
            secret = self._joined(masks, place, KEY)
            if public_of(secret) != self._public[place][1]:
                raise Aborted(f"the shares of client {place}'s key are wrong: nothing is released")
            for partner in vectors:
                pair = terms.bound(*sorted((partner, place)))
                seed = mask_seed(secret, self._public[partner][1], bound=pair)
                add_mask(total, seed, minus=partner < place)
        total &= np.array((1 << terms.bits) - 1, dtype=total.dtype)
        return total

    def _joined(self, shares: dict[int, dict[int, Any]], place: int, size: int) -> bytes:
        found = {}
        for holder, given in shares.items():
            share = given.get(place)
            if isinstance(share, bytes) and len(share) == SHARE and int.from_bytes(share, "big") < PRIME:
                found[holder] = int.from_bytes(share, "big")
        if len(found) < self.terms.threshold:
            raise Aborted(f"too few shares of client {place}'s secrets came back: nothing is released")
        try:
            return join_shares(found, threshold=self.terms.threshold, size=size)
        except InputError:
            raise Aborted(f"the shares of client {place}'s secrets are wrong: nothing is released") from None


def _by_place(shares: dict[int, Message], who: str, what: str) -> dict[int, dict[int, Any]]:
    """What each holder gave, by the place that it is a share of."""
    return {holder: dict(zip(answer[who], answer[what], strict=False)) for holder, answer in shares.items()}
