"""Prism (npm: @stoplight/prism-cli) between a client and a server: it checks every answer against the
description that this very server publishes."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import host_view
import live_server
import time_scale


class ValidatingProxy:
    def __init__(self, node_modules, server_port):
        self._held = host_view.held_port()
        self.server_port, self.port = server_port, self._held.getsockname()[1]
        self._directory = tempfile.mkdtemp(prefix="agent-sandbox-prism.")
        document = os.path.join(self._directory, "openapi.json")
        with live_server.Client(server_port) as client, open(document, "wb") as file:
            file.write(client.send("GET", "/openapi.json").body)
        self._log = open(os.path.join(self._directory, "log"), "w+", encoding="utf-8")
        # Bad requests must reach the server, since its refusals are tested.
        self._process = subprocess.Popen(
            [shutil.which("node"), node_modules / "@stoplight" / "prism-cli" / "dist" / "index.js", "proxy", document,
             f"http://127.0.0.1:{server_port}", "--port", str(self.port), "--validate-request=false", "--cors=false"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + time_scale.scaled(60)
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._log.seek(0)
                raise AssertionError(f"prism does not answer: {self._log.read()}")
            time.sleep(0.1)

    def _answers(self):
        try:
            with live_server.Client(self.port) as client:
                return client.send("GET", "/health").status > 0
        except (OSError, http.client.HTTPException):
            return False

    def client(self, headers):
        return ValidatedClient(self, headers)

    def stop(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._held.close()
        self._log.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def not_json(word):
    raise ValueError(word)


def without_duplicates(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def is_plain(method, path, body, headers):
    """Prism stumbles over answers without a body (HEAD), methods of nobody, and bodies that are not what their type
    says; it reads numbers and objects as JavaScript does, tidies paths, and takes none of several parts for one parameter."""
    if method not in ("GET", "POST", "DELETE", "PUT", "PATCH") or re.search(r"\.\.|%|/files/[^?]*/", path):
        return False
    if not body:
        return method != "POST"
    if not re.match("application/json", headers.get("Content-Type", "")) or len(body) > 1 << 20:
        return False
    try:
        text = body.decode()
        json.loads(text, parse_constant=not_json, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError):
        return False
    return "1e400" not in text and not text.startswith("\ufeff")


class ValidatedClient(live_server.Client):
    """Fails on an answer that the description does not allow."""

    validated = 0

    def __init__(self, proxy, headers):
        super().__init__(proxy.port, headers)
        self._asked_at = time.monotonic()
        self._direct = live_server.Client(proxy.server_port, headers)

    def close(self):
        self._direct.close()
        super().close()

    def send(self, method, path, body=None, **headers):
        if not is_plain(method, path, body, headers):
            return self._direct.send(method, path, body, **headers)
        # Node hangs up on connections that have been idle for five seconds.
        if time.monotonic() - self._asked_at > 2:
            super().close()
        answer = super().send(method, path, body, **headers)
        self._asked_at = time.monotonic()
        wrong = [violation for violation in json.loads(answer.headers.get("sl-violations", "[]"))
                 if violation["location"][:1] == ["response"]]
        if wrong:
            raise AssertionError(f"{method} {path}: {answer} is not as described: {wrong}")
        ValidatedClient.validated += 1
        return answer
