# Written by write_synchronous.py from asynchronous/jobs.py.
"""Past and present runs, and the lessons of tasks."""
from __future__ import annotations

from typing import Iterator, Optional, Union

from ..address import segment
from ..answers import Job, JobPage, JobSummary, LessonPage
from ..events import JOB
from ..fields import request_fields
from ..sandbox_answers import Erased
from .session import EventStream, Session, Request


class Jobs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self, *, status: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> JobPage:
        """Returns one page, newest first."""
        return JobPage.of(self._session.json(Request("GET", "/jobs", request_fields(locals()))))

    def iterate(self, *, status: Optional[str] = None) -> Iterator[JobSummary]:
        """Iterates over all pages."""
        page = self.list(status=status, limit=200)
        while True:
            for job in page.jobs:
                yield job
            if page.next_cursor is None:
                return
            page = self.list(status=status, limit=200, cursor=page.next_cursor)

    def get(self, job_id: str) -> Job:
        return Job.of(self._session.json(Request("GET", f"/jobs/{segment(job_id)}")))

    def stream(self, job_id: str) -> EventStream:
        """The events of a job from now on, up to complete with the Job and its result."""
        return EventStream(self._session, Request("GET", f"/jobs/{segment(job_id)}"), JOB)

    def cancel(self, job_id: str) -> None:
        """Cancels a job; its caller gets the status cancelled. A job that has ended raises Conflict."""
        self._session.done(Request("DELETE", f"/jobs/{segment(job_id)}"))

    def signal(self, job_id: str, signal: Union[str, int]) -> None:
        """Sends SIGINT, or 2, to the program of a job and to its process group."""
        self._session.done(Request("POST", f"/jobs/{segment(job_id)}/signal", body={"signal": signal}))


class Lessons:
    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> LessonPage:
        return LessonPage.of(self._session.json(Request("GET", "/lessons", request_fields(locals()))))

    def erase(self, lesson_id: str) -> int:
        """Erases one lesson. Returns how many are gone."""
        return Erased.of(self._session.json(Request("DELETE", f"/lessons/{segment(lesson_id)}"))).erased

    def erase_all(self) -> int:
        return Erased.of(self._session.json(Request("DELETE", "/lessons"))).erased
