"""Past and present runs, and the lessons of tasks."""
from __future__ import annotations

from typing import AsyncIterator, Optional, Union

from ..address import segment
from ..answers import Job, JobPage, JobSummary, LessonPage
from ..events import JOB
from ..fields import request_fields
from ..sandbox_answers import Erased
from .session import AsyncEventStream, AsyncSession, Request


class AsyncJobs:
    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def list(self, *, status: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> JobPage:
        """Returns one page, newest first."""
        return JobPage.of(await self._session.json(Request("GET", "/jobs", request_fields(locals()))))

    async def iterate(self, *, status: Optional[str] = None) -> AsyncIterator[JobSummary]:
        """Iterates over all pages."""
        page = await self.list(status=status, limit=200)
        while True:
            for job in page.jobs:
                yield job
            if page.next_cursor is None:
                return
            page = await self.list(status=status, limit=200, cursor=page.next_cursor)

    async def get(self, job_id: str) -> Job:
        return Job.of(await self._session.json(Request("GET", f"/jobs/{segment(job_id)}")))

    def stream(self, job_id: str) -> AsyncEventStream:
        """The events of a job from now on, up to complete with the Job and its result."""
        return AsyncEventStream(self._session, Request("GET", f"/jobs/{segment(job_id)}"), JOB)

    async def cancel(self, job_id: str) -> None:
        """Cancels a job; its caller gets the status cancelled. A job that has ended raises Conflict."""
        await self._session.done(Request("DELETE", f"/jobs/{segment(job_id)}"))

    async def signal(self, job_id: str, signal: Union[str, int]) -> None:
        """Sends SIGINT, or 2, to the program of a job and to its process group."""
        await self._session.done(Request("POST", f"/jobs/{segment(job_id)}/signal", body={"signal": signal}))


class AsyncLessons:
    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> LessonPage:
        return LessonPage.of(await self._session.json(Request("GET", "/lessons", request_fields(locals()))))

    async def erase(self, lesson_id: str) -> int:
        """Erases one lesson. Returns how many are gone."""
        return Erased.of(await self._session.json(Request("DELETE", f"/lessons/{segment(lesson_id)}"))).erased

    async def erase_all(self) -> int:
        return Erased.of(await self._session.json(Request("DELETE", "/lessons"))).erased
