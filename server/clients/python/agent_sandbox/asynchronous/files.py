"""Files of a sandbox, by absolute paths."""
from __future__ import annotations

from typing import AsyncIterable, BinaryIO, Dict, Optional, Union

from ..address import file_segment
from ..errors import NotFound
from ..events import WATCHED
from ..fields import request_fields
from ..sandbox_answers import FileEntry, FileList, SearchResult, SignedUrl
from .byte_stream import write_file
from .session import AsyncByteReader, AsyncEventStream, AsyncSession, Request

# Bytes and texts are sent unchanged, a file in pieces; or pieces.
Content = Union[str, bytes, BinaryIO, AsyncIterable[bytes]]
_TAR = "application/x-tar"


class AsyncFiles:
    def __init__(self, session: AsyncSession, sandbox_path: str) -> None:
        self._session, self._sandbox_path = session, sandbox_path

    async def read(self, path: str) -> bytes:
        return await self.read_stream(path).read()

    async def read_text(self, path: str) -> str:
        return (await self.read(path)).decode()

    def read_stream(self, path: str, *, start: Optional[int] = None, end: Optional[int] = None) -> AsyncByteReader:
        """Reads in pieces as they come, without holding the file: all of it, or the bytes from `start` up to, not
        including, `end`."""
        headers: Dict[str, str] = {}
        if start is not None or end is not None:
            headers["Range"] = f"bytes={start or 0}-" + ("" if end is None else str(end - 1))
        return AsyncByteReader(self._session, Request("GET", self._path(path), headers=headers, accept="*/*"))

    async def read_to(self, path: str, file: BinaryIO) -> int:
        """Reads into a local file. Returns how many bytes there were."""
        return await self._copy(self.read_stream(path), file)

    async def write(self, path: str, content: Content, *, mode: Optional[str] = None) -> FileEntry:
        """Replaces an older file at once, when the new one is complete. Makes missing directories. `mode` is octal,
        such as "0755"."""
        request = Request("PUT", self._path(path), {"mode": mode}, content=content.encode() if isinstance(content, str) else content,
                          headers={"Content-Type": "application/octet-stream"})
        return FileEntry.of(await self._session.json(request))

    def read_tree(self, path: str) -> AsyncByteReader:
        """Reads a directory with everything below it, as a tar archive in pieces."""
        return AsyncByteReader(self._session, Request("GET", self._path(path), {"tar": True}, accept=_TAR))

    async def read_tree_to(self, path: str, file: BinaryIO) -> int:
        return await self._copy(self.read_tree(path), file)

    async def write_tree(self, path: str, archive: Union[bytes, BinaryIO, AsyncIterable[bytes]]) -> FileEntry:
        """Unpacks a plain tar archive in a directory, which is made where it does not exist."""
        request = Request("PUT", self._path(path), content=archive, headers={"Content-Type": _TAR})
        return FileEntry.of(await self._session.json(request))

    async def stat(self, path: str) -> FileEntry:
        """Describes a file; a link is described itself, not its target."""
        return FileEntry.of(await self._session.json(Request("GET", self._path(path), {"stat": True})))

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except NotFound as error:
            if error.code != "no_such_file":
                raise
            return False
        return True

    async def list(self, path: str, *, depth: Optional[int] = None) -> FileList:
        """Returns at most 10000 entries, sorted by path."""
        return FileList.of(await self._session.json(Request("GET", self._path(path), {"list": True, "depth": depth})))

    async def move(self, path: str, move_to: str) -> FileEntry:
        """Moves a file. It replaces an existing file, but not a directory."""
        return FileEntry.of(await self._session.json(Request("POST", self._path(path), body={"move_to": move_to})))

    async def make_directory(self, path: str) -> FileEntry:
        """Makes a directory and those above it."""
        return FileEntry.of(await self._session.json(Request("POST", self._path(path), body={"make_directory": True})))

    async def remove(self, path: str, *, recursive: Optional[bool] = None) -> None:
        await self._session.done(Request("DELETE", self._path(path), {"recursive": recursive}))

    async def search(self, query: str, *, path: Optional[str] = None, limit: Optional[int] = None) -> SearchResult:
        """Returns the lines of text files that contain `query` literally."""
        return SearchResult.of(await self._session.json(Request("GET", f"{self._sandbox_path}/search", request_fields(locals()))))

    async def sign(self, path: str, *, operation: Optional[str] = None, expires_in_seconds: Optional[int] = None) -> SignedUrl:
        """Returns a URL that opens one file without a key: to `read`, or to `write` by PUT."""
        return SignedUrl.of(await self._session.json(Request("POST", f"{self._sandbox_path}/sign", body=request_fields(locals()))))

    def watch(self, path: Optional[str] = None, *, recursive: Optional[bool] = None) -> AsyncEventStream:
        """Changes to files as events: watching first, then created, written, attributes, moved, removed, overflow,
        end."""
        return AsyncEventStream(self._session, Request("GET", f"{self._sandbox_path}/watch", request_fields(locals())), WATCHED)

    def _path(self, path: str) -> str:
        return f"{self._sandbox_path}/files/{file_segment(path)}"

    @staticmethod
    async def _copy(reader: AsyncByteReader, file: BinaryIO) -> int:
        size = 0
        async with reader:
            async for piece in reader:
                await write_file(file, piece)
                size += len(piece)
        return size
