"""One client's session after it came in: simple queries, prepared statements, portals, and the state between them."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tacit.base import TacitError
from tacit.engine import Watch
from tacit.server.auth.people import People
from tacit.server.http.guard import asking
from tacit.server.problem import Fault, fault_of
from tacit.server.wire import message as wire
from tacit.server.wire.door import Portal, PreparedStatement, WireDoor
from tacit.server.wire.enter import Call
from tacit.server.wire.lex import filled, places, split
from tacit.server.wire.link import WireLink, WireTally
from tacit.server.wire.setting import REPORTED, alarm
from tacit.server.wire.statement import Command, Copy, Declare, Statement, read_statement
from tacit.server.wire.value import WireField, decoded, encoded, literal, samples

__all__ = ["Conversation"]

MOST_PLACES = 1000
TEXT = 25
CLAUSE = re.compile("differential_privacy", re.IGNORECASE)
QUIET = ("warning", "error")
IDLE, INSIDE, FAILED = "I", "T", "E"


class Conversation:
    """What the client says, in its order. `call` runs what may block, elsewhere."""

    def __init__(
        self, link: WireLink, door: WireDoor, token: str, people: People, tally: WireTally, call: Call, key: str
    ) -> None:
        self._link, self._door, self._token, self._key = link, door, token, key
        self._people, self._tally, self._call = people, tally, call
        self._statements: dict[str, PreparedStatement] = {}
        self._portals: dict[str, Portal] = {}
        self._status = IDLE
        self._skipping = False
        self._watch: Watch | None = None

    @property
    def name(self) -> str:
        """Whose it is."""
        return self._door.who.name

    def cancel(self) -> None:
        """Stop what is running, from another thread. What was charged stays charged."""
        watch = self._watch
        if watch is not None:
            watch.stop()

    async def hold(self) -> None:
        """Until the client leaves, or has to."""
        await self._ready()
        while True:
            tag, data = await self._link.frame()
            try:
                message = wire.read(tag, data)
            except Fault as fault:
                if fault.fatal:
                    raise
                if not self._skipping:  # it can be told apart, but not read
                    self._fail(fault)
                    self._skipping = tag != b"Q"
                    if tag == b"Q":
                        await self._ready()
                continue
            if message is wire.Signal.TERMINATE:
                return
            await self._take(message)

    async def _ready(self) -> None:
        self._link.put(wire.ready(self._status))
        await self._link.flush()

    async def _take(self, message: wire.Message) -> None:
        if message is wire.Signal.SYNC:
            self._skipping = False
            if self._status == IDLE:
                self._portals.clear()
            await self._ready()
        elif self._skipping:
            pass  # after a fault everything up to Sync is
        elif message is wire.Signal.FLUSH:
            await self._link.flush()
        elif isinstance(message, wire.SimpleQuery):
            await self._guarded(self._query(message))
            await self._ready()
        elif isinstance(message, wire.Password):
            raise wire.broken("a proof came when none was asked for")
        else:
            self._skipping = not await self._guarded(self._extended(message))

    async def _guarded(self, step: Any) -> bool:
        """Whether it went well; if not, the client was told."""
        try:
            await step
        except (OSError, TimeoutError, EOFError):
            raise
        except Exception as error:
            fault = fault_of(error)
            if fault.fatal:
                raise fault from None
            self._fail(fault)
            return False
        return True

    def _fail(self, fault: Fault) -> None:
        self._link.put(wire.response(fault))
        if self._status == INSIDE:
            self._status = FAILED

    # --- simple queries

    async def _query(self, query: wire.SimpleQuery) -> None:
        texts = await self._call(partial(split, query.sql))  # which may be long, and others are served meanwhile
        if not texts:
            self._link.put(wire.EMPTY_QUERY)
        for text in texts:
            portal = Portal(PreparedStatement(text, ()), await self._call(partial(read_statement, text)), ())
            await self._run(portal)
            if portal.fields is not None:
                self._link.put(wire.row_description(portal.fields, _formats((), len(portal.fields))))
            await self._send(portal, 0)

    # --- the extended protocol

    async def _extended(self, message: wire.Message) -> None:
        match message:
            case wire.Parse():
                await self._parse(message)
                self._link.put(wire.PARSE_COMPLETE)
            case wire.Bind():
                await self._bind(message)
                self._link.put(wire.BIND_COMPLETE)
            case wire.Describe():
                await self._describe(message)
            case wire.Execute(name, most):
                portal = self._portal(name)
                if portal.rows is None:
                    await self._run(portal)
                await self._send(portal, most)
            case wire.Close(is_portal, name):
                (self._portals if is_portal else self._statements).pop(name, None)
                self._link.put(wire.CLOSE_COMPLETE)

    async def _parse(self, message: wire.Parse) -> None:
        if message.name and message.name in self._statements:
            raise Fault("42P05", "there is a prepared statement of that name already")
        texts = await self._call(partial(split, message.sql))
        if len(texts) > 1:
            raise Fault("42601", "a prepared statement is one statement, not several")
        sql = texts[0] if texts else ""
        count = max(await self._call(partial(places, sql)), len(message.kinds))
        if count > MOST_PLACES:
            raise Fault("54000", f"a statement has at most {MOST_PLACES} parameters")
        self._room(self._statements, message.name)
        kinds = message.kinds + (0,) * (count - len(message.kinds))
        self._statements[message.name] = PreparedStatement(sql, kinds)

    def _room(self, held: dict[str, Any], name: str) -> None:
        if name not in held and len(held) >= self._link.limits.statements:
            raise Fault("53400", "too many prepared statements or portals are open: close some")

    async def _bind(self, message: wire.Bind) -> None:
        prepared = self._prepared(message.statement)
        if message.portal and message.portal in self._portals:
            raise Fault("42P03", "there is a portal of that name already")
        if len(message.values) != len(prepared.kinds):
            raise Fault("08P01", f"{len(message.values)} values are bound, and {len(prepared.kinds)} are wanted")
        if any(form not in (0, 1) for form in (*message.formats, *message.results)):
            raise Fault("08P01", "a format is 0 for text or 1 for binary")
        forms = _formats(message.formats, len(message.values))
        self._room(self._portals, message.portal)

        def bound() -> Statement | None:
            return _filled(prepared.sql, list(map(decoded, message.values, prepared.kinds, forms)))

        self._portals[message.portal] = Portal(prepared, await self._call(bound), message.results)

    async def _describe(self, message: wire.Describe) -> None:
        fields: Sequence[WireField] | None
        formats: Sequence[int]
        if message.portal and message.name not in self._portals and message.name in self._door.cursors:
            fields, formats = self._door.cursors[message.name].fields, ()
        elif message.portal:
            portal = self._portal(message.name)
            await self._know(portal)
            fields, formats = portal.fields, portal.results
        else:
            prepared = self._prepared(message.name)
            sample = await self._sample(prepared)
            prepared.described, prepared.fields = True, sample.fields
            fields, formats = sample.fields, ()
            self._link.put(wire.parameter_description([oid or TEXT for oid in prepared.kinds]))
        if fields is None:
            self._link.put(wire.NO_DATA)
        else:
            self._link.put(wire.row_description(fields, _formats(formats, len(fields))))

    async def _sample(self, prepared: PreparedStatement) -> Portal:
        """The statement with values that fit, so that its columns are known; if none do, why the first did not."""
        first: TacitError | None = None
        for values in samples(prepared.kinds):
            sample = Portal(prepared, await self._call(partial(_filled, prepared.sql, values)), ())
            try:
                await self._know(sample)
            except TacitError as error:
                first = first or error
            else:
                return sample
        assert first is not None  # there is always one to try
        raise first

    def _prepared(self, name: str) -> PreparedStatement:
        if name not in self._statements:
            raise Fault("26000", "there is no prepared statement of that name")
        return self._statements[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise Fault("34000", "there is no portal of that name")
        return self._portals[name]

    # --- both

    async def _blocking(self, work: Callable[[], Any]) -> Any:
        """Run it where it may block, if the token is still good."""

        def checked() -> Any:
            if not self._people.alive(self._token):
                detail = "the token of this connection is no longer valid: connect with another"
                raise Fault("28000", detail, fatal=True)
            try:
                return work()
            except (OSError, EOFError) as error:
                raise fault_of(error) from None  # not the client's connection, which fails by the same classes

        return await self._call(checked)

    async def _know(self, portal: Portal) -> None:
        """What a portal gives, from its plan."""
        if not portal.known and (statement := portal.statement) is not None:
            portal.fields = await self._blocking(lambda: self._door.fields(statement))
        portal.known = True

    async def _run(self, portal: Portal) -> None:
        """Run it, and count it with how it ended."""
        statement = portal.statement
        self._allowed(statement)
        if statement is None:
            portal.rows = []
            return
        await self._call(partial(self._tally.statement, self.name, self._door.dataset, statement))
        try:
            await self._run_counted(portal, statement)
        except Exception as error:
            self._tally.ended(statement, error)
            raise
        self._tally.ended(statement, None)

    async def _run_counted(self, portal: Portal, statement: Statement) -> None:
        await self._know(portal)
        if portal.prepared.described and portal.prepared.fields != portal.fields:
            raise Fault("0A000", "this statement gives other columns than when it was prepared: prepare it again")
        if isinstance(statement, Command):
            self._command(statement)
        formats = _formats(portal.results, len(portal.fields or ()))
        watch = self._watch = Watch(key=self._key)

        def work() -> list[bytes]:
            result = self._door.run(statement, portal.fields, watch)
            portal.tag, portal.notes, portal.changed = result.tag, result.notes, result.changed
            if result.frames is not None:
                return list(result.frames)
            forms = [(each.kind, form) for each, form in zip(portal.fields or (), formats, strict=True)]
            every = ([encoded(value, *form) for value, form in zip(row, forms, strict=True)] for row in result.rows)
            return [wire.data_row(row) for row in every]

        try:
            with alarm(watch, self._door.settings.timeout):
                async with asking(lambda: self._link.gone, watch):
                    portal.rows = await self._blocking(work)
        finally:
            self._watch = None
        if isinstance(statement, Command) and statement.word == "end":
            portal.tag = "ROLLBACK" if self._status == FAILED else portal.tag
            self._status = IDLE
            self._door.cursors.end_transaction()

    def _allowed(self, statement: Statement | None) -> None:
        if self._status == FAILED and not (isinstance(statement, Command) and statement.word in ("end", "back")):
            raise Fault("25P02", "the transaction has failed: everything is ignored until ROLLBACK")
        if isinstance(statement, Declare) and not statement.hold and self._status == IDLE:
            raise Fault("25P01", "a cursor lives in a transaction: BEGIN first, or declare it WITH HOLD")

    def _command(self, command: Command) -> None:
        if command.word == "begin" or (command.word == "back" and self._status == FAILED):
            self._status = INSIDE
        elif command.word == "discard":
            self._statements.clear()
            self._door.cursors.close(None)
        elif command.word == "deallocate":
            if not command.name:
                self._statements.clear()
            else:
                self._prepared(command.name)  # a fault if there is none
                del self._statements[command.name]

    async def _send(self, portal: Portal, most: int) -> None:
        """Rows, at most so many where that is above 0, and what ends them."""
        if portal.statement is None:
            self._link.put(wire.EMPTY_QUERY)
            return
        rows = portal.rows or []
        if 0 < most < len(rows) and not isinstance(portal.statement, Copy):
            await self._link.put_all(rows[:most])
            portal.rows = rows[most:]
            self._link.put(wire.SUSPENDED)
            return
        await self._link.put_all(rows)
        portal.rows = []
        settings = self._door.settings
        if settings.show("client_min_messages").lower() not in QUIET:
            for note in portal.notes:
                self._link.put(wire.notice(note))
        for name in portal.changed:
            if name in REPORTED:
                self._link.put(wire.parameter_status(REPORTED[name], settings.show(name)))
        portal.notes, portal.changed = (), ()
        self._link.put(wire.complete(portal.tag))


def _filled(sql: str, values: Sequence[Any]) -> Statement | None:
    """The statement with its values; None if it is empty."""
    if not sql:
        return None
    if CLAUSE.search(sql) and any(isinstance(value, str) and set(value) & {"'", "\\"} for value in values):
        raise Fault("0A000", "with DIFFERENTIAL_PRIVACY, text that is bound has no quotes and no backslashes")
    return read_statement(filled(sql, [literal(value) for value in values]))


def _formats(forms: Sequence[int], count: int) -> Sequence[int]:
    """One format for each: none is text for all, one is for all."""
    if len(forms) in (0, 1):
        return [forms[0] if forms else 0] * count
    if len(forms) != count:
        raise Fault("08P01", "there are formats for another number of values")
    return forms
