"""HTTP/1.1: a request and its answer on one connection."""
from __future__ import annotations

from typing import AsyncIterable, BinaryIO, Dict, Optional, Tuple, Union

from ..errors import ConnectionFailed, UnexpectedAnswer
from .byte_stream import ByteStream, read_file

PIECE = 64 * 1024
_LONGEST_LINE = 64 * 1024
_MOST_HEADERS = 200

# A body that is sent unchanged: bytes, a file that is read in pieces, or pieces.
Content = Union[bytes, BinaryIO, AsyncIterable[bytes]]


class AsyncConnection:
    """Does not know the content that it carries. One request at a time."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self._input = bytearray()

    async def ask(self, method: str, target: str, headers: Dict[str, str], content: Optional[Content], seconds: float) -> bool:
        """Sends a request. Where the server answers before it has all of it, the rest is not sent. Returns whether
        all was sent."""
        has_length = content is None or isinstance(content, bytes)
        if isinstance(content, bytes):
            headers["Content-Length"] = str(len(content))
        elif content is not None:
            headers["Transfer-Encoding"] = "chunked"
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        head = "\r\n".join(lines).encode("latin-1")
        if isinstance(content, bytes) and len(content) <= PIECE:
            head += content
            content = None
        try:
            await self.stream.write(head, seconds)
            return content is None or await self._send(content, not has_length, seconds)
        except ConnectionFailed:
            # A refusal may have come before the connection ended.
            if not self.stream.has_input:
                raise
            return False

    async def _send(self, content: Content, in_chunks: bool, seconds: float) -> bool:
        async for piece in pieces_of(content):
            if self.stream.has_input:
                return False
            if piece:
                await self.stream.write(b"%x\r\n%b\r\n" % (len(piece), piece) if in_chunks else piece, seconds)
        if in_chunks:
            await self.stream.write(b"0\r\n\r\n", seconds)
        return True

    async def head(self, seconds: float) -> Tuple[int, Dict[str, str]]:
        """Returns the status and headers of an answer, names in lower case."""
        while True:
            words = (await self.line(seconds)).split(" ", 2)
            if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
                raise UnexpectedAnswer(f"no answer of HTTP/1.1: {' '.join(words)[:100]!r}")
            headers: Dict[str, str] = {}
            while line := await self.line(seconds):
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
                if len(headers) > _MOST_HEADERS:
                    raise UnexpectedAnswer("the answer has too many headers")
            if not 100 <= int(words[1]) < 200 or words[1] == "101":
                return int(words[1]), headers

    async def line(self, seconds: float) -> str:
        while (end := self._input.find(b"\n")) < 0:
            if len(self._input) > _LONGEST_LINE:
                raise UnexpectedAnswer("the answer has a line that does not end")
            await self._fill(seconds)
        line = self._input[:end]
        del self._input[:end + 1]
        return line.decode("latin-1").rstrip("\r")

    async def some(self, most: int, seconds: float) -> bytes:
        """Returns up to `most` bytes, none at the end of the connection."""
        if not self._input:
            self._input += await self.stream.read(seconds)
        taken = bytes(self._input[:most])
        del self._input[:most]
        return taken

    async def exactly(self, size: int, seconds: float) -> bytes:
        while len(self._input) < size:
            await self._fill(seconds)
        return await self.some(size, seconds)

    @property
    def is_fresh(self) -> bool:
        return not self._input and self.stream.is_fresh

    def close(self) -> None:
        self.stream.close()

    async def _fill(self, seconds: float) -> None:
        content = await self.stream.read(seconds)
        if not content:
            raise ConnectionFailed("the connection ended before the answer did")
        self._input += content


class AsyncBody:
    """The body of an answer, in pieces."""

    def __init__(self, connection: AsyncConnection, method: str, status: int, headers: Dict[str, str]) -> None:
        self._connection = connection
        self._in_chunks = "chunked" in headers.get("transfer-encoding", "").lower()
        length = headers.get("content-length", "")
        self._ends_with_connection = not self._in_chunks and not length.isdigit()
        self._left = 0 if self._in_chunks or not length.isdigit() else int(length)
        self.is_over = method == "HEAD" or status in (204, 304) or (not self._in_chunks and length == "0")
        self.leaves_connection = not self._ends_with_connection and headers.get("connection", "").lower() != "close"
        if self.is_over:
            self.leaves_connection = headers.get("connection", "").lower() != "close"

    async def some(self, seconds: float) -> bytes:
        """Returns some bytes, none at the end. An answer that breaks off raises ConnectionFailed."""
        if self.is_over:
            return b""
        if self._in_chunks and self._left == 0 and await self._is_last_chunk(seconds):
            return b""
        piece = await self._connection.some(PIECE if self._ends_with_connection else min(self._left, PIECE), seconds)
        if self._ends_with_connection:
            self.is_over = not piece
            return piece
        if not piece:
            raise ConnectionFailed("the connection ended before the answer did")
        self._left -= len(piece)
        if self._left == 0 and self._in_chunks:
            await self._connection.line(seconds)
        elif self._left == 0:
            self.is_over = True
        return piece

    async def _is_last_chunk(self, seconds: float) -> bool:
        size = (await self._connection.line(seconds)).split(";")[0].strip()
        try:
            self._left = int(size, 16)
        except ValueError:
            raise UnexpectedAnswer(f"no size of a chunk: {size[:20]!r}") from None
        if self._left == 0:
            while await self._connection.line(seconds):
                pass
            self.is_over = True
        return self.is_over


async def pieces_of(content: Content) -> AsyncIterable[bytes]:
    """Returns the pieces of a body; a file is read in pieces."""
    if isinstance(content, bytes):
        for start in range(0, len(content), PIECE):
            yield content[start:start + PIECE]
    elif hasattr(content, "read"):
        while piece := await read_file(content, PIECE):  # type: ignore[arg-type]
            if isinstance(piece, str):
                raise TypeError("expected a file that was opened for bytes, as by open(path, \"rb\")")
            yield piece
    else:
        async for piece in content:
            yield piece
