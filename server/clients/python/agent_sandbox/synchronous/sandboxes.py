# Written by write_synchronous.py from asynchronous/sandboxes.py.
"""Sandboxes that live between requests."""
from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Type, Union

from ..address import segment
from ..events import FOLLOWED
from ..fields import UNSET, Unset, request_fields
from ..sandbox_answers import SandboxDetails, SandboxEventPage, SandboxLogPage, SandboxMetrics, SandboxPage
from .files import Files
from .processes import Processes
from .session import EventStream, Session, Request

# "none", or {"allow": ["host:port", ...]}, and perhaps "secrets": [{"host", "port", "header", "value"}, ...]
Network = Union[str, Mapping[str, Any]]
_NULLABLE = ("timeout_seconds", "idle_seconds")


class Sandboxes:
    def __init__(self, session: Session) -> None:
        self._session = session

    def create(self, *, template: Optional[str] = None, name: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
                     working_directory: Optional[str] = None, metadata: Optional[Mapping[str, str]] = None,
                     limits: Optional[Mapping[str, float]] = None, disk_kind: Optional[str] = None,
                     timeout_seconds: Union[float, None, Unset] = UNSET,
                     idle_seconds: Union[float, None, Unset] = UNSET, on_timeout: Optional[str] = None,
                     auto_resume: Optional[bool] = None, network: Optional[Network] = None,
                     volumes: Optional[List[Mapping[str, Any]]] = None,
                     warm: Optional[bool] = None, ports: Optional[List[int]] = None) -> Sandbox:
        """Makes a sandbox that lives for `timeout_seconds` (None: as long as the operator allows). A `with` block
        deletes it at its end. `volumes` are `{"volume": name, "path": "/data"}`, and perhaps `"read_only": True`.
        In a `warm` one code of its template, python or data, begins with all modules of that imported."""
        fields = request_fields(locals(), _NULLABLE)
        return Sandbox(self._session, SandboxDetails.of(self._session.json(Request("POST", "/v1/sandboxes", body=fields))))

    def get(self, sandbox_id: str) -> Sandbox:
        """Finds a sandbox by its id, or by its name while it lives."""
        details = self._session.json(Request("GET", f"/v1/sandboxes/{segment(sandbox_id)}"))
        return Sandbox(self._session, SandboxDetails.of(details))

    def list(self, *, state: Optional[str] = None, metadata: Optional[str] = None, limit: Optional[int] = None,
                   cursor: Optional[str] = None) -> SandboxPage:
        """Returns one page, newest first. `metadata` is `name:value`."""
        return SandboxPage.of(self._session.json(Request("GET", "/v1/sandboxes", request_fields(locals()))))

    def iterate(self, *, state: Optional[str] = None, metadata: Optional[str] = None) -> Iterator[SandboxDetails]:
        """Iterates over all pages."""
        page = self.list(state=state, metadata=metadata, limit=200)
        while True:
            for details in page.sandboxes:
                yield details
            if page.next_cursor is None:
                return
            page = self.list(state=state, metadata=metadata, limit=200, cursor=page.next_cursor)


