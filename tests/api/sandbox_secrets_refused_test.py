"""Secrets of sandboxes: what can be none, and requests by which a program tries to see one or to send it elsewhere."""
import pathlib
import unittest

import host_view
from secret_sandbox import MARK, VALUE, SecretsTest

# Sends one request's bytes to the gateway and prints all that comes back, as Python writes bytes.
RAW = """
import os, socket, sys
gateway = socket.create_connection(("127.0.0.1", 3129), timeout=60)
answer = b""
try:
    gateway.sendall(bytes.fromhex(sys.stdin.read()))
    while got := gateway.recv(65536):
        answer += got
except ConnectionResetError:
    answer += b" (reset)"
print(ascii(answer.decode("latin-1")))
"""


class Refused(SecretsTest):
    def raw(self, sandbox, request):
        return sandbox.python(RAW, stdin=request.encode("latin-1").hex())["stdout"].strip()

    def test_bad_secrets(self):
        good = self.secret()
        bad = ({**good, "host": "*.example.com"}, {**good, "host": "localhost:443"}, {**good, "host": "user@localhost"}, {**good, "host": "10.0.0.0/8"},
               {**good, "host": ""}, {**good, "host": "localhost/x"}, {**good, "host": "local host"}, {**good, "host": 7},
               {**good, "port": 0}, {**good, "port": 65536}, {**good, "port": "443"}, {**good, "port": self.other.port},
               {**good, "header": ""}, {**good, "header": "Host"}, {**good, "header": "content_length"}, {**good, "header": "Transfer-Encoding"},
               {**good, "header": "Connection"}, {**good, "header": "Proxy-Authorization"}, {**good, "header": "Upgrade"}, {**good, "header": "TE"},
               {**good, "header": "A B"}, {**good, "header": "A:"}, {**good, "header": "A\r\nB"}, {**good, "header": "x" * 65},
               {**good, "value": ""}, {**good, "value": VALUE + "\r\nX: y"}, {**good, "value": VALUE + "\0"}, {**good, "value": " " + VALUE},
               {**good, "value": VALUE + " "}, {**good, "value": VALUE + "é"}, {**good, "value": MARK * 2000}, {**good, "value": [VALUE]},
               {**good, "more": VALUE}, {"host": "localhost", "header": "A"}, {"value": VALUE}, VALUE, None)
        sandbox = self.make()
        for secret in bad:
            for answer in (self.client.post({"network": {"allow": [self.place], "secrets": [secret]}}, "/v1/sandboxes"),
                           sandbox.change(network={"allow": [self.place], "secrets": [secret]})):
                with self.subTest(secret=secret):
                    self.assert_bad_field(answer, "network: secrets[0]: ")
                    self.assertNotIn(MARK, repr(answer))
        for secrets, fragment in (([good, {**good, "header": "AUTHORIZATION"}], "secrets[1]: there is one"), ([good] * 17, "at most 16"), (VALUE, "a list"),
                                  ({"a": VALUE}, "a list")):
            answer = self.client.post({"network": {"allow": [self.place], "secrets": secrets}}, "/v1/sandboxes")
            self.assert_bad_field(answer, fragment)
            self.assertNotIn(MARK, repr(answer))
        for network in ({"secrets": [good]}, {"allow": [], "secrets": [good]}, {"allow": [self.place], "secrets": [good], "more": 1}):
            self.assert_bad_field(self.client.post({"network": network}, "/v1/sandboxes"), "network: ")
        self.assertEqual("none", sandbox.now()["network"])
        # Beyond what the operator allows, and for a program without a life of its own.
        self.assert_bad_field(self.client.post({"network": {"allow": ["example.org:443"], "secrets": [good]}}, "/v1/sandboxes"), "beyond")
        self.assert_bad_field(self.client.post({"code": "1", "network": {"allow": [self.place], "secrets": [good]}}, "/execute"), "network: ")

    def test_requests_that_two_readers_could_see_differently(self):
        sandbox = self.make_with()
        place, end = self.place, "\r\n\r\n"
        line = f"GET /{place}/x HTTP/1.1\r\nHost: gateway"
        post = f"POST /{place}/x HTTP/1.1\r\nHost: gateway\r\n"
        forms = {
            "TRACE": f"TRACE /{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "CONNECT": f"CONNECT {place} HTTP/1.1\r\nHost: gateway{end}",
            "CONNECT with a path": f"CONNECT /{place}/ HTTP/1.1\r\nHost: gateway{end}",
            "an unknown method": f"FETCH /{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "small letters": f"get /{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "absolute form": f"GET http://{place}/x HTTP/1.1\r\nHost: {place}{end}",
            "absolute form of the gateway": f"GET http://127.0.0.1:3129/{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "asterisk form": f"OPTIONS * HTTP/1.1\r\nHost: gateway{end}",
            "userinfo": f"GET /user@{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "another host as userinfo": f"GET /{place}@127.0.0.1:{self.other.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "another port": f"GET /localhost:{self.other.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "the usual port": f"GET /localhost/x HTTP/1.1\r\nHost: gateway{end}",
            "another spelling of the address": f"GET /127.0.0.1:{self.site.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "an encoded host": f"GET /%6cocalhost:{self.site.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "capital letters": f"GET /LOCALHOST:{self.site.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "an empty first part": f"GET //{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "the way up": f"GET /x/../{place}/x HTTP/1.1\r\nHost: gateway{end}",
            "a back slash": f"GET /{place}\\@127.0.0.1:{self.other.port}/x HTTP/1.1\r\nHost: gateway{end}",
            "a fragment": f"GET /{place}#@127.0.0.1/x HTTP/1.1\r\nHost: gateway{end}",
            "a blank in the target": f"GET /{place}/x y HTTP/1.1\r\nHost: gateway{end}",
            "a tab in the first line": f"GET\t/{place}/x\tHTTP/1.1\r\nHost: gateway{end}",
            "a NUL in the target": f"GET /{place}/\0x HTTP/1.1\r\nHost: gateway{end}",
            "a carriage return in the target": f"GET /{place}/\rx HTTP/1.1\r\nHost: gateway{end}",
            "bytes beyond ASCII": f"GET /{place}/\xff HTTP/1.1\r\nHost: gateway{end}",
            "no version": f"GET /{place}/x{end}",
            "HTTP/1.0": f"GET /{place}/x HTTP/1.0\r\nHost: gateway{end}",
            "HTTP/2": f"GET /{place}/x HTTP/2\r\nHost: gateway{end}",
            "two Hosts": f"{line}\r\nHost: {place}{end}",
            "no Host": f"GET /{place}/x HTTP/1.1\r\nX: y{end}",
            "a folded line": f"{line}\r\nX-A: b\r\n Authorization: mine{end}",
            "a blank before the colon": f"{line}\r\nAuthorization : mine{end}",
            "no colon": f"{line}\r\nAuthorization{end}",
            "no name": f"{line}\r\n: mine{end}",
            "line feeds alone": f"GET /{place}/x HTTP/1.1\nHost: gateway\n\n",
            "one line feed alone": f"{line}\nX: y{end}",
            "a carriage return in a value": f"{line}\r\nX: a\rAuthorization: mine{end}",
            "a NUL in a value": f"{line}\r\nX: a\0b{end}",
            "a NUL in a name": f"{line}\r\nX\0: a{end}",
            "chunks": f"{post}Transfer-Encoding: chunked{end}0{end}",
            "chunks and a length": f"{post}Transfer-Encoding: chunked\r\nContent-Length: 5{end}0{end}",
            "chunks in disguise": f"{post}Transfer-Encoding: xchunked{end}0{end}",
            "chunks by another name": f"{post}Transfer_Encoding: chunked{end}0{end}",
            "two lengths": f"{post}Content-Length: 1\r\nContent-Length: 2{end}ab",
            "two equal lengths": f"{post}Content-Length: 1\r\nContent-Length: 1{end}a",
            "a list of lengths": f"{post}Content-Length: 1, 1{end}a",
            "a signed length": f"{post}Content-Length: +1{end}a",
            "a length in hex": f"{post}Content-Length: 0x1{end}a",
            "a length beyond all bounds": f"{post}Content-Length: 99999999999999999999{end}a",
            "a length beyond the bound": f"{post}Content-Length: 16777217{end}a",
            "a length by another name": f"{post}Content_Length: 1{end}a",
            "more behind it": f"{line}{end}GET /{place}/smuggled HTTP/1.1\r\nHost: gateway{end}",
            "more behind a body": f"{post}Content-Length: 1{end}aGET /{place}/smuggled HTTP/1.1\r\nHost: gateway{end}",
            "another expectation": f"{post}Content-Length: 1\r\nExpect: the-secret{end}a",
            "too many headers": f"{line}\r\n" + "\r\n".join(f"X-{number}: y" for number in range(120)) + end,
            "a large head": f"{line}\r\nX: {'y' * 70000}{end}",
            "TLS": "\x16\x03\x01\x00\x10\n",
            "nothing at all": "\r\n\r\n",
        }
        for name, request in forms.items():
            with self.subTest(name):
                said = self.raw(sandbox, request)
                self.assertRegex(said, r"""^['"]HTTP/1\.1 (400|403|405|408|411|413|417|431|505) """)
                self.assertNotIn(MARK, said)
        self.assertEqual([], self.site.requests + self.other.requests)
        # The gateway still serves, and nothing that stands in headers leads elsewhere.
        headers = [("X-Forwarded-Host", f"127.0.0.1:{self.other.port}"), ("Forwarded", "host=evil"), ("X-Http-Method-Override", "TRACE"),
                   ("Connection", "Authorization"), ("Connection", "close, x-dropped, host"), ("X-Dropped", "mine")]
        text = "".join(f"{name}: {value}\r\n" for name, value in headers)
        said = self.raw(sandbox, f"GET /{place}/x HTTP/1.1\r\nHost: 127.0.0.1:{self.other.port}\r\n{text}\r\n")
        self.assertRegex(said, r"""^['"]HTTP/1\.1 200 """)
        (request,) = self.site.requests
        self.assert_came(request)
        self.assertEqual([self.place], [value for name, value in request["headers"] if name.lower() == "host"])
        self.assertNotIn("mine", [value for _, value in request["headers"]])
        self.assertEqual([], self.other.requests)

    def test_nothing_is_left_of_requests_that_break_off(self):
        sandbox = self.make_with()
        descriptors = pathlib.Path(f"/proc/{self.server.pid}/fd")
        threads = pathlib.Path(f"/proc/{self.server.pid}/task")
        sandbox.run("true")
        before = [len(list(each.iterdir())) for each in (descriptors, threads)]
        said = sandbox.python(f"""
import socket, struct
whole = b"GET /{self.place}/big HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
body = b"POST /{self.place}/x HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 10000000\\r\\n\\r\\n" + b"x" * 1000
for number in range(300):
    gateway = socket.create_connection(("127.0.0.1", 3129), timeout=60)
    try:
        gateway.sendall((whole[:number % len(whole)], whole, body)[number % 3])
        if number % 2:
            gateway.recv(1 + 1000 * (number % 7)) if number % 3 == 1 else None
            gateway.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except ConnectionError:
        pass
    gateway.close()
""")
        self.assertEqual(("", 0), (said["stderr"], said["exit_code"]))
        after = []

        def is_as_before():
            after[:] = [len(list(each.iterdir())) for each in (descriptors, threads)]
            return all(now <= then for now, then in zip(after, before))

        self.assertTrue(host_view.wait_until(is_as_before, 20), (before, after, sorted(host_view.what_is_open(self.server.pid))))
        # All places and all memory for bodies are there again.
        for _ in range(3):
            said = sandbox.run(f'head -c 16777216 /dev/zero | curl -sS --data-binary @- "$SANDBOX_SECRETS_URL/{self.place}/x"')
            self.assertIn('"path": "/x"', said["stdout"], said)

    def test_certificate_of_another_name(self):
        # It is for localhost and 127.0.0.1, and the address that is asked is another one.
        sandbox = self.make_with(self.secret(site=self.other, host="127.0.0.2"), allow=[f"127.0.0.0/8:{self.other.port}"])
        said = sandbox.run(f'curl -sS --noproxy "*" -i "http://127.0.0.1:3129/127.0.0.2:{self.other.port}/x"')
        self.assertRegex(said["stdout"], "^HTTP/1.1 502 ")
        self.assertEqual([], self.other.requests)


class Untrusted(SecretsTest):
    trusts = False

    def test_certificate_that_nobody_vouches_for(self):
        sandbox = self.make_with()
        said = self.ask(sandbox, f"answer = ask('/{self.place}/x'); print(answer.status, answer.headers['proxy-status'], answer.read().decode())")
        self.assertIn("502 agent-sandbox; error=tls_certificate_error", said)
        self.assertIn("its certificate is not trusted", said)
        self.assertEqual([], self.site.requests)


if __name__ == "__main__":
    unittest.main()
