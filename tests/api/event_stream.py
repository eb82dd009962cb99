"""An answer in events over plain HTTP, as server-sent events or as lines of JSON."""
import http.client
import json
import time

import time_scale

SSE, NDJSON = "text/event-stream", "application/x-ndjson"


class Stream:
    """Uses `connection`, or one of its own."""

    def __init__(self, port, method, path, body=None, accept=SSE, connection=None, **headers):
        self.connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=time_scale.scaled(60))
        if body is not None:
            body, headers = json.dumps(body), {"Content-Type": "application/json", **headers}
        self.connection.request(method, path, body, {"Accept": accept, **headers})
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        self.accept, self.ids = accept, []

    def close(self):
        self.connection.close()

    def leave(self):
        """Closes the connection although more events would come."""
        self.response.close()
        self.close()

    def __iter__(self):
        while line := self.response.readline():
            if self.accept == NDJSON:
                yield json.loads(line) | {"came": time.monotonic()}
            elif line.startswith(b"data: "):
                yield json.loads(line[6:]) | {"came": time.monotonic()}
            elif line.startswith(b"id: "):
                self.ids.append(line[4:].decode().strip())
            elif line != b"\n" and not line.startswith(b":"):
                raise AssertionError(f"no line of a stream of events: {line!r}")
