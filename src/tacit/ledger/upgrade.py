"""A book of version 1 becomes one of version 2: what stood beside the chains is written into them.

Answers and places of data that were there get entries as they are, marked `upgraded`: for what happened to them before,
the chain cannot vouch.
"""

from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, select, text, update

from tacit.ledger.answers import keep_line
from tacit.ledger.claims import HELD, claim_body, opening_of
from tacit.ledger.entry import REGISTRY
from tacit.ledger.page import Line, Page
from tacit.ledger.receipt import Kept
from tacit.ledger.schema import accounts, answers, claims
from tacit.policy.claim import Claim

__all__ = ["claims_and_answers"]

CHUNK = 200  # answers in memory at once

sources = Table("tacit_sources", MetaData(), Column("source", Text), Column("account", Integer))


def claims_and_answers(page: Page) -> None:
    """From version 1 to version 2."""
    claims.create(page.connection)
    page.connection.execute(text("ALTER TABLE tacit_answers ADD COLUMN entry BIGINT"))
    names = select(accounts.c.people).where(accounts.c.people != REGISTRY).order_by(accounts.c.id)
    for people in page.connection.execute(names).scalars().all():
        _claims(page, people)
        _answers(page, people)
    sources.drop(page.connection)


def _claims(page: Page, people: str) -> None:
    """A whole place each, since nothing finer was known, and no unit: the account says both when it is opened next."""
    registry, row = page.registry(), page.account(people)
    query = select(sources.c.source).where(sources.c.account == row.id).order_by(sources.c.source)
    found = [Claim(name) for name in page.connection.execute(query).scalars()]
    if not found:
        return
    rows = [{"place": each.place, "part": each.part, "account": row.id, "state": HELD} for each in found]
    page.connection.execute(insert(claims), rows)
    page.append(registry, [Line("claim", claim_body(opening_of(page, row.id), people, found, upgraded=True))])


def _answers(page: Page, people: str) -> None:
    after = 0
    while True:
        registry, row = page.registry(), page.account(people)
        query = select(*answers.c).where(answers.c.account == row.id, answers.c.seq > after)
        found = page.connection.execute(query.order_by(answers.c.seq).limit(CHUNK)).all()
        if not found:
            return
        lines = []
        for one in found:
            facts = {"program": one.program, "version": one.version, "kind": one.kind, "release": bytes(one.release)}
            lines.append(keep_line(page, row.id, Kept(people=people, seq=one.seq, **facts), one.scope, upgraded=True))
        for one, made in zip(found, page.append(registry, lines), strict=True):
            place = (answers.c.account == row.id) & (answers.c.seq == one.seq)
            page.connection.execute(update(answers).where(place).values(entry=made.seq))
        after = found[-1].seq
