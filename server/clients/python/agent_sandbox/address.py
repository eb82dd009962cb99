"""The address of the server, and the key for it."""
from __future__ import annotations

import os
import urllib.parse
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Tuple

from .errors import InvalidAddress

DEFAULT_URL = "http://127.0.0.1:8000"
URL_VARIABLE, KEY_VARIABLE = "AGENT_SANDBOX_URL", "AGENT_SANDBOX_KEY"


@dataclass(frozen=True)
class Address:
    """One server: a host and port, or the path of a Unix socket."""

    url: str  # in front of every path; for a Unix socket it names a host that cannot be resolved
    host: str
    port: int
    has_tls: bool
    prefix: str  # of every path, without a slash at its end
    socket_path: Optional[str] = None

    @property
    def host_header(self) -> str:
        return urllib.parse.urlsplit(self.url).netloc

    @property
    def shown(self) -> str:
        return f"unix:{self.socket_path}" if self.socket_path else self.url

    def of_port(self, sandbox_id: str, domain: Optional[str], port: int) -> Optional[str]:
        """Returns the origin of a sandbox's port at a name of its own; None where there are no such names."""
        if self.socket_path:
            raise InvalidAddress("a Unix socket has no address to open")
        if not domain:
            return None
        parts = urllib.parse.urlsplit(self.url)
        return f"{parts.scheme}://{port}-{sandbox_id}.{domain}" + (f":{parts.port}" if parts.port else "")


def _is_visible(text: str) -> bool:
    return all("!" <= letter <= "~" for letter in text)


def address_of(url: Optional[str]) -> Address:
    """Returns the address in `url`, else in AGENT_SANDBOX_URL, else that of the server on this machine."""
    url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    if url.startswith("unix:"):
        path = url[len("unix:"):]
        if not path.startswith("/"):
            raise InvalidAddress(f"{url!r}: expected an absolute path after unix:")
        return Address("http://localhost", "localhost", 80, False, "", path)
    url = url.rstrip("/")
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    plain = _is_visible(url) and not (parts.query or parts.fragment or "@" in parts.netloc or url.endswith(":"))
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain or port == 0:
        raise InvalidAddress(f"{url!r}: expected http://HOST:PORT, https:// or unix:/PATH, without a user, ? and #")
    has_tls = parts.scheme == "https"
    return Address(url, parts.hostname, port or (443 if has_tls else 80), has_tls, parts.path)


def key_of(key: Optional[str]) -> Optional[str]:
    """Returns `key`, else AGENT_SANDBOX_KEY, else None. An empty key counts as none."""
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if key and not _is_visible(key):
        raise InvalidAddress(f"the key: expected one without blanks, as in {KEY_VARIABLE}")
    return key or None


def target_of(path: str, query: Mapping[str, Any]) -> str:
    """Returns `path` with `query` appended; members that are None are left out."""
    given: Iterable[Tuple[str, Any]] = ((name, value) for name, value in query.items() if value is not None)
    words = [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in given]
    return path + ("?" + urllib.parse.urlencode(words, quote_via=urllib.parse.quote) if words else "")


def segment(text: str) -> str:
    """Encodes one segment of a path."""
    return urllib.parse.quote(text, safe="")


def file_segment(path: str) -> str:
    """Encodes the path of a file in a sandbox: its slashes stay, except the first."""
    if not path.startswith("/"):
        raise ValueError(f"{path!r}: expected an absolute path in the sandbox, such as /workspace/{path}")
    return urllib.parse.quote(path[1:], safe="/")
