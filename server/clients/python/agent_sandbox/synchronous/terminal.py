# Written by write_synchronous.py from asynchronous/terminal.py.
"""A terminal of a sandbox, over a WebSocket."""
from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Tuple, Type, Union

from .. import errors, frames
from ..address import target_of
from ..events import PROCESS
from ..sandbox_answers import ProcessDetails
from .connection import Body, Connection
from .session import Session


class Terminal:
    """An iterator of what the terminal shows, in bytes. It is opened when it is entered, and hangs up when it is left.

    At its end `exit` is how the process ended. `lost_bytes` counts what was left out for a reader that was too slow. One may read
    and another write at the same time.
    """

    def __init__(self, session: Session, path: str, query: Mapping[str, Any]) -> None:
        self._session, self._target = session, target_of(path, query)
        self._connection: Optional[Connection] = None
        self._seconds = session.answer_seconds
        self.exit: Optional[ProcessDetails] = None
        self.lost_bytes = 0

    def __enter__(self) -> Terminal:
        key = frames.new_key()
        headers = {**self._session.headers("*/*"), "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": key}
        self._connection = connection = self._session.connect()
        try:
            connection.ask("GET", self._session.address.prefix + self._target, headers, None, self._seconds)
            status, answered = connection.head(self._seconds)
            if status != 101:
                self._refuse(status, answered)
            if answered.get("sec-websocket-accept") != frames.accepted(key):
                raise errors.UnexpectedAnswer("no handshake of a WebSocket")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.close()

    def close(self) -> None:
        """Hangs up."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def write(self, content: Union[str, bytes]) -> None:
        """Sends input."""
        typed = content.encode() if isinstance(content, str) else content
        for start in range(0, len(typed), frames.LONGEST_SENT):
            self._send(frames.BINARY, typed[start:start + frames.LONGEST_SENT])

    def resize(self, columns: int, rows: int) -> None:
        self._say({"type": "resize", "columns": columns, "rows": rows})

    def signal(self, signal: Union[str, int], *, group: bool = True) -> None:
        self._say({"type": "signal", "signal": signal, "group": group})

    def read(self) -> bytes:
        """Returns some output, none at its end."""
        while self._connection:
            kind, content = self._message()
            if kind == frames.BINARY:
                return content
            if kind == frames.TEXT:
                self._told(json.loads(content))
            elif kind == frames.CLOSE:
                self.close()
        if self.exit is None:
            raise errors.BrokenStream("the terminal ended without saying how")
        return b""

    def __iter__(self) -> Terminal:
        return self

    def __next__(self) -> bytes:
        shown = self.read()
        if not shown:
            raise StopIteration
        return shown

    def _told(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "exit":
            self.exit = PROCESS.values["exit"]({name: value for name, value in message.items() if name != "type"})
        elif message["type"] == "lost":
            self.lost_bytes += message["bytes"]
        elif message["type"] == "error":
            problem = message["problem"]
            self.close()
            raise errors.of_problem(int(problem.get("status", 500)), problem)

    def _say(self, message: Mapping[str, Any]) -> None:
        self._send(frames.TEXT, json.dumps(message).encode())

    def _send(self, kind: int, content: bytes) -> None:
        self._open().stream.write(frames.frame(kind, content), self._seconds)

    def _message(self) -> Tuple[int, bytes]:
        """Returns the next whole message. Pings are answered."""
        whole, kind = b"", frames.CONTINUED
        while True:
            part, is_last, content = self._frame()
            if part == frames.PING:
                self._send(frames.PONG, content)
            elif part == frames.CLOSE:
                return part, content
            elif part != frames.PONG:
                whole, kind = whole + content, part or kind
                if len(whole) > frames.LONGEST_MESSAGE:
                    raise errors.UnexpectedAnswer("a message does not end")
                if is_last:
                    return kind, whole

    def _frame(self) -> Tuple[int, bool, bytes]:
        connection = self._open()
        head = frames.head_of(connection.exactly(2, self._seconds))
        length = head.length
        if head.length_bytes:
            length = int.from_bytes(connection.exactly(head.length_bytes, self._seconds), "big")
        if length > frames.LONGEST_MESSAGE:
            raise errors.UnexpectedAnswer("a message is too long")
        return head.kind, head.is_last, connection.exactly(length, self._seconds)

    def _refuse(self, status: int, headers: Mapping[str, str]) -> None:
        body = Body(self._open(), "GET", status, dict(headers))
        content = b""
        while piece := body.some(self._seconds):
            content += piece
        raise errors.of_answer(status, headers, content)

    def _open(self) -> Connection:
        if self._connection is None:
            raise errors.ConnectionFailed("the terminal is closed")
        return self._connection
