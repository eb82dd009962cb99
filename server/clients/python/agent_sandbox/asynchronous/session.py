"""Requests to one server: connections that are used again, refusals as exceptions, JSON, bytes and events."""
from __future__ import annotations

import collections
import json
import ssl
import time
from typing import Any, AsyncIterator, Deque, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar

from .. import errors
from ..address import Address, address_of, key_of, target_of
from ..events import NDJSON, Event, StreamKind
from .byte_stream import ByteStream
from .connection import AsyncBody, AsyncConnection, Content

# The server closes connections that were idle for 60 s.
_LONGEST_IDLE_SECONDS = 30.0
_MOST_IDLE = 64
_LONGEST_EVENT = 256 * 1024 * 1024
_SAFE_TO_REPEAT = ("GET", "HEAD", "PUT", "DELETE")
_Self = TypeVar("_Self", bound="AsyncReader")


class Request(NamedTuple):
    """One request."""

    method: str
    path: str
    query: Mapping[str, Any] = {}
    body: Optional[Mapping[str, Any]] = None  # sent as JSON
    content: Optional[Content] = None  # in place of a body
    headers: Mapping[str, str] = {}
    accept: str = "application/json"
    answer_seconds: Optional[float] = None  # the longest silence; None: the session's


class AsyncReply:
    """An answer whose body has not been read yet."""

    def __init__(self, session: AsyncSession, connection: AsyncConnection, status: int, headers: Dict[str, str], body: AsyncBody,
                 seconds: float) -> None:
        self.status, self.headers = status, headers
        self._session, self._connection, self._body, self._seconds = session, connection, body, seconds
        self._is_left = False

    async def some(self) -> bytes:
        try:
            piece = await self._body.some(self._seconds)
        except BaseException:
            self.close()
            raise
        if self._body.is_over:
            self.close()
        return piece

    async def all(self) -> bytes:
        pieces: List[bytes] = []
        while piece := await self.some():
            pieces.append(piece)
        self.close()
        return b"".join(pieces)

    def close(self) -> None:
        """Ends the connection, unless all of the answer was read: the connection is then reused."""
        if self._is_left:
            return
        self._is_left = True
        self._session.put_back(self._connection, self._body.is_over and self._body.leaves_connection)


class AsyncSession:
    """May be shared by threads, and by tasks of one event loop."""

    def __init__(self, url: Optional[str], key: Optional[str], connect_seconds: float, answer_seconds: float,
                 tls: Optional[ssl.SSLContext]) -> None:
        self.address: Address = address_of(url)
        self._key = key_of(key)
        self._connect_seconds, self.answer_seconds = connect_seconds, answer_seconds
        self._tls = (tls or ssl.create_default_context()) if self.address.has_tls else None
        self._idle: Deque[Tuple[float, AsyncConnection]] = collections.deque()

    async def json(self, request: Request) -> Any:
        reply = await self.open(request)
        body = await reply.all()
        try:
            return json.loads(body)
        except ValueError:
            raise errors.UnexpectedAnswer(f"{self.address.shown}: expected JSON: {body[:100]!r}") from None

    async def done(self, request: Request) -> None:
        """Sends a request whose answer has no value."""
        await (await self.open(request)).all()

    async def open(self, request: Request) -> AsyncReply:
        """Returns the answer, unless it is a refusal, which is raised."""
        seconds = self.answer_seconds if request.answer_seconds is None else request.answer_seconds
        is_repeatable = request.method in _SAFE_TO_REPEAT and (request.content is None or isinstance(request.content, bytes))
        while True:
            connection, was_used = await self._connection()
            try:
                reply = await self._exchange(connection, request, seconds)
                break
            except BaseException as error:
                connection.close()
                # The server may close an idle connection at the moment in which it is used again.
                if isinstance(error, errors.AnswerTimeout) or not (was_used and is_repeatable and isinstance(error, errors.ConnectionFailed)):
                    raise
        if reply.status >= 300:
            raise errors.of_answer(reply.status, reply.headers, await reply.all())
        return reply

    def headers(self, accept: str) -> Dict[str, str]:
        """Returns the headers of every request."""
        fields = {"Host": self.address.host_header, "User-Agent": "agent-sandbox-python", "Accept": accept}
        if self._key:
            fields["Authorization"] = f"Bearer {self._key}"
        return fields

    async def connect(self) -> AsyncConnection:
        return AsyncConnection(await ByteStream.open(self.address, self._connect_seconds, self._tls))

    def put_back(self, connection: AsyncConnection, is_whole: bool) -> None:
        if is_whole and len(self._idle) < _MOST_IDLE:
            self._idle.append((time.monotonic(), connection))
        else:
            connection.close()

    def close(self) -> None:
        """Ends the idle connections. Those of streams end with the streams."""
        while self._idle:
            self._idle.pop()[1].close()

    async def _connection(self) -> Tuple[AsyncConnection, bool]:
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if time.monotonic() - since < _LONGEST_IDLE_SECONDS and connection.is_fresh:
                return connection, True
            connection.close()
        return await self.connect(), False

    async def _exchange(self, connection: AsyncConnection, request: Request, seconds: float) -> AsyncReply:
        headers = {**self.headers(request.accept), **request.headers}
        content = request.content
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(request.body).encode()
        target = self.address.prefix + target_of(request.path, request.query)
        all_was_sent = await connection.ask(request.method, target, headers, content, seconds)
        status, answered = await connection.head(seconds)
        body = AsyncBody(connection, request.method, status, answered)
        body.leaves_connection = body.leaves_connection and all_was_sent
        return AsyncReply(self, connection, status, answered, body, seconds)


