# Written by write_synchronous.py from asynchronous/client.py.
"""The client: programs, tasks, and access to everything else."""
from __future__ import annotations

import ssl
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from ..address import segment
from ..answers import BenchmarkReport, Health, RunResult, Stats, TaskResult, Template, TemplateList
from ..events import CODE, TASK
from ..fields import request_fields
from ..sandbox_answers import SandboxEventPage
from ..events import FOLLOWED
from .jobs import Jobs, Lessons
from .sandboxes import Sandboxes
from .session import EventStream, Session, Request
from .volumes import Volumes
from .webhooks import Webhooks

Network = Union[str, Mapping[str, List[str]]]  # "none", or {"allow": ["host:port", ...]}
Files = Mapping[str, Union[str, bytes]]

# The server's default maximum for a program, and how long a task or a suite of them is waited for.
_LONGEST_PROGRAM_SECONDS = 60.0
_LONGEST_TASK_SECONDS = 3600.0


class Client:
    """One server. `close()`, or the end of the `with` that entered it, ends its idle connections; a request after that
    opens a new one.

    `url` is http://HOST:PORT, https:// or unix:/PATH, by default that of AGENT_SANDBOX_URL, else http://127.0.0.1:8000; `key` by
    default that of AGENT_SANDBOX_KEY. `connect_seconds` bounds how long a connection may take, `answer_seconds` how long the server
    may say nothing: to it is added what a program or a task may take. `tls` takes the place of the usual trust in certificates.
    """

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, *, connect_seconds: float = 10.0,
                 answer_seconds: float = 60.0, tls: Optional[ssl.SSLContext] = None) -> None:
        self._session = Session(url, key, connect_seconds, answer_seconds, tls)
        self.sandboxes = Sandboxes(self._session)
        self.jobs = Jobs(self._session)
        self.lessons = Lessons(self._session)
        self.volumes = Volumes(self._session)
        self.webhooks = Webhooks(self._session)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    def execute(self, code: str, *, language: Optional[str] = None, stdin: Optional[str] = None, args: Optional[List[str]] = None,
                      env: Optional[Mapping[str, str]] = None, files: Optional[Files] = None, artifacts: Optional[List[str]] = None,
                      timeout_seconds: Optional[float] = None, memory_limit_mb: Optional[int] = None, template: Optional[str] = None,
                      output_encoding: Optional[str] = None, network: Optional[Network] = None,
                      answer_seconds: Optional[float] = None) -> RunResult:
        """Runs one program to its end. One that crashed, timed out or was killed is a result too: see its `status`."""
        fields = request_fields(locals())
        longest = self._longest(answer_seconds, timeout_seconds or _LONGEST_PROGRAM_SECONDS)
        return RunResult.of(self._session.json(Request("POST", "/execute", body=fields, answer_seconds=longest)))

    def execute_stream(self, code: str, *, language: Optional[str] = None, stdin: Optional[str] = None, args: Optional[List[str]] = None,
                       env: Optional[Mapping[str, str]] = None, files: Optional[Files] = None, artifacts: Optional[List[str]] = None,
                       timeout_seconds: Optional[float] = None, memory_limit_mb: Optional[int] = None, template: Optional[str] = None,
                       output_encoding: Optional[str] = None, network: Optional[Network] = None) -> EventStream:
        """The same as events while it runs: started, stdout, stderr, execution_result with a RunResult, complete.
        Closing the stream cancels it."""
        return EventStream(self._session, Request("POST", "/execute", body=request_fields(locals())), CODE)

    def run(self, task: str, *, max_attempts: Optional[int] = None, tests: Optional[str] = None, write_tests: Optional[bool] = None,
                  files: Optional[Files] = None, artifacts: Optional[List[str]] = None, timeout_seconds: Optional[float] = None,
                  memory_limit_mb: Optional[int] = None, swarm: Optional[bool] = None, candidates: Optional[int] = None, lessons: Optional[bool] = None,
                  provider: Optional[str] = None, model: Optional[str] = None, answer_seconds: Optional[float] = None) -> TaskResult:
        """Has a task solved. One that was not solved is a result too. `timeout_seconds` is that of each program."""
        fields = request_fields(locals())
        longest = self._longest(answer_seconds, _LONGEST_TASK_SECONDS)
        return TaskResult.of(self._session.json(Request("POST", "/execute", body=fields, answer_seconds=longest)))

    def run_stream(self, task: str, *, max_attempts: Optional[int] = None, tests: Optional[str] = None, write_tests: Optional[bool] = None,
                   files: Optional[Files] = None, artifacts: Optional[List[str]] = None, timeout_seconds: Optional[float] = None,
                   memory_limit_mb: Optional[int] = None, swarm: Optional[bool] = None, candidates: Optional[int] = None, lessons: Optional[bool] = None,
                   provider: Optional[str] = None, model: Optional[str] = None) -> EventStream:
        """The same step by step, up to complete with a TaskResult. Closing the stream cancels it."""
        return EventStream(self._session, Request("POST", "/execute", body=request_fields(locals())), TASK)

    def benchmark(self, *, suite: Optional[str] = None, max_problems: Optional[int] = None, max_attempts: Optional[int] = None,
                        provider: Optional[str] = None, model: Optional[str] = None, answer_seconds: Optional[float] = None) -> BenchmarkReport:
        """Has a suite of tasks solved, and returns the counts."""
        fields = request_fields(locals())
        longest = self._longest(answer_seconds, _LONGEST_TASK_SECONDS)
        return BenchmarkReport.of(self._session.json(Request("POST", "/benchmark", body=fields, answer_seconds=longest)))

    def audit(self, *, kind: Optional[str] = None, sandbox: Optional[str] = None, limit: Optional[int] = None,
                    cursor: Optional[str] = None) -> SandboxEventPage:
        """Returns the events of all sandboxes of the key, newest first."""
        query = request_fields(locals())
        return SandboxEventPage.of(self._session.json(Request("GET", "/v1/audit", query)))

    def audit_stream(self, *, kind: Optional[str] = None, sandbox: Optional[str] = None, cursor: Optional[str] = None) -> EventStream:
        """The same, oldest first, as they happen: from now on, or after the event whose number is `cursor`."""
        return EventStream(self._session, Request("GET", "/v1/audit", request_fields(locals())), FOLLOWED)

    def templates(self) -> List[Template]:
        """Returns the templates that a request may name."""
        return TemplateList.of(self._session.json(Request("GET", "/v1/templates"))).templates

    def template(self, name: str) -> Template:
        return Template.of(self._session.json(Request("GET", f"/v1/templates/{segment(name)}")))

    def health(self) -> Health:
        """Checks that the server is there. A server that is stopping raises Unavailable."""
        return Health.of(self._session.json(Request("GET", "/health")))

    def stats(self) -> Stats:
        return Stats.of(self._session.json(Request("GET", "/stats")))

    def metrics(self) -> str:
        """The same in Prometheus's format."""
        reply = self._session.open(Request("GET", "/metrics", accept="text/plain"))
        return (reply.all()).decode()

    def openapi(self) -> Dict[str, Any]:
        """Returns the description of the interface."""
        document: Dict[str, Any] = self._session.json(Request("GET", "/openapi.json"))
        return document

    def _longest(self, answer_seconds: Optional[float], run_seconds: float) -> float:
        return self._session.answer_seconds + run_seconds if answer_seconds is None else answer_seconds
