"""Frames of a WebSocket (RFC 6455), as its client writes and reads them."""
from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import NamedTuple

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LONGEST_MESSAGE = 16 * 1024 * 1024
# The server takes messages of up to 256 KiB.
LONGEST_SENT = 64 * 1024

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class FrameHead(NamedTuple):
    kind: int
    is_last: bool
    length_bytes: int  # how many bytes of the length follow, 0 where `length` is it
    length: int


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def accepted(key: str) -> str:
    """Returns the server's answer to `key`."""
    return base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()


def head_of(two_bytes: bytes) -> FrameHead:
    length = two_bytes[1] & 0x7F
    return FrameHead(two_bytes[0] & 0x0F, bool(two_bytes[0] & 0x80), {126: 2, 127: 8}.get(length, 0), length)


def frame(kind: int, content: bytes) -> bytes:
    """Returns a whole message in one frame, masked as a client's must be."""
    size = len(content)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    mask = os.urandom(4)
    stream = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")
    return head + mask + masked.to_bytes(size, "big")
