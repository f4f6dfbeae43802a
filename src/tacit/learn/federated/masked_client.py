"""A client's side of a secure sum: it shows nothing but a masked vector, and helps to take masks off once.

Bonawitz et al. 2017 with the rounds keys, shares, upload, survivors (against a lying server), unmask. Each is answered
once and in this order; the first message that is not as it must be ends it, and whatever was secret is forgotten.
"""

import json
from typing import Any

import numpy as np

from tacit.base import Aborted, InputError
from tacit.learn.federated.channel import (
    SEED,
    KeyPair,
    Words,
    add_mask,
    mask_seed,
    open_letter,
    public_of,
    seal_letter,
)
from tacit.learn.federated.shamir import share_out
from tacit.learn.federated.terms import ClientKey, Message, SumTerms, column, is_signed
from tacit.noise import rng_or_default

__all__ = ["SHARE", "MaskedClient"]

SHARE = 33  # bytes of a number below the prime
FORGOTTEN = KeyPair(b"", b"")
STAGES = ("keys", "shares", "upload", "survivors", "unmask")


class MaskedClient:
    """The client at `place`, for one sum. `key` signs, where the server may lie."""

    def __init__(self, terms: SumTerms, place: int, *, key: ClientKey | None = None) -> None:
        if not 1 <= place <= terms.clients:
            raise InputError(f"place must be from 1 to {terms.clients}, not {place}")
        lying = terms.server == "lying"
        if lying and (key is None or key.public != terms.registered[place - 1]):
            raise InputError("against a lying server a client needs the key that is registered for its place")
        self.terms, self.place = terms, place
        self._signing = key if lying else None
        self._rng = rng_or_default(None)
        self._stages = [stage for stage in STAGES if lying or stage != "survivors"]
        self._channel, self._mask = (KeyPair.draw(self._rng) for _ in range(2))
        self._seed = bytes(self._rng.read(SEED))
        self._public: dict[int, tuple[bytes, bytes]] = {}
        self._kept: dict[int, bytes] = {}  # by sender: its share of a mask key and of a seed
        self._partners: list[int] = []
        self._agreed: list[int] | None = None

    def answer(self, stage: str, message: Message, words: Words | None = None) -> dict[str, Any]:
        """What this client says at a stage, once. `words` is its vector, for the upload alone."""
        try:
            if not self._stages or stage != self._stages.pop(0):
                raise Aborted(f"{stage!r} was asked for out of turn: the secure sum is broken off")
            if stage == "upload":
                return self._upload(message, words)
            reply: dict[str, Any] = getattr(self, f"_{stage}")(message)
            return reply
        except BaseException:
            self._forget()
            raise
        finally:
            if not self._stages:
                self._forget()

    def _forget(self) -> None:
        self._stages, self._kept, self._public, self._seed = [], {}, {}, b""
        self._channel = self._mask = FORGOTTEN

    # --- for a device whose program starts anew for each message

    def secrets(self) -> bytes:
        """All of its state, to be kept on the device and nowhere else."""
        state = {
            "stages": self._stages,
            "channel": self._channel.secret.hex(),
            "mask": self._mask.secret.hex(),
            "seed": self._seed.hex(),
            "public": [[place, first.hex(), second.hex()] for place, (first, second) in self._public.items()],
            "kept": [[place, letter.hex()] for place, letter in self._kept.items()],
            "partners": self._partners,
            "agreed": self._agreed,
        }
        return json.dumps(state).encode()

    def restore(self, secrets: bytes) -> None:
        """Go on where another object with the same terms and place was."""
        state = json.loads(secrets)
        self._stages, self._partners, self._agreed = state["stages"], state["partners"], state["agreed"]
        self._seed = bytes.fromhex(state["seed"])
        self._channel, self._mask = (_pair_of(bytes.fromhex(state[name])) for name in ("channel", "mask"))
        self._public = {place: (bytes.fromhex(a), bytes.fromhex(b)) for place, a, b in state["public"]}
        self._kept = {place: bytes.fromhex(letter) for place, letter in state["kept"]}

    def _keys(self, message: Message) -> dict[str, Any]:
        channel, mask = self._channel.public, self._mask.public
        signed = {}
        if self._signing is not None:
            signed["signature"] = self._signing.sign(self.terms.keys_content(self.place, channel, mask))
        return {"channel": channel, "mask": mask, **signed}

    def _shares(self, message: Message) -> dict[str, Any]:
        """Everybody's keys come in; a share of both own secrets goes to each, sealed."""
        terms = self.terms
        places = terms.places(message, "places")
        channels, masks = column(message, "channels", len(places)), column(message, "masks", len(places))
        self._public = dict(zip(places, zip(channels, masks, strict=True), strict=True))
        if len({*channels, *masks}) != 2 * len(places):
            raise Aborted("two public keys are the same: the secure sum is broken off")
        if self._public.get(self.place) != (self._channel.public, self._mask.public):
            raise Aborted("a client's own keys came back changed: the secure sum is broken off")
        if terms.server == "lying":
            signatures = column(message, "signatures", len(places))
            for place, signature in zip(places, signatures, strict=True):
                content = terms.keys_content(place, *self._public[place])
                if not is_signed(terms.registered[place - 1], content, signature):
                    raise Aborted(f"the keys of client {place} are forged: the secure sum is broken off")
        every = range(1, terms.clients + 1)
        of_mask = share_out(self._mask.secret, threshold=terms.threshold, places=every, rng=self._rng)
        of_seed = share_out(self._seed, threshold=terms.threshold, places=every, rng=self._rng)
        letters = {place: _pair(of_mask[place], of_seed[place]) for place in places}
        self._kept[self.place] = letters.pop(self.place)
        sealed = [
            seal_letter(self._channel.secret, self._public[to][0], bound=terms.bound(self.place, to), letter=letter)
            for to, letter in letters.items()
        ]
        return {"places": list(letters), "letters": sealed}

    def _upload(self, message: Message, words: Words | None) -> dict[str, Any]:
        """The letters of all partners come in; the vector goes out, with a mask of its own and one for each of them."""
        terms = self.terms
        senders = terms.places(dict(message) | {"senders": [*_listed(message, "senders"), self.place]}, "senders")[:-1]
        if not set(senders) <= self._public.keys():
            raise Aborted("senders holds a client without keys: the secure sum is broken off")
        for sender, sealed in zip(senders, column(message, "letters", len(senders)), strict=True):
            bound = terms.bound(sender, self.place)
            letter = open_letter(self._channel.secret, self._public[sender][0], bound=bound, sealed=sealed)
            if letter is None or len(letter) != 2 * SHARE:
                raise Aborted(f"the letter of client {sender} was changed on its way: the secure sum is broken off")
            self._kept[sender] = letter
        self._partners = sorted([*senders, self.place])
        if words is None or words.dtype != np.dtype(terms.letters) or words.shape != (terms.size,):
            raise InputError(f"a vector of {terms.size} numbers of type {terms.letters} is to be uploaded")
        masked = words.copy()
        add_mask(masked, self._seed)
        for partner in senders:
            pair = terms.bound(*sorted((partner, self.place)))
            seed = mask_seed(self._mask.secret, self._public[partner][1], bound=pair)
            add_mask(masked, seed, minus=self.place > partner)
        masked &= np.array((1 << terms.bits) - 1, dtype=masked.dtype)
        return {"vector": masked.tobytes()}

    def _survivors(self, message: Message) -> dict[str, Any]:
        assert self._signing is not None  # the stage is asked for with one alone
        self._agreed = self._left(message)
        return {"signature": self._signing.sign(self.terms.survivors_content(self._agreed))}

    def _unmask(self, message: Message) -> dict[str, Any]:
        """Of each partner one share: of its seed if it is left, of its mask key if it is not. Never both."""
        terms, left = self.terms, self._left(message)
        if terms.server == "lying":
            if left != self._agreed:
                raise Aborted("who is left has changed after it was signed: the secure sum is broken off")
            signers = terms.places(message, "signers", within=left)
            content = terms.survivors_content(left)
            for signer, signature in zip(signers, column(message, "signatures", len(signers)), strict=True):
                if not is_signed(terms.registered[signer - 1], content, signature):
                    raise Aborted(f"client {signer} did not sign who is left: the secure sum is broken off")
        gone = [place for place in self._partners if place not in left]
        return {
            "left": left,
            "seeds": [self._kept[place][SHARE:] for place in left],
            "gone": gone,
            "masks": [self._kept[place][:SHARE] for place in gone],
        }

    def _left(self, message: Message) -> list[int]:
        left = sorted(self.terms.places(message, "survivors", within=self._partners))
        if self.place not in left:
            raise Aborted("a client was asked to unmask a sum that it is not part of: the secure sum is broken off")
        return left


def _pair_of(secret: bytes) -> KeyPair:
    return KeyPair(secret, public_of(secret)) if secret else FORGOTTEN


def _pair(first: int, second: int) -> bytes:
    return first.to_bytes(SHARE, "big") + second.to_bytes(SHARE, "big")


def _listed(message: Message, name: str) -> list[Any]:
    found = message.get(name)
    if not isinstance(found, list):
        raise Aborted(f"{name} must be a list: the secure sum is broken off")
    return found
