"""Who may come in: people with a role, their tokens, sign-in links and browser sessions.

Everything secret is shown once, when it is made, and stored as a hash. A person who is barred, a token that was revoked
and anything past its time let nobody in from the next request on.
"""

import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

from sqlalchemy import Row, Select, bindparam, delete, insert, select, update

from tacit.base import InputError
from tacit.policy.privacy import ANYBODY, name_of
from tacit.server.auth.tokens import ITERATIONS, SALT, Keys, Token, Verifier, digest, random_bytes, scram_keys, secret
from tacit.server.db import State, browsers, links, now, people, tokens

__all__ = ["ROLES", "Identity", "People", "Role", "plain_name"]

Role = Literal["curator", "analyst", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)

TOKEN_LIFE = timedelta(days=90)
LONGEST_LIFE = timedelta(days=3660)
LINK_LIFE = timedelta(hours=24)
BROWSER_LIFE = timedelta(hours=12)
STRANGER = 'nobody called "{}" can sign in: add them first with `tacit people add`'


@dataclass(frozen=True)
class Identity:
    """Somebody whom we know; the name is the one that policies and ledgers use."""

    name: str
    role: Role


IssuedToken = Row[Any]
"""What may be told about a token after it was shown, by the names in TOLD: everything but the token."""
TOLD = [tokens.c[name] for name in ("prefix", "person", "label", "created", "expires", "revoked")]


