"""Egress by allow-list: what programs reach with curl, pip and urllib, what is refused, and how that is reported."""
import http.server
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest
import zipfile

import host_view
import live_server
import time_scale

HAS_PIP = os.path.isdir("/usr/lib/python3/dist-packages/pip")
HAS_CURL = os.access("/usr/bin/curl", os.X_OK)
PACKAGE = "tiny_package-1.0-py3-none-any.whl"
# The sites are on the host's loopback interface, for which programs use no proxy by default.
BY_PROXY = {"no_proxy": "", "NO_PROXY": ""}


def wheel():
    """The smallest package that pip takes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("tiny_package.py", "ANSWER = 42\n")
        archive.writestr("tiny_package-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n")
        archive.writestr("tiny_package-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny_package-1.0.dist-info/RECORD", "")
    return content.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Host")))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        pages = {"/simple/tiny-package/": f'<a href="/files/{PACKAGE}">{PACKAGE}</a>'.encode(), f"/files/{PACKAGE}": wheel()}
        self.answer(pages.get(self.path, b"hello"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(f"{len(body)} bytes".encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if body.startswith(b"<") else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Site:
    """A web site on the host."""

    def __init__(self, context=None):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.seen = self.seen = []
        self.port = self._server.server_port
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Sites(live_server.ServerTest):
    """A site that is allowed, the same by TLS, and one that is not."""

    @classmethod
    def setUpClass(cls):
        cls.site, cls.other = Site(), Site()
        cls.addClassCleanup(cls.site.stop)
        cls.addClassCleanup(cls.other.stop)
        folder = tempfile.mkdtemp(prefix="agent-sandbox-tls.")
        cls.addClassCleanup(shutil.rmtree, folder)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/certificate", f"{folder}/key")
        with open(f"{folder}/certificate", encoding="ascii") as file:
            cls.certificate = file.read()
        cls.secure = Site(context)
        cls.addClassCleanup(cls.secure.stop)
        ports = (cls.site.port, cls.secure.port)
        cls.rules = [f"{host}:{port}" for port in ports for host in ("localhost", "127.0.0.0/8")]
        cls.environment = {"SANDBOX_NETWORK_ENABLED": "true", "JOBS_PATH": ":memory:", "LOG_FORMAT": "json",
                           "SANDBOX_NETWORK_ALLOW": ",".join([*cls.rules, "*.example.org:443"])}
        super().setUpClass()

    def reach(self, code, allow=None, **fields):
        return self.execute(code, network={"allow": allow or self.rules}, env=BY_PROXY, timeout_seconds=30, **fields)

    def shell(self, script, **fields):
        return self.reach(script, language="bash", **fields)

    def logged(self, job, message):
        def found():
            return [entry for entry in map(as_json, self.server.log) if entry.get("job_id") == job and entry.get("message") == message]
        self.wait_for(found)
        return found()


def as_json(line):
    return json.loads(line) if line.startswith("{") else {}


def decisions(result):
    return [(told["destination"], told["decision"], told["connections"]) for told in result["network"]]


class Reached(Sites):
    def url(self, path="/"):
        return f"http://localhost:{self.site.port}{path}"

    def secure_url(self, path="/"):
        return f"https://localhost:{self.secure.port}{path}"

    def test_urllib(self):
        result = self.reach(f"import urllib.request\nprint(urllib.request.urlopen({self.url()!r}).read())")
        self.assertEqual("b'hello'\n", result["stdout"], result["stderr"])
        self.assertFalse(result["warm"])
        self.assertEqual([(f"localhost:{self.site.port}", "allowed", 1)], decisions(result))
        entry = self.logged(result["job_id"], "egress")[0]
        self.assertEqual(f"localhost:{self.site.port}", entry["destination"])
        self.assertIn("127.0.0.1", entry["address"])

    def test_urllib_over_tls(self):
        result = self.reach(f"import ssl, urllib.request\ncontext = ssl.create_default_context(cafile='certificate')\n"
                            f"print(urllib.request.urlopen({self.secure_url()!r}, context=context).read())",
                            files={"certificate": self.certificate})
        self.assertEqual("b'hello'\n", result["stdout"], result["stderr"])

    @unittest.skipUnless(HAS_CURL, "no /usr/bin/curl")
    def test_curl(self):
        for options in ("", f"--socks5-hostname 127.0.0.1:3128", "--proxytunnel", "--data-binary @/usr/bin/bash -H Expect:"):
            result = self.shell(f"curl -sS --fail {options} {self.url()}")
            expected = f"{os.path.getsize('/usr/bin/bash')} bytes" if "data" in options else "hello"
            self.assertEqual((expected, ""), (result["stdout"], result["stderr"]), options)
        result = self.shell(f"curl -sS --fail --cacert certificate {self.secure_url()}", files={"certificate": self.certificate})
        self.assertEqual("hello", result["stdout"], result["stderr"])

    @unittest.skipUnless(HAS_PIP, "no pip of the system's python3 (Debian: python3-pip)")
    def test_pip(self):
        for index, trusted in ((self.url("/simple/"), "--trusted-host localhost"), (self.secure_url("/simple/"), "--cert certificate")):
            result = self.shell(f"python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir {trusted} --index-url {index} "
                                "--target here tiny-package && PYTHONPATH=here python3 -c 'import tiny_package; print(tiny_package.ANSWER)'",
                                files={"certificate": self.certificate}, memory_limit_mb=512)
            self.assertEqual("42\n", result["stdout"], result["stderr"])

    def test_a_redirect_that_is_allowed_is_followed(self):
        result = self.reach(f"import urllib.request\nprint(urllib.request.urlopen({self.url('/to/' + self.url('/'))!r}).read())")
        self.assertEqual("b'hello'\n", result["stdout"], result["stderr"])

    @unittest.skipUnless(HAS_CURL, "no /usr/bin/curl")
    def test_a_narrower_request_is_held_to_itself(self):
        result = self.shell(f"curl -sS {self.url('/narrower')}", allow=["only.example.org:443"])
        self.assertIn(f"egress to localhost:{self.site.port} is not allowed", result["stdout"])
        self.assertNotIn("/narrower", [path for path, _ in self.site.seen])

    def test_loopback_of_the_host_where_the_operator_and_the_request_name_it(self):
        for host, allow in (("localhost", "localhost"), ("127.0.0.1", "127.0.0.1")):
            result = self.execute(f"import urllib.request\nprint(urllib.request.urlopen('http://{host}:{self.site.port}').read())",
                                  network={"allow": [f"{allow}:{self.site.port}"]})
            self.assertEqual("b'hello'\n", result["stdout"], result["stderr"])

    def test_variables_lead_to_the_proxy(self):
        result = self.reach("import os; print(os.environ['https_proxy'], os.environ['ALL_PROXY'])")
        self.assertEqual("http://127.0.0.1:3128 socks5h://127.0.0.1:3128\n", result["stdout"])


class Refused(Sites):
    def refused(self, url, **fields):
        """Returns the proxy's refusal, after checking that nothing came through."""
        before = len(self.site.seen) + len(self.other.seen)
        result = self.reach("import sys, urllib.request\ntry:\n    print(urllib.request.urlopen(sys.argv[1], timeout=20).read())\n"
                            "except OSError as error:\n    print(error, getattr(error, 'read', lambda: b'')().decode())\n",
                            args=[url], **fields)
        self.assertNotIn("hello", result["stdout"])
        self.assertEqual(before, len(self.site.seen) + len(self.other.seen))
        return result

    def test_other_destinations(self):
        port = self.site.port
        for url in (f"http://localhost:{self.other.port}/", f"http://127.0.0.1:{self.other.port}/", f"http://evil.test:{port}/",
                    "http://169.254.169.254/latest/meta-data/", f"http://[::1]:{self.other.port}/", f"http://[::ffff:127.0.0.1]:{self.other.port}/",
                    f"http://2130706433:{port}/", f"http://0x7f.1:{port}/", f"http://127.1:{port}/", f"http://example.org:{port}/",
                    f"http://secret-as-a-name.attacker.test:{port}/"):
            with self.subTest(url):
                result = self.refused(url)
                self.assertIn("403", result["stdout"])
                self.assertEqual(["refused"], [decision for _, decision, _ in decisions(result)])
                self.assertEqual(result["network"], self.client.send("GET", f"/jobs/{result['job_id']}").json["result"]["network"])
                self.assertTrue(self.logged(result["job_id"], "egress refused"))

    def test_connect_to_another_port(self):
        result = self.refused(f"https://localhost:{self.other.port}/")
        self.assertIn("403", result["stdout"])

    def test_a_redirect_to_another_port(self):
        result = self.reach("import sys, urllib.request\ntry:\n    print(urllib.request.urlopen(sys.argv[1]).read())\n"
                            "except OSError as error:\n    print(error)",
                            args=[f"http://localhost:{self.site.port}/to/http://127.0.0.1:{self.other.port}/private"])
        self.assertIn("403", result["stdout"])
        self.assertEqual([], self.other.seen)

    def test_a_flood_is_told_with_a_bound(self):
        result = self.reach("import urllib.request\nfor number in 100 * [0] + list(range(60)):\n    try:\n"
                            "        urllib.request.urlopen(f'http://n{number}.attacker.test/')\n    except OSError:\n        pass")
        told = decisions(result)
        self.assertEqual([(f"n{number}.attacker.test:80", "refused") for number in range(32)], [one[:2] for one in told], result["stderr"])
        self.assertEqual((101, 160), (told[0][2], result["network_total"]))

    def test_there_is_no_way_around_the_proxy(self):
        result = self.reach(f"""
import errno, socket
for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {self.site.port})), (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443)),
                              (socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53)), (socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 443))):
    with socket.socket(family, kind) as probe:
        probe.settimeout(10)
        print(errno.errorcode[probe.connect_ex(address)])
try:
    print(socket.getaddrinfo("localhost.example.org", 80))
except socket.gaierror:
    print("no names")
""")
        self.assertEqual("ECONNREFUSED\nENETUNREACH\nENETUNREACH\nENETUNREACH\nno names\n", result["stdout"], result["stderr"])

    def test_requests_beyond_the_ceiling(self):
        for allow, says in ((["evil.test:443"], r"network: allow\[0\]: evil.test:443 is beyond what the operator allows"), (["a.example.org:443", "a.example.org:80"], r"allow\[1\]"),
                            (["*.org:443"], "beyond"), (["0.0.0.0/0:443"], "beyond"), (["localhost"], r"allow\[0\]"), ([""], r"allow\[0\]"),
                            ([], "expected none or"), (["a.example.org:443"] * 65, "at most 64"), ([7], "expected none or")):
            with self.subTest(allow):
                answer = self.client.post({"code": "1", "network": {"allow": allow}})
                self.assertEqual(400, answer.status, answer)
                self.assertRegex(answer.json["detail"], says)
        for value in ("all", {"allow": ["a.example.org:443"], "deny": []}, {}, True):
            answer = self.client.post({"code": "1", "network": value})
            self.assertEqual(400, answer.status, answer)
            self.assertIn("network", answer.json["detail"])

    def test_without_the_field_there_is_no_network(self):
        result = self.execute("import os; print([name for name in os.environ if 'proxy' in name.lower()])")
        self.assertEqual("[]\n", result["stdout"])

    def part_of_egress(self, name):
        return next(pid for pid, line in self.server.processes().items() if name in line)

    def test_a_lost_proxy_is_replaced(self):
        for killed in ("jail-egress", "jail-lookup"):
            with self.subTest(killed):
                proxy = self.part_of_egress("jail-egress")
                os.kill(self.part_of_egress(killed), 9)
                self.assertTrue(host_view.wait_until(lambda: not host_view.alive(proxy), 10))
                result = self.reach(f"import urllib.request\nprint(urllib.request.urlopen('http://localhost:{self.site.port}/').read())")
                self.assertEqual("b'hello'\n", result["stdout"], result["stderr"])


