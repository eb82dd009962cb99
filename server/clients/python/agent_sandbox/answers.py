"""Answers of the server as typed values. `raw` of each is the whole answer, including fields of a later server."""
from __future__ import annotations

import base64
import dataclasses
import datetime
import typing
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar, Union

from .errors import UnexpectedAnswer

_Answer = TypeVar("_Answer", bound="Answer")


@dataclass(frozen=True)
class Answer:
    """A value of JSON. `raw` is the whole of it."""

    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls: Type[_Answer], value: Any) -> _Answer:
        """Reads `value` by the types of the fields. A name that is a keyword of Python has a _ appended here."""
        if not isinstance(value, dict):
            raise UnexpectedAnswer(f"{cls.__name__}: expected an object, and not {type(value).__name__}")
        read: Dict[str, Any] = {"raw": value}
        for field, reader in _readers_of(cls).items():
            name = field.rstrip("_")
            if name in value:
                read[field] = reader(value[name])
        try:
            return cls(**read)
        except TypeError as error:
            raise UnexpectedAnswer(f"{cls.__name__}: {error}") from None


def _as_it_is(value: Any) -> Any:
    return value


def _moment(text: Any) -> Any:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union and len(parts) == 2 and parts[1] is type(None):
        inner = _reader(parts[0])
        return lambda value: None if value is None else inner(value)
    if origin is list:
        each = _reader(parts[0])
        return lambda value: [each(one) for one in value]
    if origin is dict:
        of_name = _reader(parts[1])
        return lambda value: {name: of_name(one) for name, one in value.items()}
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.of
    return _moment if kind is datetime.datetime else _as_it_is


_READERS: Dict[type, Dict[str, Callable[[Any], Any]]] = {}


def _readers_of(cls: type) -> Dict[str, Callable[[Any], Any]]:
    """The readers of a kind of answer's fields, which are made once."""
    if cls not in _READERS:
        hints = typing.get_type_hints(cls)
        _READERS[cls] = {field.name: _reader(hints[field.name]) for field in dataclasses.fields(cls) if field.name != "raw"}
    return _READERS[cls]


@dataclass(frozen=True)
class Outcome(Answer):
    """The reason why something ended: `code` for programs, `cause` as a sentence; where a limit was met, the numbers
    and a remedy."""

    code: str
    cause: str
    limit: Optional[float]
    used: Optional[float]
    remedy: Optional[str]


@dataclass(frozen=True)
class Limits(Answer):
    """What holds each limit: cgroup, rlimit, watchdog or none."""

    memory: str
    pids: str
    cpu: str


@dataclass(frozen=True)
class Artifact(Answer):
    """A file that was collected after a run."""

    path: str
    size: int
    media_type: str
    base64: str

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.base64)


@dataclass(frozen=True)
class SkippedArtifact(Answer):
    path: str
    reason: str


@dataclass(frozen=True)
class NetworkDecision(Answer):
    """The decision on connections that a program asked for. `decision` is refused, failed or allowed."""

    destination: str
    decision: str
    reason: str
    connections: int


@dataclass(frozen=True)
class Timings(Answer):
    """In microseconds."""

    queued: int
    started: int
    ran: int


@dataclass(frozen=True)
class RunResult(Answer):
    """The result of a program. `status` is success, error, timeout, out_of_memory, killed, violation or cancelled."""

    job_id: str
    status: str
    success: bool
    outcome: Outcome
    exit_code: Optional[int]
    signal: Optional[str]
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    execution_time_ms: float
    cpu_time_ms: float
    memory_peak_mb: float
    warm: bool
    template: Optional[str]
    timings_us: Timings
    limits: Limits
    artifacts: List[Artifact]
    artifacts_skipped: List[SkippedArtifact]
    artifacts_skipped_total: int
    network: List[NetworkDecision]
    network_total: int
    created_at: datetime.datetime
    output_encoding: str = "utf-8"


@dataclass(frozen=True)
class Usage(Answer):
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Critique(Answer):
    diagnosis: str
    fix: str
    should_retry: bool
    confidence: float


