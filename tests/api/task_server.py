"""Servers that solve tasks: with a cassette made on the spot, or with a slow model."""
import contextlib
import http.server
import json
import os
import select
import socket
import tempfile
import threading
import time

import live_server


def answer(code, reasoning="because"):
    """Returns the answer of a model that wrote `code`."""
    return {"code": code, "reasoning": reasoning, "dependencies": []}


def verdict(diagnosis="it is wrong", should_retry=True):
    return {"diagnosis": diagnosis, "fix": "make it right", "should_retry": should_retry, "confidence": 0.8}


class Cassette:
    """A file that the server's user can read, too."""

    def __init__(self, *records):
        self._directory = tempfile.mkdtemp(prefix="agent-sandbox-cassette.")
        os.chmod(self._directory, 0o755)
        self.path = os.path.join(self._directory, "cassette.jsonl")
        with open(self.path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        os.chmod(self.path, 0o644)

    @property
    def environment(self):
        return {"LLM_PROVIDER": "replay", "REPLAY_CASSETTE": self.path}

    def remove(self):
        os.unlink(self.path)
        os.rmdir(self._directory)


def record(task, *codes, critic=None, **roles):
    """`codes` has the program of each attempt."""
    roles["critic"] = critic or [verdict() for _ in codes]
    return {"task": task, "answers": [answer(code) if isinstance(code, str) else code for code in codes],
            "roles": roles}


class SlowModel:
    """A plain server that speaks OpenAI's protocol. `reply(request)` returns the seconds to wait, and the answer."""

    def __init__(self, reply):
        self.calls, self.left, self.waiting = 0, 0, 0
        self._lock = threading.Lock()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                delay, text = reply(body)
                owner._count(calls=1, waiting=1)
                stays = self._wait(delay)
                owner._count(waiting=-1, left=0 if stays else 1)
                if stays:
                    with contextlib.suppress(OSError):
                        self._say(text, body.get("stream"))
                else:
                    self.close_connection = True

            def _wait(self, delay):
                """Returns False where the client left meanwhile."""
                until = time.monotonic() + delay
                while (rest := until - time.monotonic()) > 0:
                    ready, _, _ = select.select([self.connection], [], [], min(rest, 0.1))
                    if ready and not self.connection.recv(1, socket.MSG_PEEK):
                        return False
                return True

            def _say(self, text, stream):
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                choice = {"index": 0, "finish_reason": "stop"}
                if not stream:
                    message = {"message": {"role": "assistant", "content": text}}
                    data = json.dumps({"model": "m", "choices": [choice | message], "usage": usage}).encode()
                    kind = "application/json"
                else:
                    pieces = [{"choices": [{"index": 0, "delta": {"content": text[at:at + 40]}}]}
                              for at in range(0, len(text), 40)]
                    pieces += [{"choices": [choice | {"delta": {}}]}, {"choices": [], "usage": usage}]
                    data = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces).encode() + b"data: [DONE]\n\n"
                    kind = "text/event-stream"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _count(self, **changes):
        with self._lock:
            for name, change in changes.items():
                setattr(self, name, getattr(self, name) + change)

    @property
    def environment(self):
        return {"LLM_PROVIDER": "openai", "OPENAI_API_KEY": "none-that-is-real",
                "OPENAI_BASE_URL": f"http://127.0.0.1:{self._server.server_address[1]}/v1"}

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class TaskTest(live_server.ServerTest):
    """One server with one cassette for all methods of a class."""

    records, cassette = (), None

    @classmethod
    def setUpClass(cls):
        cls.cassette = Cassette(*cls.records)
        cls.environment = {"JOBS_PATH": ":memory:", **cls.cassette.environment, **cls.environment}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.cassette.remove()

    def solve(self, task, client=None, **fields):
        answered = (client or self.client).post({"task": task, **fields})
        self.assertEqual(200, answered.status, answered)
        return answered.json
