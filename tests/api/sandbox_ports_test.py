"""Servers that run in a sandbox, asked from outside: by path, by host name, and over WebSocket."""
import base64
import http.client
import json
import math
import os
import socket
import time

import host_view
import live_server
import time_scale
from living_sandbox import Sandbox
from sandbox_port import DOMAIN, PORT, PortTest, lines_of


class Requests(PortTest):
    def test_the_server_inside_gets_what_was_asked(self):
        told = self.echo("/echo/a%2Fb/../c;d?x=1&y=%20&x=2")
        self.assertEqual("GET /echo/a%2Fb/../c;d?x=1&y=%20&x=2 HTTP/1.1", told["request"])
        self.assertEqual([f"localhost:{PORT}"], lines_of(told, "Host"))
        self.assertEqual(["close"], lines_of(told, "Connection"))
        self.assertEqual("none", told["framing"])

    def test_methods(self):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            with self.subTest(method):
                told = self.echo(method=method, body=b"x" if method != "GET" else None)
                self.assertEqual(f"{method} /echo HTTP/1.1", told["request"])
        self.assertEqual(405, self.ask(method="PROPFIND").status)

    def test_a_head_has_no_body(self):
        head = self.raw("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", method="HEAD")
        self.assertEqual((200, "7", b""), (head.status, head.headers["Content-Length"], head.body))
        self.assertEqual(200, self.ask().status)

    def test_bodies_of_any_type_go_in(self):
        told = self.echo(method="POST", body=b"a=b\0\xff", **{"Content-Type": "application/x-www-form-urlencoded",
                                                            "Content-Encoding": "br"})
        self.assertEqual(("a=b\0\xff", "length"), (told["body"], told["framing"]))
        self.assertEqual(["application/x-www-form-urlencoded"], lines_of(told, "Content-Type"))

    def test_a_body_in_chunks_goes_in_in_chunks(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=time_scale.scaled(30))
        self.addCleanup(connection.close)
        connection.request("POST", self.path(), iter([b"one ", b"two ", b"x" * 100_000]), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
        told = json.load(connection.getresponse())
        self.assertEqual(("one two " + "x" * 100_000, "chunked"), (told["body"], told["framing"]))

    def test_a_large_body_goes_in_and_is_not_held(self):
        size = 128 << 20  # more than a body that is read as a whole
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=time_scale.scaled(60))
        self.addCleanup(connection.close)
        connection.request("POST", self.path("/swallow"), (b"x" * (1 << 20) for _ in range(size >> 20)),
                           headers={"Content-Length": str(size)})
        self.assertEqual(str(size).encode(), connection.getresponse().read())
        self.assert_little_memory()

    def test_headers_of_the_connection_stay_out(self):
        told = self.echo(**{"Connection": "X-Hop, keep-alive", "X-Hop": "1", "Keep-Alive": "timeout=5", "TE": "trailers",
                            "Proxy-Authorization": "Basic x", "Upgrade": "h2c", "Expect": "100-continue", "X-Kept": "2"})
        for name in ("X-Hop", "Keep-Alive", "TE", "Proxy-Authorization", "Upgrade", "Expect"):
            self.assertEqual([], lines_of(told, name), name)
        self.assertEqual(["2"], lines_of(told, "X-Kept"))

    def test_what_a_client_claims_about_itself_stays_out(self):
        told = self.echo(**{"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https",
                            "X-Forwarded-Evil": "1", "Forwarded": "for=6.6.6.6", "X-Real-IP": "6.6.6.6"})
        self.assertEqual((["127.0.0.1"], ["http"], [], [], []), tuple(
            lines_of(told, name) for name in ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Evil", "Forwarded",
                                              "X-Real-IP")))
        self.assertEqual([f"127.0.0.1:{self.server.port}"], lines_of(told, "X-Forwarded-Host"))
        self.assertEqual([f"{self.sandbox.path}/ports/{PORT}"], lines_of(told, "X-Forwarded-Prefix"))

    def test_no_cookie_of_our_origin_goes_in(self):
        told = self.echo(Cookie="session=of-another-page")
        self.assertEqual([], lines_of(told, "Cookie"))

    def test_a_path_without_a_slash_is_completed(self):
        answer = self.ask("?a=b")
        self.assertEqual((308, self.path("/?a=b")), (answer.status, answer.headers["Location"]))
        self.assertEqual("GET / HTTP/1.1", self.echo("/")["request"])

    def test_ports_that_are_none(self):
        for port in ("0", "65536", "99999999999999999999", "-1", "08000", "x", "80 ", "8000%00"):
            with self.subTest(port):
                self.assertIn(self.client.send("GET", self.path(port=port).replace(" ", "%20")).status, (400, 404))

    def test_where_nobody_listens(self):
        self.assert_problem(502, "port_closed", self.client.send("GET", self.path(port=8001)), "8001", "nobody listens")

    def test_only_ipv6(self):
        sandbox = self.with_server(address="::1")
        self.assertEqual(200, self.client.send("GET", self.path(sandbox=sandbox)).status)

    def test_a_name_of_a_sandbox_will_do(self):
        sandbox = self.with_server(name="web")
        self.assertEqual(200, self.client.send("GET", f"/v1/sandboxes/web/ports/{PORT}/echo").status)
        self.assertEqual(200, self.client.send("GET", "/echo", Host=f"{PORT}-web.{DOMAIN}").status)
        self.assertTrue(sandbox.id)

    def test_another_sandbox_has_ports_of_its_own(self):
        other = self.make()
        self.assertEqual(502, self.client.send("GET", self.path(sandbox=other)).status)

    def test_servers_of_the_host_are_out_of_reach(self):
        with socket.create_server(("127.0.0.1", 0)) as host:
            answer = self.client.send("GET", self.path(port=host.getsockname()[1]))
            self.assert_problem(502, "port_closed", answer)
        self.assert_problem(502, "port_closed", self.client.send("GET", self.path(port=self.server.port)))

    def test_no_port_of_the_host_is_opened(self):
        def listening():
            names = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
            rows = [line.split() for name in names if os.path.exists(name) for line in open(name).readlines()[1:]]
            return sorted(row[1] for row in rows if row[3] == "0A")

        before = listening()
        sandbox = self.with_server()
        self.assertEqual(200, self.client.send("GET", self.path(sandbox=sandbox)).status)
        self.assertEqual([port for port in listening() if port.endswith(f":{PORT:04X}")],
                         [port for port in before if port.endswith(f":{PORT:04X}")])

    def test_when_the_sandbox_has_ended(self):
        self.sandbox.delete()
        self.assert_problem(409, "sandbox_ended", self.ask())
        self.sandbox.delete()
        self.assertEqual(404, self.ask().status)


