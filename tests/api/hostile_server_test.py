"""The command line against a server that is somebody else's: what it says moves no cursor, holds nobody and is no JSON unless it is."""
import base64
import hashlib
import http.server
import json
import re
import socket
import subprocess
import threading
import uuid

import host_view
import live_server
import time_scale
from exec_command import ExecTest

ESCAPE = "\x1b]0;owned\x07"


class Hostile(ExecTest):
    def setUp(self):
        super().setUp()
        self.answers, self.asked = {}, []
        self.is_flooded, self.is_looked_at = threading.Event(), threading.Event()
        self.addCleanup(self.is_looked_at.set)
        self.missing = 0  # bytes of each answer that do not come
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                test.asked.append(self.path)
                if "/tunnel" in self.path:
                    test.flood_with_pings(self)
                    return
                if "/events" in self.path:
                    test.say_nothing(self)
                    return
                body = test.answers[self.path.split("?", maxsplit=1)[0]].encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body) + test.missing))
                self.close_connection = test.missing > 0
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"

    def say_nothing(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.end_headers()
        self.is_looked_at.wait()
        handler.close_connection = True

    def flood_with_pings(self, handler):
        key = handler.headers["Sec-WebSocket-Key"].encode()
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        connection = handler.connection
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        for _ in range(200):
            connection.sendall((b"\x89\x7d" + b"p" * 125) * 8000)
        self.is_flooded.set()
        self.is_looked_at.wait()
        handler.close_connection = True

    def run_it(self, *arguments):
        done = subprocess.run([live_server.BINARY, *arguments], cwd=self.directory, capture_output=True, stdin=subprocess.DEVNULL, check=False,
                              timeout=time_scale.scaled(30), env={"HOME": str(self.directory), "AGENT_SANDBOX_URL": self.url})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_what_is_no_json_is_not_printed_as_json(self):
        job = str(uuid.uuid4())
        self.answers = dict.fromkeys((f"/jobs/{job}", "/v1/sandboxes/x", "/v1/sandboxes/x/metrics", "/v1/sandboxes/x/files/workspace"),
                                     '{"x": 1} ' + ESCAPE)
        for words in (("jobs", "show", job), ("sandbox", "get", "x"), ("sandbox", "metrics", "x"), ("sandbox", "ls", "x", "/workspace")):
            with self.subTest(words):
                status, out, error = self.run_it(*words, "--json")
                self.assertEqual((125, ""), (status, out), error)
                self.assertIn("is not what was asked for", error)

    def test_the_output_of_a_task_moves_no_cursor(self):
        job = str(uuid.uuid4())
        result = {"status": "completed", "output": f"good\n{ESCAPE}\u009b31m", "error": f"bad {ESCAPE}"}
        self.answers = {f"/jobs/{job}": json.dumps({"job_id": job, "kind": "task", "status": "completed", "result": result})}
        status, out, error = self.run_it("logs", job)
        self.assertEqual((0, "good\n\ufffd]0;owned\ufffd\ufffd31m"), (status, out))
        self.assertNotIn("\x1b", error)

    def test_an_answer_that_breaks_off(self):
        self.answers, self.missing = {"/jobs": "{"}, 9
        self.assertEqual((125, "", f"agent-sandbox: the server at {self.url} ended, or the connection broke, before all of its answer came\n"),
                         self.run_it("jobs"))

    def test_a_server_without_tls(self):
        self.url = self.url.replace("http:", "https:")
        status, _, error = self.run_it("jobs")
        self.assertEqual(125, status, error)
        self.assertIn("Hint: a server that has no TLS is at http://", error)

    def test_a_tunnel_whose_server_sends_pings_and_takes_nothing(self):
        self.answers = {"/v1/sandboxes/x": json.dumps({"id": "x", "state": "running"})}
        process = subprocess.Popen([live_server.BINARY, "sandbox", "port", "x", "80", "--listen", "0"], cwd=self.directory, stdout=subprocess.PIPE,
                                   env={"HOME": str(self.directory), "AGENT_SANDBOX_URL": self.url})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        port = int(process.stdout.readline().rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port)):
            self.assertTrue(self.is_flooded.wait(time_scale.scaled(60)))
            self.assertLess(host_view.resident_bytes(process.pid), (240 if host_view.has_sanitizer(process.pid) else 60) << 20)

    def test_empty_pages_end(self):
        self.answers = {"/jobs": '{"jobs": [], "next_cursor": "x"}', "/v1/sandboxes": '{"sandboxes": [], "next_cursor": "x"}'}
        for words in (("jobs",), ("sandbox", "list")):
            self.assertEqual(0, self.run_it(*words)[0])
        self.assertEqual(2, len(self.asked), self.asked)
