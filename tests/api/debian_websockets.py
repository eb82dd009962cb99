"""Debian's python3-websockets by the interface that version 10, of Debian 12, and version 15, of Debian 13, have both."""
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the later one also has another interface, and prefers that
    from websockets.exceptions import ConnectionClosed, InvalidStatusCode
    from websockets.legacy.client import connect, unix_connect

__all__ = ["ConnectionClosed", "InvalidStatusCode", "connect", "unix_connect"]
