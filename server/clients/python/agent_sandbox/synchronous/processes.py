# Written by write_synchronous.py from asynchronous/processes.py.
"""Processes of a sandbox."""
from __future__ import annotations

import base64
from typing import Any, Callable, List, Mapping, Optional, Union

from ..events import PROCESS
from ..fields import request_fields
from ..sandbox_answers import ProcessDetails, ProcessList, ProcessOutput, ProcessResult
from .session import EventStream, Session, Request
from .terminal import Terminal

Command = Union[str, List[str]]

# A sandbox does not live longer, and so neither does a command in it.
_LONGEST_COMMAND_SECONDS = 86400.0


class Processes:
    """A command is a list of words, or a text for bash -c. In its place stands `code` in a language (that of the
    sandbox's template), with `args`."""

    def __init__(self, session: Session, sandbox_path: str) -> None:
        self._session, self._sandbox_path = session, sandbox_path
        self._path = f"{sandbox_path}/processes"

    def run(self, command: Optional[Command] = None, *, code: Optional[str] = None, language: Optional[str] = None, args: Optional[List[str]] = None,
                  env: Optional[Mapping[str, str]] = None, working_directory: Optional[str] = None,
                  stdin: Optional[str] = None, pty: Optional[Mapping[str, int]] = None, timeout_seconds: Optional[float] = None,
                  output_encoding: Optional[str] = None, answer_seconds: Optional[float] = None) -> ProcessResult:
        """Runs a command to its end. One that failed is a result too: see its `exit_code` and `outcome`."""
        fields = request_fields(locals())
        longest = self._session.answer_seconds + (timeout_seconds or _LONGEST_COMMAND_SECONDS) if answer_seconds is None else answer_seconds
        return ProcessResult.of(self._session.json(Request("POST", self._path, body=fields, answer_seconds=longest)))

    def run_stream(self, command: Optional[Command] = None, *, code: Optional[str] = None, language: Optional[str] = None, args: Optional[List[str]] = None,
                   env: Optional[Mapping[str, str]] = None, working_directory: Optional[str] = None,
                   stdin: Optional[str] = None, keep_stdin_open: Optional[bool] = None, pty: Optional[Mapping[str, int]] = None,
                   timeout_seconds: Optional[float] = None, output_encoding: Optional[str] = None) -> EventStream:
        """The same as events while it runs: started, stdout, stderr, exit. Closing the stream ends the process."""
        return EventStream(self._session, Request("POST", self._path, body=request_fields(locals())), PROCESS)

    def start(self, command: Optional[Command] = None, *, code: Optional[str] = None, language: Optional[str] = None, args: Optional[List[str]] = None,
                    env: Optional[Mapping[str, str]] = None, working_directory: Optional[str] = None,
                    stdin: Optional[str] = None, keep_stdin_open: Optional[bool] = None, pty: Optional[Mapping[str, int]] = None,
                    timeout_seconds: Optional[float] = None) -> Process:
        """Starts a command in the background, where it goes on by itself."""
        fields = {**request_fields(locals()), "background": True}
        return self._process(self._session.json(Request("POST", self._path, body=fields)))

    def list(self) -> List[ProcessDetails]:
        """Returns the running processes, and the last 32 that ended."""
        return ProcessList.of(self._session.json(Request("GET", self._path))).processes

    def get(self, pid: int) -> Process:
        return self._process(self._session.json(Request("GET", f"{self._path}/{int(pid)}")))

    def terminal(self, *, columns: Optional[int] = None, rows: Optional[int] = None, command: Optional[str] = None,
                 pid: Optional[int] = None) -> Terminal:
        """Opens a login shell, a command, or a process that has a terminal, over a WebSocket. Closing it hangs up."""
        return Terminal(self._session, f"{self._sandbox_path}/terminal", request_fields(locals()))

    def _process(self, details: Any) -> Process:
        return Process(self._session, self._path, ProcessDetails.of(details))


class Process:
    """One process. `details` is its state when it was last asked for; `refresh()` asks again."""

    def __init__(self, session: Session, processes_path: str, details: ProcessDetails) -> None:
        self._session, self.details = session, details
        self.path = f"{processes_path}/{details.pid}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.pid} {self.details.state}>"

    @property
    def pid(self) -> int:
        return self.details.pid

    def refresh(self) -> ProcessDetails:
        self.details = ProcessDetails.of(self._session.json(Request("GET", self.path)))
        return self.details

    def wait(self, *, on_output: Optional[Callable[[str, str], object]] = None) -> ProcessDetails:
        """Waits until it has ended. `on_output` is called with stdout or stderr and the output, from the beginning
        of what is kept."""
        for event in self.output_stream():
            if event.type in ("stdout", "stderr") and on_output:
                on_output(event.type, event.data)
            elif event.type == "exit":
                self.details = event.data
        return self.details

    def output(self, *, start: Optional[int] = None, encoding: Optional[str] = None) -> ProcessOutput:
        """Returns its output from the byte `start` on; the latest 256 KiB are kept."""
        return ProcessOutput.of(self._session.json(Request("GET", f"{self.path}/output", request_fields(locals()))))

    def output_stream(self, *, start: Optional[int] = None, encoding: Optional[str] = None) -> EventStream:
        """The same, and then new output: stdout, stderr, lost, exit. Closing the stream does not end the process."""
        return EventStream(self._session, Request("GET", f"{self.path}/output", request_fields(locals())), PROCESS)

    def write(self, data: Union[str, bytes], *, close: Optional[bool] = None) -> None:
        """Writes to its input; returns when the process has taken it. With `close` no more follows."""
        fields = request_fields(locals())
        if isinstance(data, bytes):
            fields.update(data=base64.b64encode(data).decode(), encoding="base64")
        self._session.done(Request("POST", f"{self.path}/stdin", body=fields))

    def close_input(self) -> None:
        self.write("", close=True)

    def signal(self, signal: Union[str, int], *, group: Optional[bool] = None) -> None:
        """Sends SIGTERM, or 15; with `group` to its process group."""
        self._session.done(Request("POST", f"{self.path}/signal", body=request_fields(locals())))

    def resize(self, columns: int, rows: int) -> None:
        """Resizes its terminal."""
        self._session.done(Request("POST", f"{self.path}/resize", body=request_fields(locals())))

    def delete(self) -> None:
        """Kills it and its process group, or forgets one that has ended."""
        self._session.done(Request("DELETE", self.path))
