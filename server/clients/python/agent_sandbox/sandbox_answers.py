"""Answers about living sandboxes, their processes and files, volumes and webhooks."""
from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .answers import Answer, Limits, Outcome


@dataclass(frozen=True)
class SandboxLimits(Answer):
    memory_mb: int
    processes: int
    disk_mb: int
    cpu: Optional[float]


@dataclass(frozen=True)
class SandboxVolume(Answer):
    """A volume that a sandbox has."""

    volume: str
    path: str
    read_only: bool


@dataclass(frozen=True)
class SandboxPort(Answer):
    """A port that a sandbox declares. `host` is its own name, where the operator has a domain for ports."""

    port: int
    path: str
    host: Optional[str]


@dataclass(frozen=True)
class SandboxDetails(Answer):
    """The state of a sandbox when it was asked for. `state` is running, paused or ended."""

    id: str
    name: Optional[str]
    domain: Optional[str]
    state: str
    outcome: Optional[Outcome]
    template: Optional[str]
    metadata: Dict[str, str]
    working_directory: str
    created_at: datetime.datetime
    ends_at: datetime.datetime
    ended_at: Optional[datetime.datetime]
    paused_at: Optional[datetime.datetime]
    idle_seconds: Optional[float]
    on_timeout: str
    auto_resume: bool
    limits: SandboxLimits
    enforced_by: Limits
    network: Any  # "none", or {"allow": [...]}, and "secrets" without their values
    processes: int
    access_token: Optional[str] = None  # opens its ports; not in lists
    disk_kind: str = "memory"  # or "directory"
    warm: bool = False
    volumes: List[SandboxVolume] = field(default_factory=list)
    ports: List[SandboxPort] = field(default_factory=list)  # that it declares


@dataclass(frozen=True)
class SandboxEvent(Answer):
    number: int
    at: datetime.datetime
    kind: str
    sandbox_id: str
    request_id: Optional[str]
    detail: Dict[str, Any]


@dataclass(frozen=True)
class SandboxEventPage(Answer):
    events: List[SandboxEvent]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class SandboxUsage(Answer):
    at: datetime.datetime
    source: str
    memory_bytes: int
    memory_peak_bytes: int
    cpu_seconds: float
    processes: int
    workspace_bytes: int
    tmp_bytes: int
    complete: bool


@dataclass(frozen=True)
class MetricLimits(Answer):
    memory_bytes: int
    processes: int
    workspace_bytes: int
    tmp_bytes: int
    cpu: float


@dataclass(frozen=True)
class NetworkUse(Answer):
    connections: int
    refused: int
    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True)
class SandboxMetrics(Answer):
    now: Optional[SandboxUsage]
    limits: MetricLimits
    network: NetworkUse
    interval_seconds: int
    samples: List[SandboxUsage]


@dataclass(frozen=True)
class SandboxLogEntry(Answer):
    at: datetime.datetime
    pid: int
    stream: str
    place: int
    data: str


@dataclass(frozen=True)
class SandboxLogPage(Answer):
    entries: List[SandboxLogEntry]
    from_: int
    next: int
    lost_bytes: int
    has_more: bool


@dataclass(frozen=True)
class ProcessDetails(Answer):
    """The state of a process when it was asked for. `state` is running or ended."""

    pid: int
    command: List[str]
    state: str
    exit_code: Optional[int]
    signal: Optional[str]
    outcome: Optional[Outcome]
    background: bool
    pty: bool
    warm: bool  # its interpreter had begun before it was asked for
    started_at: datetime.datetime
    ended_at: Optional[datetime.datetime]
    output_from: int
    output_to: int
    cpu_time_ms: Optional[float]
    memory_peak_mb: Optional[float]


@dataclass(frozen=True)
class ProcessResult(ProcessDetails):
    """A process that has ended, and its output."""

    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool

    @property
    def success(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True)
class OutputPiece(Answer):
    stream: str
    data: str


@dataclass(frozen=True)
class ProcessOutput(Answer):
    from_: int
    next: int
    lost_bytes: int
    pieces: List[OutputPiece]
    over: bool

    @property
    def text(self) -> str:
        """The text of both streams, in the order in which it came."""
        return "".join(piece.data for piece in self.pieces)


@dataclass(frozen=True)
class FileEntry(Answer):
    """`type` is file, directory, link or other."""

    path: str
    name: str
    type: str
    size: int
    mode: str
    modified_at: datetime.datetime
    target: Optional[str]


@dataclass(frozen=True)
class FileList(Answer):
    entries: List[FileEntry]
    truncated: bool


@dataclass(frozen=True)
class SearchMatch(Answer):
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class SearchResult(Answer):
    matches: List[SearchMatch]
    truncated: bool


@dataclass(frozen=True)
class SignedUrl(Answer):
    url: str
    method: str
    expires_at: datetime.datetime


@dataclass(frozen=True)
class VolumeUser(Answer):
    """A sandbox that has a volume."""

    id: str
    path: str
    read_only: bool


@dataclass(frozen=True)
class Volume(Answer):
    """The state of a volume when it was asked for."""

    id: str
    name: str
    created_at: datetime.datetime
    size_mb: int
    used_bytes: int
    files: int
    sandboxes: List[VolumeUser]


@dataclass(frozen=True)
class VolumePage(Answer):
    volumes: List[Volume]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class WebhookTry(Answer):
    at: datetime.datetime
    event: str
    delivered: bool
    status: Optional[int]
    error: Optional[str]


@dataclass(frozen=True)
class Webhook(Answer):
    id: str
    name: str
    url: str
    events: List[str]
    created_at: datetime.datetime
    enabled: bool
    disabled_reason: Optional[str]
    failures: int
    previous_secret_until: Optional[datetime.datetime]
    failing_since: Optional[datetime.datetime]
    next_try_at: Optional[datetime.datetime]
    missed_events: int
    last_try: Optional[WebhookTry]


@dataclass(frozen=True)
class CreatedWebhook(Webhook):
    """A webhook with its secret, which is shown only this once."""

    secret: str


@dataclass(frozen=True)
class Erased(Answer):
    erased: int


@dataclass(frozen=True)
class WebhookList(Answer):
    webhooks: List[Webhook]


@dataclass(frozen=True)
class ProcessList(Answer):
    processes: List[ProcessDetails]


@dataclass(frozen=True)
class SandboxPage(Answer):
    sandboxes: List[SandboxDetails]
    next_cursor: Optional[str]
