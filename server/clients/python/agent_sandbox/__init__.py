"""A client of agent-sandbox: runs programs that nobody has read, and sandboxes that live.

    from agent_sandbox import Client

    with Client() as client:
        print(client.execute("print(6 * 7)").stdout)

`AsyncClient` is the same for asyncio.
"""
from .answers import (Answer, Artifact, Attempt, BenchmarkReport, BenchmarkTask, Critique, Health, Job, JobPage, JobSummary, Lesson,
                      LessonPage, Limits, NetworkDecision, Outcome, RunResult, SkippedArtifact, Stats, TaskResult, Template, Timings, Usage,
                      Vote)
from .asynchronous.client import AsyncClient
from .asynchronous.processes import AsyncProcess
from .asynchronous.sandboxes import AsyncSandbox
from .asynchronous.session import AsyncByteReader, AsyncEventStream
from .asynchronous.terminal import AsyncTerminal
from .errors import (AnswerTimeout, ApiError, BadRequest, BrokenStream, Conflict, ConnectionFailed, DiskFull, Forbidden,
                     InvalidAddress, NoProvider, NotFound, SandboxError, ServerFailure, TooLarge, TooManyRequests, Unauthorized,
                     Unavailable, UnexpectedAnswer)
from .events import Event, FileChange
from .fields import UNSET
from .sandbox_answers import (CreatedWebhook, FileEntry, FileList, MetricLimits, NetworkUse, OutputPiece, ProcessDetails,
                              ProcessOutput, ProcessResult, SandboxDetails, SandboxEvent, SandboxEventPage, SandboxLimits,
                              SandboxLogEntry, SandboxLogPage, SandboxMetrics, SandboxPage, SandboxPort, SandboxUsage, SearchMatch,
                              SearchResult, SandboxVolume, SignedUrl, Volume, VolumePage, VolumeUser, Webhook, WebhookTry)
from .synchronous.client import Client
from .synchronous.processes import Process
from .synchronous.sandboxes import Sandbox
from .synchronous.session import ByteReader, EventStream
from .synchronous.terminal import Terminal

__all__ = [
    "UNSET", "Answer", "AnswerTimeout", "ApiError", "Artifact", "AsyncByteReader", "AsyncClient", "AsyncEventStream", "AsyncProcess",
    "AsyncSandbox", "AsyncTerminal", "Attempt", "BadRequest", "BenchmarkReport", "BenchmarkTask", "BrokenStream", "ByteReader", "Client",
    "Conflict", "ConnectionFailed", "CreatedWebhook", "Critique", "DiskFull", "Event", "EventStream", "FileChange", "FileEntry",
    "FileList", "Forbidden", "Health", "InvalidAddress", "Job", "JobPage", "JobSummary", "Lesson", "LessonPage", "Limits",
    "MetricLimits", "NetworkDecision", "NetworkUse", "NoProvider", "NotFound", "Outcome", "OutputPiece", "Process", "ProcessDetails", "ProcessOutput",
    "ProcessResult", "RunResult", "Sandbox", "SandboxDetails", "SandboxError", "SandboxEvent", "SandboxEventPage", "SandboxLimits",
    "SandboxLogEntry", "SandboxLogPage", "SandboxMetrics", "SandboxPage", "SandboxPort", "SandboxUsage", "SandboxVolume", "SearchMatch", "SearchResult",
    "ServerFailure", "SignedUrl", "SkippedArtifact", "Stats", "TaskResult", "Template", "Terminal", "Timings", "TooLarge", "TooManyRequests",
    "Unauthorized", "Unavailable", "UnexpectedAnswer", "Usage", "Volume", "VolumePage", "VolumeUser", "Vote", "Webhook", "WebhookTry",
]