class AsyncReader:
    """An answer that is read as it comes. The request is sent when it is entered or first read, and the answer is
    left when it is closed."""

    def __init__(self, session: AsyncSession, request: Request) -> None:
        self._session, self._request = session, request
        self._reply: Optional[AsyncReply] = None
        self._is_over = False

    async def __aenter__(self: _Self) -> _Self:
        await self._opened()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the answer. Work that runs only for it, such as a program in the foreground, ends."""
        self._is_over = True
        if self._reply:
            self._reply.close()
            self._reply = None

    async def _opened(self) -> AsyncReply:
        if self._is_over:
            raise errors.ConnectionFailed("it was closed")
        if self._reply is None:
            self._reply = await self._session.open(self._request)
        return self._reply


class AsyncByteReader(AsyncReader):
    """Bytes in pieces, as they come: an iterator of them, or `read()` for all."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reply = await self._opened()
        while piece := await reply.some():
            yield piece
        self._reply = None
        self._is_over = True

    async def read(self) -> bytes:
        content = await (await self._opened()).all()
        self._reply = None
        self._is_over = True
        return content

    async def headers(self) -> Mapping[str, str]:
        """Returns the headers of the answer, names in lower case: etag, content-length, content-range."""
        return (await self._opened()).headers


class AsyncEventStream(AsyncReader):
    """An iterator of events. It ends after the last one; an error event is raised, and so is a stream that breaks
    off."""

    def __init__(self, session: AsyncSession, request: Request, kind: StreamKind) -> None:
        super().__init__(session, request._replace(accept=NDJSON))
        self._kind = kind
        self._held = bytearray()

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __anext__(self) -> Event:
        if self._is_over:
            raise StopAsyncIteration
        try:
            event = await self._next()
        except BaseException:
            self.close()
            raise
        if event.type == self._kind.last:
            await self._finish()
        return event

    async def last(self) -> Event:
        """Reads to the end, and returns the last event."""
        async for event in self:
            if event.type == self._kind.last:
                return event
        raise errors.BrokenStream("it was read to its end before")

    async def _next(self) -> Event:
        while True:
            event = self._kind.read(await self._line())
            if event.type != "heartbeat":
                return event

    async def _line(self) -> bytes:
        reply, looked_at = await self._opened(), 0
        while (end := self._held.find(b"\n", looked_at)) < 0:
            looked_at = len(self._held)
            if looked_at > _LONGEST_EVENT:
                raise errors.UnexpectedAnswer("an event does not end")
            try:
                piece = await reply.some()
            except errors.AnswerTimeout:
                raise
            except errors.ConnectionFailed as error:
                raise errors.BrokenStream(str(error)) from error
            if not piece:
                raise errors.BrokenStream("the stream ended without its last event")
            self._held += piece
        line = bytes(self._held[:end])
        del self._held[:end + 1]
        return line

    async def _finish(self) -> None:
        """Reads the end of the answer, so that its connection can be reused."""
        if self._reply:
            await self._reply.all()
        self._reply = None
        self._is_over = True