@dataclass(frozen=True)
class Vote(Answer):
    role: str
    approves: bool
    confidence: float
    findings: List[str]


@dataclass(frozen=True)
class Attempt(Answer):
    """One program that was written for a task, and its result."""

    attempt: int
    candidate: int
    code: str
    reasoning: str
    dependencies: List[str]
    execution_result: Optional[RunResult]
    critique: Optional[Critique]
    votes: List[Vote]
    usage: Usage


@dataclass(frozen=True)
class TaskResult(Answer):
    """The result of a task. A task that was not solved has `success` False and the reason in `error`."""

    job_id: str
    status: str
    success: bool
    output: str
    code: str
    dependencies: List[str]
    reasoning: str
    attempts: int
    history: List[Attempt]
    artifacts: List[Artifact]
    artifacts_skipped: List[SkippedArtifact]
    artifacts_skipped_total: int
    usage: Dict[str, Usage]
    execution_time_ms: float
    error: Optional[str]
    provider_status: Optional[int]
    created_at: datetime.datetime
    completed_at: datetime.datetime


@dataclass(frozen=True)
class BenchmarkTask(Answer):
    id: str
    solved: bool
    solved_at: Optional[int]
    attempts: int
    seconds: float
    input_tokens: int
    output_tokens: int
    error: Optional[str]


@dataclass(frozen=True)
class BenchmarkReport(Answer):
    suite: str
    asked: int
    run: int
    max_attempts: int
    pass_at_1: float
    solved_within_3: float
    solved: int
    attempts_each: float
    seconds_each: float
    seconds: float
    input_tokens: int
    output_tokens: int
    tasks: List[BenchmarkTask]


@dataclass(frozen=True)
class Lesson(Answer):
    id: str
    task: str
    error: str
    advice: str
    code: str
    learnt_at: datetime.datetime
    seen: int


@dataclass(frozen=True)
class LessonPage(Answer):
    lessons: List[Lesson]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class JobSummary(Answer):
    """A past or present run. `kind` is code or task."""

    job_id: str
    kind: str
    status: str
    language: str
    code_sha256: str
    created_at: datetime.datetime
    finished_at: Optional[datetime.datetime]
    execution_time_ms: Optional[float]
    error: Optional[str]


@dataclass(frozen=True)
class Job(JobSummary):
    result: Optional[Dict[str, Any]]  # as it was answered: a RunResult or a TaskResult, by `kind`
    history: Optional[List[Attempt]]

    @property
    def run(self) -> Optional[RunResult]:
        """The result of a job of kind code that has ended."""
        return RunResult.of(self.result) if self.kind == "code" and self.result is not None else None

    @property
    def task(self) -> Optional[TaskResult]:
        """The result of a job of kind task that has ended."""
        return TaskResult.of(self.result) if self.kind == "task" and self.result is not None else None


@dataclass(frozen=True)
class JobPage(Answer):
    jobs: List[JobSummary]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class Template(Answer):
    """The preparations of a jail before its program comes. `ready` is how many jails wait, for keys with `metrics`."""

    name: str
    language: str
    imports: List[str]
    ready: Optional[int] = None


@dataclass(frozen=True)
class TemplateList(Answer):
    templates: List[Template]


@dataclass(frozen=True)
class Health(Answer):
    """Without a key, where one is configured, only `status` is set: ok or draining."""

    status: str
    version: Optional[str] = None
    uptime_seconds: Optional[float] = None
    pools: Optional[Dict[str, Any]] = None
    runs: Optional[Dict[str, Any]] = None
    limits: Optional[Limits] = None
    users: Optional[str] = None
    landlock: Optional[int] = None
    root: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Stats(Answer):
    version: str
    uptime_seconds: float
    runs: Dict[str, Any]
    by_status: Dict[str, Any]
    by_language: Dict[str, Any]
    tasks: Dict[str, Any]
    rejected: Dict[str, Any]
    latency_ms: Dict[str, Any]
    started_ms: Dict[str, Any]
    pools: Dict[str, Any]
    job_store_errors: int
