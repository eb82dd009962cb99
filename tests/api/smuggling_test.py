"""Requests that two readers could end in different places. Each is followed by another one on the same connection: it must
be refused, once, and what follows must never be taken for a request."""
import re
import socket

import live_server
import time_scale

BODY = b'{"code": "print(6*7)"}'
LINE = b"POST /execute HTTP/1.1\r\n"
REST = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
HEAD = LINE + REST
NEXT = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def answers(port, request, timeout=8):
    """Status of each response, and whether the server closed the connection by itself."""
    with socket.create_connection(("127.0.0.1", port), time_scale.scaled(timeout)) as connection:
        connection.sendall(request)
        received, closed = b"", False
        try:
            while chunk := connection.recv(65536):
                received += chunk
            closed = True
        except ConnectionResetError:
            closed = True
        except TimeoutError:
            pass
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)], closed


class Framing(live_server.ServerTest):
    def refused(self, request, *statuses):
        seen, closed = answers(self.server.port, request + NEXT)
        self.assertEqual(1, len(seen), (request[:200], seen))
        self.assertIn(seen[0], statuses or (400,), request[:200])
        self.assertTrue(closed, request[:200])

    def tearDown(self):
        with self.server.client() as client:
            self.assertEqual("42\n", client.execute("print(6*7)")["stdout"])

    def test_control_both_requests_are_answered(self):
        for request in (HEAD + LENGTH + b"\r\n" + BODY, HEAD + CHUNKED + b"\r\n" + CHUNKS,
                        b"\r\n\r\n" + HEAD + LENGTH + b"\r\n" + BODY,
                        HEAD + CHUNKED + b"\r\n%x;a=b;c=\"d\"\r\n%s\r\n0;e\r\nX-Trailer: 1\r\n\r\n" % (len(BODY), BODY)):
            with self.subTest(request):
                closing = NEXT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
                self.assertEqual(([200, 200], True), answers(self.server.port, request + closing))

    def test_length_and_chunks(self):
        for headers in (LENGTH + CHUNKED, CHUNKED + LENGTH, b"Content-Length: 0\r\n" + CHUNKED,
                        b"content-length: 4\r\ntransfer-encoding: chunked\r\n"):
            with self.subTest(headers):
                self.refused(HEAD + headers + b"\r\n" + CHUNKS)

    def test_transfer_encodings_that_are_not_chunked(self):
        for value in (b"xchunked", b"chunked, identity", b"identity, chunked", b"gzip, chunked", b"chunked, chunked", b"chunkedx",
                      b"x chunked", b"\x0bchunked", b"chunked\x0b", b'"chunked"', b"chunked;q=1", b"", b"identity", b"chunked,"):
            with self.subTest(value):
                self.refused(HEAD + b"Transfer-Encoding: " + value + b"\r\n\r\n" + CHUNKS)
        self.refused(HEAD + CHUNKED + CHUNKED + b"\r\n" + CHUNKS)
        self.refused(LINE.replace(b"1.1", b"1.0") + REST + CHUNKED + b"\r\n" + CHUNKS)

    def test_lengths_that_are_not_one_number(self):
        size = b"%d" % len(BODY)
        for value in (b"+" + size, b"-" + size, size + b" " + size, size + b", " + size, size + b",", b"0x16", b"1e1", b"2_2", b"",
                      size + b"\x0b", b"\xd9\xa2", b"99999999999999999999999", b"18446744073709551638"):
            with self.subTest(value):
                self.refused(HEAD + b"Content-Length: " + value + b"\r\n\r\n" + BODY)
        self.refused(HEAD + LENGTH + LENGTH + b"\r\n" + BODY)
        self.refused(HEAD + LENGTH + b"Content-Length: 0\r\n\r\n" + BODY)

    def test_lines_that_end_or_begin_otherwise(self):
        for name, head in {
                "folded": HEAD + b"X: y\r\n z\r\n" + LENGTH, "folded length": HEAD + b"Content-Length:\r\n %d\r\n" % len(BODY),
                "folded by a tabulator": HEAD + b"X: y\r\n\tz\r\n" + LENGTH, "bare line feed": HEAD + b"X: y\n" + LENGTH,
                "bare carriage return": HEAD + b"X: y\rZ: a\r\n" + LENGTH, "zero": HEAD + b"X: \0\r\n" + LENGTH,
                "blank before the colon": HEAD + b"Content-Length : %d\r\n" % len(BODY),
                "tabulator before the colon": HEAD + b"Content-Length\t: %d\r\n" % len(BODY),
                "blank before the name": LINE + b" " + REST + LENGTH, "no colon": HEAD + b"X\r\n" + LENGTH,
                "no name": HEAD + b": x\r\n" + LENGTH, "a name that is none": HEAD + b"X(): y\r\n" + LENGTH,
                "carriage returns": HEAD + b"X: y\r\r\n" + LENGTH}.items():
            with self.subTest(name):
                self.refused(head + b"\r\n" + BODY)
        self.refused((HEAD + LENGTH).replace(b"\r\n", b"\n") + b"\n" + BODY)

    def test_headers_that_say_who_it_is_come_once(self):
        for header in (b"Host: 127.0.0.1", b"Authorization: Bearer x", b"X-API-Key: x", b"Content-Type: application/json",
                       b"Expect: 100-continue", b"Content-Encoding: identity"):
            with self.subTest(header):
                self.refused(HEAD + LENGTH + (header + b"\r\n") * 2 + b"\r\n" + BODY)

    def test_chunks_that_are_none(self):
        size = b"%x" % len(BODY)
        for chunks in (b"-" + size, b"+" + size, b"0x" + size, b" " + size, size + b" ", size + b"h", b"", b"1" + b"0" * 15 + size,
                       b"f" * 17, size + b';a="\n"', size + b';a="\0"', size + b";", size + b";\x01", size + b"\n", size + b"\r"):
            with self.subTest(chunks):
                self.refused(HEAD + CHUNKED + b"\r\n" + chunks + b"\r\n" + BODY + b"\r\n0\r\n\r\n")
        for end in (b"0\r\n\r\n", b"X\r\n0\r\n\r\n", b"\n0\r\n\r\n", b"\r\n0\r\nContent-Length: 3\r\n\r\n", b"\r\n0\r\nTransfer-Encoding: x\r\n\r\n",
                    b"\r\n0\r\nX: y\n\r\n\r\n", b"\r\n0\r\nX : y\r\n\r\n"):
            with self.subTest(end=end):
                self.refused(HEAD + CHUNKED + b"\r\n" + size + b"\r\n" + BODY + end)

    def test_chunks_past_every_bound(self):
        for name, chunks, status in (
                ("size", b"f" * 16 + b"\r\n", 413), ("sum", b"fffff0\r\n" + b" " * 0xfffff0 + b"\r\n20\r\n", 413),
                ("zeros", b"0" * 80_000 + b"5\r\n", 400), ("one extension", b"5;x=" + b"y" * 80_000 + b"\r\n", 400),
                ("all extensions", (b"1;" + b"y" * 1000 + b"\r\n \r\n") * 5, 400),
                ("trailer", b"0\r\nX: " + b"y" * 80_000 + b"\r\n\r\n", 400),
                ("trailers", b"0\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", 400)):
            with self.subTest(name):
                self.refused(HEAD + CHUNKED + b"\r\n" + chunks, status)

    def test_targets_of_proxies(self):
        for target, status in ((b"http://127.0.0.1/health", 200), (b"HTTP://127.0.0.1/jobs?limit=1", 200),
                               (b"http://evil.example/health", 400), (b"http://127.0.0.1@evil.example/health", 400),
                               (b"http://127.0.0.1:1/health", 400), (b"127.0.0.1:80", 404), (b"*", 404), (b"evil.example", 404),
                               (b"//evil.example/health", 404)):
            with self.subTest(target):
                request = b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
                self.assertEqual(([status], True), answers(self.server.port, request))

    def test_it_is_no_tunnel(self):
        for request in (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                        b"CONNECT /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                        b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"):
            with self.subTest(request):
                closing = request.replace(b"\r\nHost", b"\r\nConnection: close\r\nHost", 1)
                seen, _ = answers(self.server.port, closing)
                self.assertEqual(1, len(seen))
                self.assertIn(seen[0], (200,) if b"h2c" in request else (404, 405))

    def test_versions_that_are_none_of_ours(self):
        for line in (b"GET /health\r\n", b"GET /health HTTP/0.9\r\n", b"GET /health HTTP/1.2\r\n", b"GET /health HTTP/2.0\r\n",
                     b"GET /health http/1.1\r\n", b"GET /health HTTP/1.1 \r\n", b"GET /health  HTTP/1.1\r\n",
                     b"GET\t/health HTTP/1.1\r\n", b" GET /health HTTP/1.1\r\n", b"GET /he alth HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n"):
            with self.subTest(line):
                self.refused(line + b"Host: 127.0.0.1\r\n\r\n")
        self.refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.refused(b"GET /health\r\n\r\n")

    def test_nothing_is_read_behind_a_refusal_with_a_body(self):
        for name, head, status in (
                ("no such path", b"POST /none HTTP/1.1\r\n" + REST, 404), ("method", b"PUT /execute HTTP/1.1\r\n" + REST, 405),
                ("type", LINE + b"Host: 127.0.0.1\r\nContent-Type: text/plain\r\n", 415),
                ("name", LINE + b"Host: evil.example\r\nContent-Type: application/json\r\n", 421),
                ("expectation", HEAD + b"Expect: x\r\n", 417)):
            with self.subTest(name):
                self.refused(head + b"Content-Length: %d\r\n\r\n" % len(NEXT), status)
