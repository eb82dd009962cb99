"""The events of streams."""
from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Any, Callable, Mapping, NamedTuple, Optional

from .answers import Answer, Job, RunResult, TaskResult
from .errors import UnexpectedAnswer, of_problem
from .sandbox_answers import ProcessDetails, SandboxEvent, SandboxLogEntry

NDJSON = "application/x-ndjson"


@dataclass(frozen=True)
class Event(Answer):
    """`data` is text for stdout, stderr and token, a value such as RunResult where `type` has one, and a JSON value
    otherwise."""

    type: str
    data: Any
    timestamp: datetime.datetime
    seq: int


@dataclass(frozen=True)
class FileChange(Answer):
    """`from_` is set where a file was moved."""

    path: str
    directory: bool
    from_: Optional[str] = None


class StreamKind(NamedTuple):
    """The last event of a stream, and the types of its events' data."""

    last: str
    values: Mapping[str, Callable[[Any], Any]]

    def read(self, line: bytes) -> Event:
        """Reads one event. An error event is raised."""
        try:
            event = Event.of(json.loads(line))
        except ValueError:
            raise UnexpectedAnswer(f"no event: {line[:100]!r}") from None
        if event.type == "error":
            problem = event.data if isinstance(event.data, dict) else {"detail": str(event.data)}
            raise of_problem(int(problem.get("status", 500)), problem)
        value = self.values.get(event.type)
        return event if value is None else Event(event.raw, event.type, value(event.data), event.timestamp, event.seq)


CODE = StreamKind("complete", {"execution_result": RunResult.of})
TASK = StreamKind("complete", {"complete": TaskResult.of})
JOB = StreamKind("complete", {"complete": Job.of})
PROCESS = StreamKind("exit", {"started": ProcessDetails.of, "exit": ProcessDetails.of})
FOLLOWED = StreamKind("end", {"log": SandboxLogEntry.of, "event": SandboxEvent.of})
WATCHED = StreamKind("end", {kind: FileChange.of for kind in ("created", "written", "attributes", "moved", "removed")})
