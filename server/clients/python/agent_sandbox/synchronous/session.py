# Written by write_synchronous.py from asynchronous/session.py.
"""Requests to one server: connections that are used again, refusals as exceptions, JSON, bytes and events."""
from __future__ import annotations

import collections
import json
import ssl
import time
from typing import Any, Iterator, Deque, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar

from .. import errors
from ..address import Address, address_of, key_of, target_of
from ..events import NDJSON, Event, StreamKind
from .byte_stream import ByteStream
from .connection import Body, Connection, Content

# The server closes connections that were idle for 60 s.
_LONGEST_IDLE_SECONDS = 30.0
_MOST_IDLE = 64
_LONGEST_EVENT = 256 * 1024 * 1024
_SAFE_TO_REPEAT = ("GET", "HEAD", "PUT", "DELETE")
_Self = TypeVar("_Self", bound="Reader")


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


class Reply:
    """An answer whose body has not been read yet."""

    def __init__(self, session: Session, connection: Connection, status: int, headers: Dict[str, str], body: Body,
                 seconds: float) -> None:
        self.status, self.headers = status, headers
        self._session, self._connection, self._body, self._seconds = session, connection, body, seconds
        self._is_left = False

    def some(self) -> bytes:
        try:
            piece = self._body.some(self._seconds)
        except BaseException:
            self.close()
            raise
        if self._body.is_over:
            self.close()
        return piece

    def all(self) -> bytes:
        pieces: List[bytes] = []
        while piece := self.some():
            pieces.append(piece)
        self.close()
        return b"".join(pieces)

    def close(self) -> None:
        """Ends the connection, unless all of the answer was read: the connection is then reused."""
        if self._is_left:
            return
        self._is_left = True
        self._session.put_back(self._connection, self._body.is_over and self._body.leaves_connection)


class Session:
    """May be shared by threads, and by tasks of one event loop."""

    def __init__(self, url: Optional[str], key: Optional[str], connect_seconds: float, answer_seconds: float,
                 tls: Optional[ssl.SSLContext]) -> None:
        self.address: Address = address_of(url)
        self._key = key_of(key)
        self._connect_seconds, self.answer_seconds = connect_seconds, answer_seconds
        self._tls = (tls or ssl.create_default_context()) if self.address.has_tls else None
        self._idle: Deque[Tuple[float, Connection]] = collections.deque()

    def json(self, request: Request) -> Any:
        reply = self.open(request)
        body = reply.all()
        try:
            return json.loads(body)
        except ValueError:
            raise errors.UnexpectedAnswer(f"{self.address.shown}: expected JSON: {body[:100]!r}") from None

    def done(self, request: Request) -> None:
        """Sends a request whose answer has no value."""
        (self.open(request)).all()

    def open(self, request: Request) -> Reply:
        """Returns the answer, unless it is a refusal, which is raised."""
        seconds = self.answer_seconds if request.answer_seconds is None else request.answer_seconds
        is_repeatable = request.method in _SAFE_TO_REPEAT and (request.content is None or isinstance(request.content, bytes))
        while True:
            connection, was_used = self._connection()
            try:
                reply = self._exchange(connection, request, seconds)
                break
            except BaseException as error:
                connection.close()
                # The server may close an idle connection at the moment in which it is used again.
                if isinstance(error, errors.AnswerTimeout) or not (was_used and is_repeatable and isinstance(error, errors.ConnectionFailed)):
                    raise
        if reply.status >= 300:
            raise errors.of_answer(reply.status, reply.headers, reply.all())
        return reply

    def headers(self, accept: str) -> Dict[str, str]:
        """Returns the headers of every request."""
        fields = {"Host": self.address.host_header, "User-Agent": "agent-sandbox-python", "Accept": accept}
        if self._key:
            fields["Authorization"] = f"Bearer {self._key}"
        return fields

    def connect(self) -> Connection:
        return Connection(ByteStream.open(self.address, self._connect_seconds, self._tls))

    def put_back(self, connection: Connection, is_whole: bool) -> None:
        if is_whole and len(self._idle) < _MOST_IDLE:
            self._idle.append((time.monotonic(), connection))
        else:
            connection.close()

    def close(self) -> None:
        """Ends the idle connections. Those of streams end with the streams."""
        while self._idle:
            self._idle.pop()[1].close()

    def _connection(self) -> Tuple[Connection, bool]:
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if time.monotonic() - since < _LONGEST_IDLE_SECONDS and connection.is_fresh:
                return connection, True
            connection.close()
        return self.connect(), False

    def _exchange(self, connection: Connection, request: Request, seconds: float) -> Reply:
        headers = {**self.headers(request.accept), **request.headers}
        content = request.content
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(request.body).encode()
        target = self.address.prefix + target_of(request.path, request.query)
        all_was_sent = connection.ask(request.method, target, headers, content, seconds)
        status, answered = connection.head(seconds)
        body = Body(connection, request.method, status, answered)
        body.leaves_connection = body.leaves_connection and all_was_sent
        return Reply(self, connection, status, answered, body, seconds)


class Reader:
    """An answer that is read as it comes. The request is sent when it is entered or first read, and the answer is
    left when it is closed."""

    def __init__(self, session: Session, request: Request) -> None:
        self._session, self._request = session, request
        self._reply: Optional[Reply] = None
        self._is_over = False

    def __enter__(self: _Self) -> _Self:
        self._opened()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the answer. Work that runs only for it, such as a program in the foreground, ends."""
        self._is_over = True
        if self._reply:
            self._reply.close()
            self._reply = None

    def _opened(self) -> Reply:
        if self._is_over:
            raise errors.ConnectionFailed("it was closed")
        if self._reply is None:
            self._reply = self._session.open(self._request)
        return self._reply


class ByteReader(Reader):
    """Bytes in pieces, as they come: an iterator of them, or `read()` for all."""

    def __iter__(self) -> Iterator[bytes]:
        reply = self._opened()
        while piece := reply.some():
            yield piece
        self._reply = None
        self._is_over = True

    def read(self) -> bytes:
        content = (self._opened()).all()
        self._reply = None
        self._is_over = True
        return content

    def headers(self) -> Mapping[str, str]:
        """Returns the headers of the answer, names in lower case: etag, content-length, content-range."""
        return (self._opened()).headers


class EventStream(Reader):
    """An iterator of events. It ends after the last one; an error event is raised, and so is a stream that breaks
    off."""

    def __init__(self, session: Session, request: Request, kind: StreamKind) -> None:
        super().__init__(session, request._replace(accept=NDJSON))
        self._kind = kind
        self._held = bytearray()

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        if self._is_over:
            raise StopIteration
        try:
            event = self._next()
        except BaseException:
            self.close()
            raise
        if event.type == self._kind.last:
            self._finish()
        return event

    def last(self) -> Event:
        """Reads to the end, and returns the last event."""
        for event in self:
            if event.type == self._kind.last:
                return event
        raise errors.BrokenStream("it was read to its end before")

    def _next(self) -> Event:
        while True:
            event = self._kind.read(self._line())
            if event.type != "heartbeat":
                return event

    def _line(self) -> bytes:
        reply, looked_at = self._opened(), 0
        while (end := self._held.find(b"\n", looked_at)) < 0:
            looked_at = len(self._held)
            if looked_at > _LONGEST_EVENT:
                raise errors.UnexpectedAnswer("an event does not end")
            try:
                piece = reply.some()
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

    def _finish(self) -> None:
        """Reads the end of the answer, so that its connection can be reused."""
        if self._reply:
            self._reply.all()
        self._reply = None
        self._is_over = True