class Off(live_server.ServerTest):
    def test_the_operator_has_to_allow_it(self):
        answer = self.client.post({"code": "1", "network": {"allow": ["pypi.org:443"]}})
        self.assertEqual(400, answer.status)
        self.assertIn("network: this server gives programs no network", answer.json["detail"])
        self.assertEqual("1\n", self.execute("print(1)", network="none")["stdout"])


class Exec(unittest.TestCase):
    def setUp(self):
        if reason := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces for this user: {reason}")
        self.site = Site()
        self.addCleanup(self.site.stop)

    def exec(self, *arguments):
        return subprocess.run([live_server.BINARY, "exec", "--timeout", f"{time_scale.timeout(30):g}", *arguments], capture_output=True, text=True, check=False, timeout=time_scale.scaled(120),
                              env={"PATH": os.environ["PATH"], "SANDBOX_ROOTFS": "host", "HOME": "/tmp"}, stdin=subprocess.DEVNULL, cwd=tempfile.gettempdir())

    def test_named_destinations_are_reached_and_others_told(self):
        code = "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).read())"
        variables = [part for name in BY_PROXY for part in ("--env", f"{name}=")]
        rules = [part for host in ("localhost", "127.0.0.0/8") for part in ("--allow", f"{host}:{self.site.port}")]
        done = self.exec("-c", code, *variables, *rules, "--", f"http://localhost:{self.site.port}/")
        self.assertEqual((0, "b'hello'\n"), (done.returncode, done.stdout), done.stderr)
        done = self.exec("-c", code, *variables, *rules, "--", "http://elsewhere.test/")
        self.assertEqual(1, done.returncode)
        self.assertIn("agent-sandbox: network: elsewhere.test:80: not allowed by --allow\n", done.stderr)
        done = self.exec("-c", code, *variables, "--allow", "nowhere.invalid:80", "--", "http://nowhere.invalid/")
        self.assertEqual(1, done.returncode)
        self.assertIn("agent-sandbox: network: nowhere.invalid:80: the name does not resolve: ", done.stderr)
        done = self.exec("--json", "-c", code, *variables, *rules, "--", "http://elsewhere.test/")
        self.assertEqual([{"destination": "elsewhere.test:80", "decision": "refused", "reason": "no rule names it", "connections": 1}],
                         json.loads(done.stdout)["network"])

    def test_loopback_of_the_host_is_reached_in_the_spelling_that_is_named(self):
        code = "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).read())"
        hosts = ("localhost", "127.0.0.1")
        for named in hosts:
            for asked in hosts:
                with self.subTest(f"{named} is named, {asked} is asked"):
                    done = self.exec("-c", code, "--allow", f"{named}:{self.site.port}", "--", f"http://{asked}:{self.site.port}/")
                    if named == asked:
                        self.assertEqual((0, "b'hello'\n"), (done.returncode, done.stdout), done.stderr)
                    else:
                        self.assertIn("Connection refused", done.stderr)

    def test_a_bad_rule_is_named(self):
        done = self.exec("-c", "1", "--allow", "pypi.org")
        self.assertEqual(2, done.returncode)
        self.assertIn("--allow pypi.org: ", done.stderr)

    def test_explain_shows_the_way_out(self):
        done = self.exec("-c", "1", "--explain", "--allow", "pypi.org:443")
        self.assertIn("hand it to the proxy", done.stdout)