class People:
    """The list of people, safe to share between threads."""

    def __init__(self, state: State) -> None:
        self.state = state

    # --- who there is

    def add(self, name: str, role: str) -> Identity:
        """A new person. A name stays with one person for good: the ledger counts by it."""
        known = plain_name(name, "person")
        if known == ANYBODY:
            raise InputError('"*" stands for anybody in a policy, so nobody can have that name')
        who = Identity(known, _role(role))
        if not self.state.insert_once(people, name=known, role=role, created=now(), salt=random_bytes(SALT)):
            raise InputError(f'there is somebody called "{known}" already, perhaps barred: names are never given twice')
        return who

    def everybody(self) -> list[tuple[Identity, bool]]:
        """All people by name, and whether each may come in."""
        rows = self.state.look(select(people).order_by(people.c.name))
        return [(Identity(row.name, _role(row.role)), row.barred is None) for row in rows]

    def named(self, name: str) -> Identity | None:
        """A person who may come in."""
        row = self.state.find(select(people).where(people.c.name == name, people.c.barred.is_(None)))
        return None if row is None else Identity(row.name, _role(row.role))

    def bar(self, name: str) -> None:
        """Let somebody in no more: no token, link or session of theirs works from now on."""
        with self.state.writing() as connection:
            order = update(people).where(people.c.name == name, people.c.barred.is_(None)).values(barred=now())
            if not connection.execute(order).rowcount:
                raise InputError(f'nobody called "{name}" can sign in: `tacit people list` shows everybody')
            connection.execute(delete(browsers).where(browsers.c.person == name))

    # --- tokens

    def issue(self, name: str, *, label: str = "", life: timedelta = TOKEN_LIFE) -> Token:
        """A new token of this person. This is the only time that anybody sees it."""
        if not timedelta(0) < life <= LONGEST_LIFE:
            raise InputError(
                f"a token is valid for at most {LONGEST_LIFE.days} days, and longer than nothing: not {life}"
            )
        if len(label) > 100 or not label.isprintable():
            raise InputError("the label of a token is at most 100 printable characters")
        token, time = Token.new(), now()
        with self.state.writing() as connection:
            row = connection.execute(select(people).where(people.c.name == name)).one_or_none()
            if row is None or row.barred is not None:
                raise InputError(STRANGER.format(name))
            keys, expires = scram_keys(token, row.salt), time + life // timedelta(microseconds=1)
            told = {"prefix": token.prefix, "person": name, "label": label, "created": time, "expires": expires}
            kept = {"stored_key": keys.stored_key, "server_key": keys.server_key, "iterations": ITERATIONS}
            connection.execute(insert(tokens).values(digest=digest(token.text), **told, **kept))
        return token

    def issued(self, name: str) -> list[IssuedToken]:
        """The tokens of this person, the newest first."""
        query = select(*TOLD).where(tokens.c.person == name).order_by(tokens.c.created.desc(), tokens.c.prefix)
        return list(self.state.look(query))

    def revoke(self, prefix: str) -> IssuedToken:
        """A token that works no more. The first 12 digits name it; the whole token does too."""
        token = Token.read(prefix)
        place = prefix if token is None else token.prefix
        with self.state.writing() as connection:
            mine = tokens.c.prefix == place
            connection.execute(update(tokens).where(mine, tokens.c.revoked.is_(None)).values(revoked=now()))
            row = connection.execute(select(*TOLD).where(mine)).one_or_none()
        if row is None:
            raise InputError("there is no such token: name it by the 12 characters after tacit_")
        return row

    def by_token(self, token: str) -> Identity | None:
        """Whose token this is, if it is good now."""
        read = Token.read(token)
        if read is None:
            return None
        found = self.state.find(BY_PREFIX, prefix=read.prefix, now=now())
        if found is None or not hmac.compare_digest(found.digest, digest(read.text)):
            return None
        return Identity(found.person, _role(found.role))

    def alive(self, prefix: str) -> bool:
        """Whether the token of this prefix is still good: for connections that outlive a request."""
        return self.state.find(BY_PREFIX, prefix=prefix, now=now()) is not None

    def scram(self, name: str) -> Verifier | None:
        """What a wire client's proof is held against: every good token of this person."""
        query = _good(tokens, people.c.salt).where(tokens.c.person == name)
        query = query.order_by(tokens.c.created.desc(), tokens.c.prefix)
        rows = self.state.look(query, now=now())
        if not rows:
            return None
        kept = tuple(Keys(row.prefix, row.stored_key, row.server_key) for row in rows)
        return Verifier(rows[0].salt, rows[0].iterations, kept)

    # --- the browser

    def link(self, name: str, *, life: timedelta = LINK_LIFE) -> str:
        """A secret that signs this person in once."""
        if self.named(name) is None:
            raise InputError(STRANGER.format(name))
        text, expires = secret(), now() + life // timedelta(microseconds=1)
        self.state.change(insert(links).values(digest=digest(text), person=name, expires=expires))
        return text

    def sign_in(self, link: str, *, instead_of: str | None = None) -> str | None:
        """A new browser session for whoever has a link that was not used yet; the session that was there ends.

        The session's name is always a fresh one, so nobody can have planted it.
        """
        time, text = now(), secret()
        with self.state.writing() as connection:
            mine = (links.c.digest == digest(link)) & links.c.used.is_(None) & (links.c.expires > time)
            if not connection.execute(update(links).where(mine).values(used=time)).rowcount:
                return None
            row = connection.execute(select(links.c.person).where(links.c.digest == digest(link))).one()
            if instead_of is not None:
                connection.execute(delete(browsers).where(browsers.c.digest == digest(instead_of)))
            connection.execute(delete(browsers).where(browsers.c.expires <= time))
            times = {"created": time, "expires": time + BROWSER_LIFE // timedelta(microseconds=1)}
            connection.execute(insert(browsers).values(digest=digest(text), person=row.person, **times))
        return text if self.by_session(text) is not None else None

    def by_session(self, session: str) -> Identity | None:
        """Whose browser this is, if the session is open and they may come in."""
        found = self.state.find(BY_SESSION, digest=digest(session), now=now())
        return None if found is None else Identity(found.name, _role(found.role))

    def sign_out(self, session: str) -> None:
        """End a browser session."""
        self.state.change(delete(browsers).where(browsers.c.digest == digest(session)))

    # --- the first start

    def first(self, name: str = "admin") -> str | None:
        """On the first start a curator and the link to sign in with; later, None. There is no default password."""
        if self.state.look(select(people.c.name).limit(1)):
            return None
        self.add(name, "curator")
        return self.link(name)


def _good(*columns: Any) -> Select[Any]:
    """Tokens that work at the time `now`, with the person they belong to."""
    whole = select(*columns).join(people, people.c.name == tokens.c.person)
    return whole.where(tokens.c.revoked.is_(None), tokens.c.expires > bindparam("now"), people.c.barred.is_(None))


# written once: each request looks one of them up
BY_PREFIX = _good(tokens.c.person, people.c.role, tokens.c.digest).where(tokens.c.prefix == bindparam("prefix"))
BY_SESSION = (
    select(people.c.name, people.c.role)
    .join(browsers, browsers.c.person == people.c.name)
    .where(browsers.c.digest == bindparam("digest"), browsers.c.expires > bindparam("now"), people.c.barred.is_(None))
)


def plain_name(name: str, whose: str) -> str:
    """A name as policies and ledgers write it."""
    try:
        return name_of(name)
    except InputError as error:
        raise InputError(f"the {whose}'s name {error}") from None


def _role(text: str) -> Role:
    if text not in ROLES:
        raise InputError(f"a role is one of {', '.join(ROLES)}, not {text!r}")
    return text
