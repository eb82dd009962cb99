"""Watches the files of a sandbox."""
import urllib.parse

import event_stream
import living_sandbox


class WatchTest(living_sandbox.SandboxTest):
    def watch(self, sandbox, accept=event_stream.SSE, key=None, **query):
        """Returns a stream that has reported that it watches."""
        headers = {"X-API-Key": key} if key else {}
        stream = self.stream("GET", f"{sandbox.path}/watch?{urllib.parse.urlencode(query)}", accept=accept, **headers)
        self.assertEqual((200, accept), (stream.status, stream.headers["Content-Type"]))
        first = next(iter(stream))
        self.assertEqual("watching", first["type"])
        self.assertEqual(query.get("path", "/workspace"), first["data"]["path"])
        return stream

    @staticmethod
    def until(stream, path, kinds=("created",)):
        """Returns the path and type of each event up to the first one with this path and one of these types."""
        seen = []
        for event in stream:
            seen.append((event["type"], event["data"].get("path")))
            if event["type"] in kinds and event["data"].get("path") == path:
                return seen
        raise AssertionError(f"no {kinds} of {path}: {seen}")

    @staticmethod
    def until_quiet(sandbox, stream):
        """Waits until a new file is reported; lost events must be reported as lost. Returns the types of all events
        before."""
        kinds = set()
        for number in range(1000):
            path = f"/workspace/last-{number}"
            sandbox.run(f"touch {path}")
            for event in stream:
                kinds.add(event["type"])
                if event["data"].get("path") == path:
                    return kinds
                if event["type"] == "overflow":
                    break
        raise AssertionError(kinds)

    def problem(self, sandbox, **query):
        return self.client.send("GET", f"{sandbox.path}/watch?{urllib.parse.urlencode(query)}")
