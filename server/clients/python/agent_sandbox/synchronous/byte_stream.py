"""Bytes to and from the server on plain sockets. `asynchronous/byte_stream.py` is the same for asyncio; these two files alone are
written twice."""
from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from typing import BinaryIO, Optional

from ..address import Address
from ..errors import AnswerTimeout, ConnectionFailed

_PIECE = 64 * 1024


def read_file(file: BinaryIO, size: int) -> bytes:
    return file.read(size)


def write_file(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def pause(seconds: float) -> None:
    time.sleep(seconds)


class ByteStream:
    """One connection."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._writing = threading.Lock()  # of a terminal one may read, and answer a ping, while another writes
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @classmethod
    def open(cls, address: Address, seconds: float, tls: Optional[ssl.SSLContext]) -> ByteStream:
        try:
            if address.socket_path:
                connected = socket.socket(socket.AF_UNIX)
                try:
                    connected.settimeout(seconds)
                    connected.connect(address.socket_path)
                except BaseException:
                    connected.close()
                    raise
                return cls(connected)
            connected = socket.create_connection((address.host, address.port), seconds)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A handshake that fails closes the socket by itself.
            return cls(tls.wrap_socket(connected, server_hostname=address.host) if tls else connected)
        except socket.timeout:
            raise AnswerTimeout(f"{address.shown}: no connection within {seconds:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"{address.shown}: {error}") from error

    @property
    def has_input(self) -> bool:
        """Returns whether bytes, or the end, can be read without waiting. Over TLS, received data may be no bytes of
        the answer."""
        if isinstance(self._socket, ssl.SSLSocket):
            return self._socket.pending() > 0
        return not self.is_fresh

    @property
    def is_fresh(self) -> bool:
        """Returns whether nothing came since the last answer, not even the end."""
        readable = select.poll()
        readable.register(self._socket, select.POLLIN)
        return not readable.poll(0)

    def read(self, seconds: float) -> bytes:
        """Returns some bytes, none at the end. Waits for them for `seconds`."""
        try:
            self._socket.settimeout(seconds)
            return self._socket.recv(_PIECE)
        except socket.timeout:
            raise AnswerTimeout(f"the server said nothing for {seconds:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"the connection broke off: {error}") from error

    def write(self, content: bytes, seconds: float) -> None:
        """Waits for the server to take the bytes, for `seconds` for each piece."""
        left = memoryview(content)
        try:
            with self._writing:
                self._socket.settimeout(seconds)
                while left:
                    left = left[self._socket.send(left[:_PIECE]):]
        except socket.timeout:
            raise AnswerTimeout(f"the server took nothing for {seconds:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"the connection broke off: {error}") from error

    def close(self) -> None:
        self._socket.close()
