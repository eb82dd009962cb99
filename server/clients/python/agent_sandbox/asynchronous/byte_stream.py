"""Bytes to and from the server for asyncio. `synchronous/byte_stream.py` is the same on plain sockets; these two files alone are
written twice."""
from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, BinaryIO, Callable, Optional, TypeVar, cast

from ..address import Address
from ..errors import AnswerTimeout, ConnectionFailed

_T = TypeVar("_T")
_MOST_HELD = 256 * 1024  # bytes that came and were not read


async def read_file(file: BinaryIO, size: int) -> bytes:
    """In a thread, since a disk may be slow."""
    return await asyncio.get_running_loop().run_in_executor(None, file.read, size)


async def write_file(file: BinaryIO, content: bytes) -> None:
    await asyncio.get_running_loop().run_in_executor(None, file.write, content)


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


class ByteStream(asyncio.Protocol):
    """One connection. Received bytes stay readable when the connection breaks: a refusal may be among them."""

    def __init__(self) -> None:
        self._transport: Optional[asyncio.Transport] = None
        self._input = bytearray()
        self._is_over = False
        self._is_held = False
        self._may_write = True
        self._reader: Optional[asyncio.Future[None]] = None
        self._writer: Optional[asyncio.Future[None]] = None

    @classmethod
    async def open(cls, address: Address, seconds: float, tls: Optional[ssl.SSLContext]) -> ByteStream:
        loop = asyncio.get_running_loop()
        protocol: Callable[[], asyncio.Protocol] = cls
        try:
            if address.socket_path:
                _, stream = await asyncio.wait_for(loop.create_unix_connection(protocol, address.socket_path), seconds)
            else:
                _, stream = await asyncio.wait_for(loop.create_connection(protocol, address.host, address.port, ssl=tls), seconds)
        except asyncio.TimeoutError:
            raise AnswerTimeout(f"{address.shown}: no connection within {seconds:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"{address.shown}: {error}") from error
        return cast(ByteStream, stream)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self._input += data
        if len(self._input) > _MOST_HELD and not self._is_held:
            self._is_held = True
            self._transport_now().pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._is_over = True
        self._wake()
        return False

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._is_over = True
        self._transport = None
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        if self._writer and not self._writer.done():
            self._writer.set_result(None)

    @property
    def has_input(self) -> bool:
        """Returns whether bytes, or the end, can be read without waiting."""
        return bool(self._input) or self._is_over

    @property
    def is_fresh(self) -> bool:
        """Returns whether nothing came since the last answer, not even the end."""
        return not self.has_input

    async def read(self, seconds: float) -> bytes:
        """Returns some bytes, none at the end. Waits for them for `seconds`."""
        if not self.has_input:
            self._reader = asyncio.get_running_loop().create_future()
            await self._within(self._reader, seconds, "said nothing")
        content = bytes(self._input)
        self._input.clear()
        if self._is_held and self._transport:
            self._is_held = False
            self._transport.resume_reading()
        return content

    async def write(self, content: bytes, seconds: float) -> None:
        """Waits for the server to take what was written before, for `seconds`."""
        if self._is_over:
            raise ConnectionFailed("the server has closed the connection")
        self._transport_now().write(content)
        if not self._may_write:
            self._writer = asyncio.get_running_loop().create_future()
            await self._within(self._writer, seconds, "took nothing")
        else:
            await asyncio.sleep(0)  # lets what the server says arrive: it may refuse what is being sent

    def close(self) -> None:
        """Bytes that were not sent by then are dropped."""
        if self._transport:
            self._transport.abort()

    def _transport_now(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _wake(self) -> None:
        if self._reader and not self._reader.done():
            self._reader.set_result(None)

    @staticmethod
    async def _within(waited: asyncio.Future[Any], seconds: float, what: str) -> None:
        try:
            await asyncio.wait_for(waited, seconds)
        except asyncio.TimeoutError:
            raise AnswerTimeout(f"the server {what} for {seconds:g} s") from None