class Sandbox:
    """One sandbox. `details` is its state when it was last asked for; `refresh()` asks again."""

    def __init__(self, session: Session, details: SandboxDetails) -> None:
        self._session = session
        self.details = details
        self.path = f"/v1/sandboxes/{details.id}"
        self.files = Files(session, self.path)
        self.processes = Processes(session, self.path)
        self.run = self.processes.run
        self.run_stream = self.processes.run_stream
        self.start = self.processes.start
        self.terminal = self.processes.terminal

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.delete()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.details.name or self.id} {self.state}>"

    @property
    def id(self) -> str:
        return self.details.id

    @property
    def name(self) -> Optional[str]:
        return self.details.name

    @property
    def state(self) -> str:
        return self.details.state

    def refresh(self) -> SandboxDetails:
        return self._changed(Request("GET", self.path))

    def change(self, *, timeout_seconds: Union[float, None, Unset] = UNSET, idle_seconds: Union[float, None, Unset] = UNSET,
                     metadata: Optional[Mapping[str, str]] = None, network: Optional[Network] = None,
                     limits: Optional[Mapping[str, float]] = None) -> SandboxDetails:
        """Changes the given fields. The lifetime counts from now on; the network and the limits change at once."""
        return self._changed(Request("PATCH", self.path, body=request_fields(locals(), _NULLABLE)))

    def renew(self, timeout_seconds: Optional[float]) -> SandboxDetails:
        """Lets it live for this long from now on."""
        return self.change(timeout_seconds=timeout_seconds)

    def pause(self) -> SandboxDetails:
        """Stops all that runs in it. The next request that needs it resumes it, unless `auto_resume` is false."""
        return self._changed(Request("POST", f"{self.path}/pause"))

    def resume(self) -> SandboxDetails:
        return self._changed(Request("POST", f"{self.path}/resume"))

    def renew_token(self) -> SandboxDetails:
        """Replaces its access token."""
        return self._changed(Request("POST", f"{self.path}/token"))

    def delete(self) -> None:
        """Ends it, or forgets one that has ended."""
        self._session.done(Request("DELETE", self.path))

    def events(self, *, kind: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> SandboxEventPage:
        """Returns its events, oldest first."""
        return SandboxEventPage.of(self._session.json(Request("GET", f"{self.path}/events", request_fields(locals()))))

    def events_stream(self, *, kind: Optional[str] = None, cursor: Optional[str] = None) -> EventStream:
        """The same, and then new events, until it has ended."""
        return EventStream(self._session, Request("GET", f"{self.path}/events", request_fields(locals())), FOLLOWED)

    def logs(self, *, start: Optional[int] = None, tail: Optional[int] = None, limit: Optional[int] = None,
                   process: Optional[int] = None, stream: Optional[str] = None, encoding: Optional[str] = None) -> SandboxLogPage:
        """Returns the output of all its processes, in the order in which it came: from the byte `start` on, or the
        latest `tail` lines."""
        return SandboxLogPage.of(self._session.json(Request("GET", f"{self.path}/logs", request_fields(locals()))))

    def logs_stream(self, *, start: Optional[int] = None, tail: Optional[int] = None, process: Optional[int] = None,
                    stream: Optional[str] = None, encoding: Optional[str] = None) -> EventStream:
        """The same, and then new output, until it has ended."""
        return EventStream(self._session, Request("GET", f"{self.path}/logs", request_fields(locals())), FOLLOWED)

    def metrics(self, *, start: Union[str, float, None] = None, end: Union[str, float, None] = None) -> SandboxMetrics:
        """Returns its current usage, and that between two times (RFC 3339, or seconds since 1970)."""
        return SandboxMetrics.of(self._session.json(Request("GET", f"{self.path}/metrics", request_fields(locals()))))

    def port_url(self, port: int, path: str = "/", *, with_token: bool = False) -> str:
        """Returns the address of a server in it that listens on `port`. With its access token the address opens it
        without a key."""
        base = self._session.address.of_port(self.id, self.details.domain, port) or f"{self._session.address.url}{self.path}/ports/{port}"
        url = base + "/" + path.lstrip("/")
        if with_token and self.details.access_token:
            url += f"{'&' if '?' in path else '?'}access_token={self.details.access_token}"
        return url

    def tunnel_url(self, port: int, *, with_token: bool = False) -> str:
        """Returns where a WebSocket carries the bytes of a TCP connection to `port`. With its access token the URL opens it
        without a key."""
        url = "ws" + self._session.address.url[len("http"):] + f"{self.path}/tunnel?port={port}"
        return f"{url}&access_token={self.details.access_token}" if with_token and self.details.access_token else url

    def _changed(self, request: Request) -> SandboxDetails:
        self.details = SandboxDetails.of(self._session.json(request))
        return self.details


