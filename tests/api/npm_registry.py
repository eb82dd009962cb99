"""A registry for npm with one package, on a port of the host's loopback interface."""
import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading

# npm uses no proxy for 127.0.0.1 and localhost (no_proxy), and these would be the sandbox's own.
ADDRESS = "127.0.0.2"
NAME, VERSION = "times-seven", "1.2.3"
FILES = {"package.json": json.dumps({"name": NAME, "version": VERSION, "main": "index.js"}), "index.js": "module.exports = n => n * 7\n"}


def package():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in FILES.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content.encode()))
    return out.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.path == f"/{NAME}-{VERSION}.tgz"
        body = self.server.package if found else b"{}"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/octet-stream" if found else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Registry(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__((ADDRESS, 0), Handler)
        self.package, self.asked = package(), []
        self.url, self.rule = f"http://{ADDRESS}:{self.server_port}", f"127.0.0.0/8:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()

    def project(self, **scripts):
        """Name to content of a project that needs the package."""
        itself = {"name": "project", "version": "1.0.0", "dependencies": {NAME: VERSION}}
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(self.package).digest()).decode()
        locked = {"version": VERSION, "resolved": f"{self.url}/{NAME}-{VERSION}.tgz", "integrity": integrity}
        lock = {"name": "project", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
                "packages": {"": itself, f"node_modules/{NAME}": locked}}
        return {"package.json": json.dumps({**itself, "scripts": scripts}), "package-lock.json": json.dumps(lock)}
