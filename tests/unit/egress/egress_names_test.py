"""The questions that reach a name server: those about names that a rule allows, once for each request, and no others.
The server belongs to this test, on port 53 of a network namespace where nothing else is; look-ups go there as on any
host, by /etc/resolv.conf."""
import collections
import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import stand

PUBLIC = "11.0.0.1"  # of the loopback interface in that namespace
ENTER = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
FILES = {"/etc/resolv.conf": "nameserver 127.0.0.1\nsearch .\noptions timeout:2 attempts:1\n", "/etc/nsswitch.conf": "hosts: files dns\n",
         "/etc/hosts": "127.0.0.1 localhost\n"}


class NameServer:
    """Answers A by `answers`, a list of addresses for each name, the last of which stays; names ending in .alias are aliases of evil.test."""

    def __init__(self, answers):
        self.answers, self.asked = {name: list(addresses) for name, addresses in answers.items()}, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(4096)
            name, at = [], 12
            while query[at]:
                name.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
                at += query[at] + 1
            name = ".".join(name)
            kind = struct.unpack(">H", query[at + 1:at + 3])[0]
            self.asked.append(f"{name} {kind}")
            self.socket.sendto(self.answer(query[:2], query[12:at + 5], name, kind), client)

    def answer(self, number, question, name, kind):
        records = []
        if name.endswith(".alias"):
            records.append(struct.pack(">HHHIH", 0xc00c, 5, 1, 0, 11) + b"\4evil\4test\0")
        elif kind == 1 and name in self.answers:
            left = self.answers[name]
            records.append(struct.pack(">HHHIH", 0xc00c, 1, 1, 0, 4) + socket.inet_aton(left.pop(0) if len(left) > 1 else left[0]))
        code = 0 if records or name in self.answers else 3
        return number + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0) + question + b"".join(records)

    def take(self):
        """Returns the questions since the last call."""
        asked, self.asked = self.asked, []
        return asked


class Listener:
    """Counts who connects."""

    def __init__(self, address, port=0):
        self.socket, self.count = socket.create_server((address, port)), 0
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            self.count += 1
            with client:
                client.sendall(b"the other side")
                client.shutdown(socket.SHUT_WR)
                stand.read_all(client)


def up(name, address=None):
    """Brings up an interface with an address of its own, where there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if address:
            fcntl.ioctl(control, 0x8916, struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(address)))
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", name.encode(), 0x41))


def requests_of(host, port):
    """The same destination in each protocol."""
    encoded = host.encode()
    where = f"[{host}]" if ":" in host else host
    yield f"CONNECT {where}:{port} HTTP/1.1\r\n\r\n".encode()
    yield f"GET http://{where}:{port}/ HTTP/1.1\r\n\r\n".encode()
    yield b"\5\1\0\5\1\0\3" + bytes([len(encoded)]) + encoded + struct.pack(">H", port)


def look():
    """Runs in the namespace; returns the questions, and the destinations to which the proxy connected."""
    up("lo")
    up("lo:1", PUBLIC)
    server = NameServer({"allowed.test": [PUBLIC], "x.below.test": [PUBLIC], "turning.test": [PUBLIC, "127.0.0.1"], "evil.test": [PUBLIC],
                         "below.test": [PUBLIC]})
    public = Listener(PUBLIC)
    inner = Listener("127.0.0.1", public.port)
    port, seen = public.port, collections.OrderedDict()
    rules = [f"{name}:{port}" for name in ("allowed.test", "*.below.test", "turning.test", "other.alias", "no-such.test")]
    with stand.Stand(rules) as proxy:
        def ask(label, *hosts, to=port):
            answers = [proxy.ask(request).decode("latin-1") for host in hosts for request in requests_of(host, to)]
            seen[label] = {"asked": server.take(), "through": sum("the other side" in answer for answer in answers), "of": len(answers)}
        ask("nothing")
        ask("allowed", "allowed.test")
        ask("its other spellings", "ALLOWED.test", "allowed.test.")
        ask("below", "x.below.test")
        ask("not allowed", "evil.test", "x.allowed.test", "allowed.test.evil.test", "below.test", "xbelow.test", "secret-of-a-guest.evil.test", "localhost")
        ask("another port", "allowed.test", "x.below.test", to=port + 1)
        ask("addresses", PUBLIC, "127.0.0.1", "::1", "::ffff:127.0.0.1", "8.8.8.8")
        ask("no names", "127.1", "2130706433", "0x7f.1", "a..test", "allowed.test%00", "allowed.test\0", "allowed.test\0.evil.test",
            "x\n.below.test", "x .below.test", "\u0430llowed.test", "a" * 64 + ".below.test", "allowed.test..", "-x.below.test", "*.below.test")
        ask("an alias", "other.alias")
        ask("unknown", "no-such.test")
        before = public.count, inner.count
        ask("turning", "turning.test")
        seen["turning"].update(public=public.count - before[0], inner=inner.count - before[1])
    print(json.dumps(seen))


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tried = subprocess.run([*ENTER, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            raise unittest.SkipTest(f"no namespaces for this user: {tried.stderr.strip()}")
        with tempfile.TemporaryDirectory(prefix="agent-sandbox-names.") as folder:
            os.chmod(folder, 0o755)
            script = []
            for path, text in FILES.items():
                own = pathlib.Path(folder, pathlib.Path(path).name)
                own.write_text(text, encoding="ascii")
                script.append(f"mount --bind {own} $(realpath {path})")
            script.append("if [ -d /run/nscd ]; then mount -t tmpfs none /run/nscd; fi")
            script.append(f'exec "{sys.executable}" "{pathlib.Path(__file__).resolve()}" look')
            done = subprocess.run([*ENTER, "sh", "-e", "-c", "\n".join(script)], capture_output=True, text=True, check=False, timeout=4 * stand.PATIENCE)
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.seen = json.loads(done.stdout)

    def asked(self, label, asked, through):
        seen = self.seen[label]
        self.assertEqual(asked, sorted(set(seen["asked"])), seen)
        self.assertEqual(through, seen["through"], seen)
        return seen

    def test_control_an_allowed_name_is_looked_up_once_for_each_request(self):
        seen = self.asked("allowed", ["allowed.test 1"], 3)
        self.assertEqual(3, len(seen["asked"]))
        self.asked("below", ["x.below.test 1"], 3)
        self.asked("its other spellings", ["allowed.test 1"], 6)

    def test_nothing_is_asked_about_what_no_rule_allows(self):
        self.asked("nothing", [], 0)  # rules are not looked up
        for label in ("not allowed", "another port", "addresses", "no names"):
            with self.subTest(label):
                self.assertGreaterEqual(self.asked(label, [], 0)["of"], 6)

    def test_answers_lead_to_no_other_question(self):
        self.asked("an alias", ["other.alias 1"], 0)
        self.asked("unknown", ["no-such.test 1"], 0)

    def test_the_connection_goes_to_the_address_that_was_judged(self):
        """The name leads to a public address first, and to loopback whenever it is asked again."""
        seen = self.asked("turning", ["turning.test 1"], 1)
        self.assertEqual((3, 1, 0), (len(seen["asked"]), seen["public"], seen["inner"]), seen)


if __name__ == "__main__" and sys.argv[1:] == ["look"]:
    look()
