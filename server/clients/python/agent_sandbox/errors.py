"""Errors as exceptions. The failure of a program is not an error: it is in its result."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping, Optional, Type

# Details of bad requests begin with the field that they are about.
_FIELD = re.compile(r'"?([A-Za-z_][\w.\[\]-]*)"?: ')


class SandboxError(Exception):
    """The base of all exceptions that this package raises itself."""


class InvalidAddress(SandboxError, ValueError):
    """The URL or the key of the server is invalid."""


class ConnectionFailed(SandboxError):
    """There is no connection to the server, or it broke off. What the request asked for may have happened."""


class AnswerTimeout(ConnectionFailed):
    """The server sent nothing for so long that it was no longer waited for."""


class BrokenStream(ConnectionFailed):
    """A stream of events ended without its last event."""


class UnexpectedAnswer(SandboxError):
    """The answer violates the interface: the address is that of another server, or of another version of it."""


class ApiError(SandboxError):
    """The server refused the request, and says why.

    `status` is that of HTTP and `code` one word for programs; `detail` says what is wrong and what is allowed, and `field` which
    field of the request it is about, where it is about one. Where there was too much of something `limit` and `used` say how much
    may be and was there, and `remedy` what the next request can do. `retry_after_seconds` is there where a later try can succeed,
    and `request_id` is what the server's log has of the request. `problem` is the whole of it as it came (RFC 9457).
    """

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Optional[Mapping[str, str]] = None) -> None:
        headers = headers or {}
        self.status = status
        self.problem = problem
        self.title: str = str(problem.get("title", ""))
        self.code: str = str(problem.get("code", ""))
        self.detail: str = str(problem.get("detail", ""))
        self.limit: Optional[float] = problem.get("limit")
        self.used: Optional[float] = problem.get("used")
        self.remedy: Optional[str] = problem.get("remedy")
        named = _FIELD.match(self.detail)
        self.field: Optional[str] = named.group(1) if named and status == 400 else None
        self.request_id: Optional[str] = headers.get("x-request-id")
        later = headers.get("retry-after", "")
        self.retry_after_seconds: Optional[float] = float(later) if later.isdigit() else None
        super().__init__(f"{status} {self.code}: {self.detail}" + (f" ({self.remedy})" if self.remedy else ""))


class BadRequest(ApiError):
    """400: a field is unknown, of the wrong type or out of its range."""


class Unauthorized(ApiError):
    """401: there is no key, or a wrong one."""


class Forbidden(ApiError):
    """403: the operator or the sandbox does not permit it."""


class NotFound(ApiError):
    """404: nothing has that id or path, or it is another key's."""


class Conflict(ApiError):
    """409: what the request is about is in another state: ended, paused, taken, not empty."""


class TooLarge(ApiError):
    """413: the request has more bytes than the server takes."""


class NoProvider(ApiError):
    """424: no language model is configured that could solve a task."""


class TooManyRequests(ApiError):
    """429: this key has asked too often, or has too much running."""


class ServerFailure(ApiError):
    """5xx: the fault is the server's own."""


class Unavailable(ServerFailure):
    """503: the server has no place at the moment, or is stopping."""


class DiskFull(ServerFailure):
    """507: the disk of the sandbox has no room for it."""


_BY_STATUS: Dict[int, Type[ApiError]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 413: TooLarge, 424: NoProvider,
    429: TooManyRequests, 503: Unavailable, 507: DiskFull,
}


def of_problem(status: int, problem: Mapping[str, Any], headers: Optional[Mapping[str, str]] = None) -> ApiError:
    """The exception for a refusal."""
    kind = _BY_STATUS.get(status, ServerFailure if status >= 500 else ApiError)
    return kind(status, problem, headers)


def of_answer(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Returns the exception for an HTTP answer that is a refusal, even where a proxy made it in a form of its own."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"title": "", "code": "", "detail": body[:500].decode("utf-8", "replace")}
    return of_problem(status, problem, headers)