class Answers(PortTest):
    def test_status_headers_and_body_come_out(self):
        answer = self.raw("HTTP/1.1 418 Whatever\r\nX-Own: 1\r\nContent-Type: text/plain\r\nDate: then\r\nServer: own\r\n"
                          "Content-Length: 3\r\n\r\nabc")
        self.assertEqual((418, b"abc", ["1"], ["then"], ["own"], ["text/plain"]), (
            answer.status, answer.body, *(answer.headers.get_all(name) for name in ("X-Own", "Date", "Server",
                                                                                  "Content-Type"))))

    def test_without_a_length_the_end_is_the_end(self):
        self.assertEqual(b"to the end", self.raw("HTTP/1.0 200 OK\r\n\r\nto the end").body)

    def test_statuses_without_a_body(self):
        for status in (204, 304):
            with self.subTest(status):
                answer = self.raw(f"HTTP/1.1 {status} X\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n")
                self.assertEqual((status, b"", '"a"'), (answer.status, answer.body, answer.headers["ETag"]))
                self.assertEqual(200, self.ask().status)

    def test_interim_answers_are_passed_over(self):
        interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        answer = self.raw(interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.assertEqual((200, b"ok", None), (answer.status, answer.body, answer.headers["Link"]))
        self.assert_problem(502, "port_bad_answer", self.raw("HTTP/1.1 100 Continue\r\n\r\n" * 40))

    def test_pieces_come_as_they_are_written(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=time_scale.scaled(30))
        self.addCleanup(connection.close)
        connection.request("GET", self.path("/stream"))
        response = connection.getresponse()
        self.assertEqual(b"first\n", response.readline())
        self.assertEqual(200, self.ask("/go").status)
        self.assertEqual(b"second\n", response.read())

    def test_an_answer_before_the_body_has_come(self):
        request = f"POST {self.path('/early')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx"
        self.assertIn("enough", self.talk(request))

    def test_what_is_no_answer(self):
        ok = "HTTP/1.1 200 OK\r\n"
        for sent in ("", "nonsense\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 20 X\r\n\r\n",
                     "HTTP/2.0 200 OK\r\n\r\n", ok, ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
                     ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     ok + "Transfer-Encoding: gzip\r\n\r\nx", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                     ok + "Content-Length: -1\r\n\r\n", ok + "Content-Length: 99999999999999999999\r\n\r\n",
                     ok + "no colon\r\n\r\n", ok + "X: a\0b\r\n\r\n", ok + "X y: 1\r\n\r\n",
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"):
            with self.subTest(sent):
                self.assert_problem(502, "port_bad_answer", self.raw(sent))
        self.assertEqual(200, self.ask().status)

    def test_bodies_that_lie(self):
        ok = "HTTP/1.1 200 OK\r\n"
        for sent in (ok + "Content-Length: 100\r\n\r\nshort", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
            with self.subTest(sent[:80]), self.server.client() as client:
                with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                    client.send("GET", self.path(f"/raw?{sent.encode().hex()}"))
        for body in ("zz\r\n", "3\r\nabc\r\nzz\r\n", "3;" + "x" * 5_000 + "\r\nabc\r\n0\r\n\r\n", "3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n",
                     "-1\r\nabc\r\n", "ffffffffffffffffff\r\n"):
            with self.subTest(body[:20]):
                self.assert_problem(502, "port_bad_answer", self.raw(ok + "Transfer-Encoding: chunked\r\n\r\n" + body))

    def test_more_than_the_length_is_nobodys(self):
        two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"
        self.assertEqual(b"ok", self.raw(two).body)
        self.assertIn(b"GET /echo", self.ask().body)

    def test_a_header_without_end(self):
        self.assert_problem(502, "port_bad_answer", self.ask("/flood"))
        self.assert_problem(502, "port_bad_answer", self.ask("/leave"), "without an answer")

    def test_a_body_without_end_is_not_held(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.sendall(f"GET {self.path('/pour')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.settimeout(time_scale.scaled(20))
            had = 0
            while had < 200 << 20:
                had += len(connection.recv(1 << 20))
        self.assert_little_memory()

    def test_who_leaves_ends_the_connection_inside(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.sendall(f"GET {self.path('/pour')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.recv(100)
            self.assertEqual(b"1", self.ask("/others").body)
        self.assertTrue(host_view.wait_until(lambda: self.ask("/others").body == b"0", 10))

    def test_connections_are_bounded(self):
        opened = []
        for _ in range(64):
            connection = socket.create_connection(("127.0.0.1", self.server.port))
            self.addCleanup(connection.close)
            connection.sendall(f"GET {self.path('/stream')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            opened.append(connection)
        for connection in opened:
            self.assertIn(b"200 OK", connection.recv(12 + len("HTTP")))
        self.assert_problem(503, "busy", self.ask(), "too many connections")
        opened[0].close()
        self.assertTrue(host_view.wait_until(lambda: self.ask().status == 200, 10))


class Silence(PortTest):
    environment = {**PortTest.environment, "SANDBOX_PORTS_TIMEOUT_SECONDS": f"{math.ceil(time_scale.scaled(1))}"}

    def test_a_server_that_says_nothing(self):
        began = time.monotonic()
        self.assert_problem(504, "port_timeout", self.ask("/quiet"), "in time")
        self.assertGreater(time.monotonic() - began, 0.8)

    def test_who_says_nothing_more_is_not_waited_for(self):
        began = time.monotonic()
        _, reader, _ = WebSockets.open(self)
        with self.server.client() as client:
            with self.assertRaises(http.client.IncompleteRead):
                client.send("GET", self.path("/stream"))
        self.assertEqual(b"\x81\x05hello", reader.read())
        self.assertGreater(time.monotonic() - began, 9)


class WebSockets(PortTest):
    key = base64.b64encode(b"0123456789abcdef").decode()

    def open(self, rest="/ws", host=None, path=None, key=key, port=None, **headers):
        connection = socket.create_connection(("127.0.0.1", port or self.server.port))
        self.addCleanup(connection.close)
        connection.settimeout(time_scale.scaled(20))
        lines = [f"GET {path or self.path(rest)} HTTP/1.1", f"Host: {host or 'localhost'}", "Connection: keep-alive, Upgrade",
                 "Upgrade: websocket", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
                 *(f"{name}: {value}" for name, value in headers.items())]
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        reader = connection.makefile("rb")
        head = []
        while (line := reader.readline()) not in (b"\r\n", b""):
            head.append(line.decode().strip())
        return connection, reader, head

    @staticmethod
    def frame(text):
        size = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
        return b"\x81" + size + b"\0\0\0\0" + text

    def test_messages_go_both_ways(self):
        for path, host in ((None, None), ("/ws", self.name())):
            connection, reader, head = self.open(path=path, host=host)
            self.assertEqual("HTTP/1.1 101 Switching Protocols", head[0])
            self.assertEqual(["Connection: Upgrade", "Upgrade: websocket"], head[1:3])
            self.assertIn("Sec-WebSocket-Accept: BACScCJPNqyz+UBoqMH89VmURoA=", head)
            self.assertFalse([line for line in head if line.startswith("Set-Cookie")])
            self.assertEqual(b"\x81\x05hello", reader.read(7))
            for text in (b"one", b"x" * 60_000, b""):
                connection.sendall(self.frame(text))
                head = reader.read(2)
                if head[1] == 126:
                    reader.read(2)
                self.assertEqual(text, reader.read(len(text)))
            connection.sendall(self.frame(b"end"))
            self.assertEqual(b"\x81\x03bye", reader.read(5))
            self.assertEqual(b"", reader.read())

    def test_a_refusal_comes_out(self):
        _, reader, head = self.open("/echo")
        self.assertEqual("HTTP/1.1 200 OK", head[0])
        self.assertIn("Connection: close", head)
        self.assertIn("Content-Security-Policy: sandbox allow-scripts allow-forms", head)
        told = json.loads(reader.read())
        self.assertEqual((["Upgrade"], ["websocket"], [self.key]), tuple(
            lines_of(told, name) for name in ("Connection", "Upgrade", "Sec-WebSocket-Key")))

    def test_what_is_refused(self):
        self.assertIn("400", self.open(key="short")[2][0])
        self.assertIn("400", self.open(**{"Content-Length": "5"})[2][0])
        self.assertIn("403", self.open(Origin="https://evil.test")[2][0])
        self.assertIn("502", self.open(path=self.path("/ws", port=8001))[2][0])
        self.assertIn("502", self.open("/leave")[2][0])
        half = "HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n".encode().hex()
        self.assertIn("502", self.open(f"/raw?{half}")[2][0])

    def test_it_ends_with_the_sandbox(self):
        _, reader, head = self.open()
        self.assertIn("101", head[0])
        self.assertEqual(b"\x81\x05hello", reader.read(7))
        self.sandbox.delete()
        self.assertEqual(b"", reader.read())

    def test_it_ends_with_the_token_that_opened_it(self):
        connection, reader, head = self.open(**{"X-Access-Token": self.sandbox.made["access_token"]})
        other, other_reader, other_head = self.open()
        for each, first in ((reader, head), (other_reader, other_head)):
            self.assertIn("101", first[0])
            self.assertEqual(b"\x81\x05hello", each.read(7))
        self.assertEqual(200, self.sandbox.ask_to("token").status)
        self.assertEqual(b"", reader.read())
        other.sendall(self.frame(b"one"))
        self.assertEqual(b"\x81\x03one", other_reader.read(5))
        connection.close()

    def test_a_server_that_stops_ends_it(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)
        with server.client() as client:
            sandbox = self.serve_in(Sandbox(client, client.post({}, "/v1/sandboxes").json))
            _, reader, head = self.open(path=self.path("/ws", sandbox), port=server.port)
            self.assertIn("101", head[0])
            self.assertEqual(b"\x81\x05hello", reader.read(7))
        began = time.monotonic()
        self.assertEqual(0, server.stop())
        self.assertLess(time.monotonic() - began, time_scale.scaled(10))
        self.assertEqual(b"", reader.read())


if __name__ == "__main__":
    live_server.main()
