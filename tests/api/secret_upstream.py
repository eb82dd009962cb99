"""An HTTPS server on the host's loopback interface, with an authority of its own, that records the requests which it gets."""
import http.server
import json
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading

import time_scale

BIG = 3 << 20


class Authority:
    """A certificate authority that openssl makes, and a certificate of it for loopback names."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-authority."))
        # Started as root the server works as another user.
        self.directory.chmod(0o755)
        self.file = self.directory / "authority.pem"
        self.certificate, self.key = self.directory / "site.pem", self.directory / "site.key"
        names = self.directory / "names"
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="ascii")
        authority_key, request = self.directory / "authority.key", self.directory / "site.csr"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                      "-subj", "/CN=authority of a test", "-keyout", authority_key, "-out", self.file)
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                      "-keyout", self.key, "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", authority_key, "-CAcreateserial", "-days", "2",
                      "-extfile", names, "-out", self.certificate)
        self.file.chmod(0o644)

    @staticmethod
    def _openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def remove(self):
        shutil.rmtree(self.directory)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = time_scale.scaled(60)

    def log_message(self, *_):
        pass

    def answer_all(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.requests.append({"method": self.command, "path": self.path, "headers": list(self.headers.items()), "body": body})
        path = self.path.partition("?")[0]
        getattr(self, {"/stream": "stream", "/redirect": "redirect", "/cut": "cut", "/big": "big", "/silent": "silent"}.get(path, "told"))()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_TRACE = answer_all

    def told(self):
        # The answer leaves the header's value out, since the gateway does not hide what a host echoes.
        text = json.dumps({"method": self.command, "path": self.path, "names": sorted(name.lower() for name in self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Of-Host", "yes")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def stream(self):
        """Events, each of which comes once the test has asked for it, until the other side goes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(1000):
            text = f"data: {number}\n\n".encode()
            try:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.wfile.flush()
            except OSError:
                break
            if not self.server.next_event.acquire(timeout=time_scale.scaled(20)) or self.server.ends_stream.is_set():
                break
        else:
            return
        if self.server.ends_stream.is_set():
            self.wfile.write(b"0\r\n\r\n")
        self.server.streams_over.release()

    def silent(self):
        """Says nothing until the other side goes."""
        self.connection.settimeout(time_scale.scaled(30))
        try:
            self.server.gone.append(self.connection.recv(1) == b"")
        except OSError as error:
            self.server.gone.append(isinstance(error, (ConnectionError, ssl.SSLError)))
        self.close_connection = True

    def redirect(self):
        self.send_response(302)
        self.send_header("Location", f"https://127.0.0.1:{self.server.server_address[1]}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * 10)
        self.wfile.flush()
        self.close_connection = True

    def big(self):
        self.send_response(200)
        self.send_header("Content-Length", str(BIG))
        self.end_headers()
        self.wfile.write(bytes(range(256)) * (BIG // 256))


class Upstream(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, authority):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.requests, self.gone = [], []
        self.next_event, self.streams_over = threading.Semaphore(0), threading.Semaphore(0)
        self.ends_stream = threading.Event()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(authority.certificate, authority.key)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        # The handshake belongs to the thread of the connection.
        request.settimeout(time_scale.scaled(30))
        try:
            with self.context.wrap_socket(request, server_side=True) as encrypted:
                super().finish_request(encrypted, client_address)
        except OSError:
            pass

    def stop(self):
        self.shutdown()
        self.server_close()
