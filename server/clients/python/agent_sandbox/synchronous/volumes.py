# Written by write_synchronous.py from asynchronous/volumes.py.
"""Directories that outlive the sandboxes which use them."""
from __future__ import annotations

from typing import Iterator, Optional

from ..address import segment
from ..fields import request_fields
from ..sandbox_answers import Volume, VolumePage
from .session import Session, Request

# A copy is answered when all of it is made.
_LONGEST_COPY_SECONDS = 3600.0


class Volumes:
    """A volume is named by its id or by its name."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def create(self, name: str, *, size_mb: Optional[int] = None, copy_of: Optional[str] = None,
                     answer_seconds: Optional[float] = None) -> Volume:
        """Makes a volume, empty or with the files of another one."""
        fields = request_fields(locals())
        longest = self._session.answer_seconds + (_LONGEST_COPY_SECONDS if copy_of else 0.0)
        return Volume.of(self._session.json(
            Request("POST", "/v1/volumes", body=fields, answer_seconds=longest if answer_seconds is None else answer_seconds)))

    def get(self, volume_id: str) -> Volume:
        return Volume.of(self._session.json(Request("GET", self._path(volume_id))))

    def change(self, volume_id: str, *, name: Optional[str] = None, size_mb: Optional[int] = None) -> Volume:
        """Changes the given fields, all of them or none. One that a sandbox has keeps its name."""
        fields = request_fields(locals())
        return Volume.of(self._session.json(Request("PATCH", self._path(volume_id), body=fields)))

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> VolumePage:
        """Returns one page, newest first."""
        return VolumePage.of(self._session.json(Request("GET", "/v1/volumes", request_fields(locals()))))

    def iterate(self) -> Iterator[Volume]:
        """Iterates over all pages."""
        page = self.list(limit=200)
        while True:
            for volume in page.volumes:
                yield volume
            if page.next_cursor is None:
                return
            page = self.list(limit=200, cursor=page.next_cursor)

    def delete(self, volume_id: str) -> None:
        """Removes a volume and all in it. One that a sandbox has raises Conflict."""
        self._session.done(Request("DELETE", self._path(volume_id)))

    @staticmethod
    def _path(volume_id: str) -> str:
        return f"/v1/volumes/{segment(volume_id)}"
