"""Who may answer a survey by invitation: digests of its codes, and of the tokens that were used.

Neither table has a time, an order, or anything of a report. A code or token is used up in the transaction that keeps
the report, so a retry of the same submission, which its random name shows, is counted once and refused never.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from sqlalchemy import Column, Connection, LargeBinary, MetaData, Table, Text, func, insert, select, update

from tacit.noise import rng_or_default
from tacit.survey.invitation import BITS, Invitations, PublicKey

__all__ = ["Refusal", "TokenSigner", "admitted", "exchanged", "invite", "invited", "metadata", "stored_key"]

metadata = MetaData()
codes = Table(
    "tacit_survey_codes",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("code", LargeBinary, primary_key=True),
    Column("used", LargeBinary, nullable=False),  # UNUSED, or USED, or the digest of what it was exchanged for
    sqlite_with_rowid=False,  # a row's number would be its place in time
)
tokens = Table(
    "tacit_survey_tokens",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("token", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
keys = Table(
    "tacit_survey_keys",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("key", LargeBinary, nullable=False),
)
UNUSED, USED = b"", b"\x01"
AT_ONCE = 500  # digests that are looked up in one query


class Refusal(Enum):
    """Why an invitation does not admit a report."""

    UNKNOWN = "unknown"
    USED = "used"


def invite(connection: Connection, survey: str, digests: Sequence[bytes]) -> None:
    """Let whoever has one of these codes answer."""
    rows = [{"survey": survey, "code": digest, "used": UNUSED} for digest in sorted(digests)]
    if rows:
        connection.execute(insert(codes), rows)


def invited(connection: Connection, survey: str) -> tuple[int, int]:
    """How many codes there are, and how many of them were used."""
    here = codes.c.survey == survey
    made = connection.execute(select(func.count()).select_from(codes).where(here)).scalar_one()
    used = connection.execute(select(func.count()).select_from(codes).where(here, codes.c.used != UNUSED)).scalar_one()
    return int(made), int(used)


def admitted(
    connection: Connection, survey: str, kind: Invitations, wanted: Mapping[bytes, bytes]
) -> dict[bytes, Refusal]:
    """Use up what admits each submission, by its random name; those that are not admitted, and why.

    The caller holds the survey's lock. Of several that come with one code, the first is admitted.
    """
    refused: dict[bytes, Refusal] = {}
    used = _used(connection, survey, kind, sorted(set(wanted.values())))
    spent: list[bytes] = []
    for name, digest in wanted.items():
        state = used.get(digest)
        if state is None:
            refused[name] = Refusal.UNKNOWN
        elif state:
            refused[name] = Refusal.USED
        else:
            used[digest] = True
            spent.append(digest)
    if spent and kind is Invitations.TOKEN:
        connection.execute(insert(tokens), [{"survey": survey, "token": digest} for digest in sorted(spent)])
    for start in range(0, len(spent), AT_ONCE) if kind is Invitations.CODE else ():
        some = codes.c.code.in_(spent[start : start + AT_ONCE])
        connection.execute(update(codes).where(codes.c.survey == survey, some).values(used=USED))
    return refused


def _used(connection: Connection, survey: str, kind: Invitations, digests: Sequence[bytes]) -> dict[bytes, bool]:
    """Whether each is used up; what is not there is unknown. The signature of a token was checked before."""
    found: dict[bytes, bool] = dict.fromkeys(digests, False) if kind is Invitations.TOKEN else {}
    for start in range(0, len(digests), AT_ONCE):
        some = digests[start : start + AT_ONCE]
        if kind is Invitations.TOKEN:
            query = select(tokens.c.token).where(tokens.c.survey == survey, tokens.c.token.in_(some))
            found |= {bytes(row[0]): True for row in connection.execute(query)}
        else:
            query = select(codes.c.code, codes.c.used).where(codes.c.survey == survey, codes.c.code.in_(some))
            found |= {bytes(code): bytes(used) != UNUSED for code, used in connection.execute(query)}
    return found


def exchanged(connection: Connection, survey: str, code: bytes, hidden: bytes) -> Refusal | None:
    """Use up a code for the signature on a hidden form, whose digest this is. The same form may ask again."""
    here = (codes.c.survey == survey, codes.c.code == code)
    before = connection.execute(select(codes.c.used).where(*here)).scalar_one_or_none()
    if before is None:
        return Refusal.UNKNOWN
    if bytes(before) == UNUSED:
        connection.execute(update(codes).where(*here).values(used=hidden))
        return None
    return None if bytes(before) == hidden else Refusal.USED


def stored_key(connection: Connection, survey: str, fresh: Callable[[], bytes]) -> bytes:
    """The key that signs this survey's tokens, which `fresh` makes the first time."""
    found = connection.execute(select(keys.c.key).where(keys.c.survey == survey)).scalar_one_or_none()
    if found is not None:
        return bytes(found)
    made = fresh()
    connection.execute(insert(keys), {"survey": survey, "key": made})
    return made


PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)


class TokenSigner:
    """A private RSA key in the form that it is stored in."""

    def __init__(self, stored: bytes) -> None:
        key = serialization.load_der_private_key(stored, password=None)
        assert isinstance(key, rsa.RSAPrivateKey), "as `new` makes it"
        self._key, self._numbers = key, key.private_numbers()
        self.public = PublicKey(self._numbers.public_numbers.n)

    @staticmethod
    def new() -> bytes:
        """A fresh key, to be stored."""
        made = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        return made.private_bytes(encoding, form, serialization.NoEncryption())

    def signed(self, blinded: str) -> str | None:
        """The signature on a hidden form; None if that is no number below the key's.

        The number is hidden once more, by a factor of our own, so that the time this takes says nothing about the key.
        """
        modulus, value = self.public.modulus, int(blinded, 16)
        if not 0 < value < modulus:
            return None
        factor = 2 + int.from_bytes(bytes(rng_or_default(None).read(BITS // 8 + 16)), "big") % (modulus - 3)
        found = pow(value * self.public.raised(factor), self._numbers.d, modulus) * pow(factor, -1, modulus) % modulus
        assert self.public.raised(found) == value, "a wrong signature would give the key away"
        return f"{found:0{BITS // 4}x}"

    def knows(self, message: bytes, signature: bytes) -> bool:
        """Whether this key signed that message."""
        try:
            self._key.public_key().verify(signature, message, PSS, hashes.SHA384())
        except InvalidSignature:
            return False
        return True
