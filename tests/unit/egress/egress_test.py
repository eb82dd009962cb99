"""The proxy of named egress from one end to the other: its process as the library starts it, real clients (curl,
Python's own) before it, real servers behind it. No jail: the listening socket is one of this host."""
import concurrent.futures
import hashlib
import os
import pathlib
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from stand import PATIENCE, RawServer, Stand, WebServer, eventually, read_all

ALLOWED = "allowed.test"


class Egress(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.web = WebServer()
        cls.addClassCleanup(cls.web.close)

    def stand(self, rules=(), addresses=(f"{ALLOWED}=127.0.0.1",), **options):
        stand = Stand(rules, addresses, **options)
        self.addCleanup(stand.__exit__)
        return stand

    def allowing(self, port=None, **options):
        port = port or self.web.port
        return self.stand([f"{ALLOWED}:{port}", f"127.0.0.1:{port}"], **options)

    def raw(self, serve):
        server = RawServer(serve)
        self.addCleanup(server.close)
        return server

    @staticmethod
    def curl(*arguments, data=None):
        return subprocess.run(["curl", "-sS", "--noproxy", "", "--max-time", str(PATIENCE), *arguments], input=data,
                              capture_output=True, check=False)

    def ways(self, stand):
        """The four ways in which curl goes through a proxy."""
        at = f"127.0.0.1:{stand.port}"
        return {"http": ["-x", f"http://{at}"], "connect": ["-p", "-x", f"http://{at}"],
                "socks by name": ["--socks5-hostname", at], "socks by address": ["--socks5", at]}

    # What is allowed.

    def test_curl_gets(self):
        stand = self.allowing()
        for way, options in self.ways(stand).items():
            host = "127.0.0.1" if way == "socks by address" else ALLOWED
            done = self.curl(*options, "-H", "X-Mine: 1", f"http://{host}:{self.web.port}/a?b")
            self.assertEqual(0, done.returncode, f"{way}: {done.stderr}")
            self.assertIn(b"GET /a?b\n", done.stdout, way)
            self.assertIn(b"X-Mine: 1", done.stdout, way)
            self.assertIn(f"Host: {host}:{self.web.port}".encode(), done.stdout, way)
            self.assertNotIn(b"Proxy-", done.stdout, way)
        for decision in stand.decisions(4):
            self.assertEqual(("jail-0", "127.0.0.1", "allowed"), (decision.jail, decision.address, decision.allowed))
        for decision in stand.decisions(4, "ended"):
            self.assertGreater(int(decision.sent), 50)
            self.assertGreater(int(decision.received), 50)

    def test_curl_posts_megabytes(self):
        stand = self.allowing()
        body = os.urandom(5 << 20)
        for way, options in self.ways(stand).items():
            done = self.curl(*options, "--data-binary", "@-", f"http://127.0.0.1:{self.web.port}/", data=body)
            self.assertEqual(hashlib.sha256(body).hexdigest().encode(), done.stdout, f"{way}: {done.stderr}")
        self.assertGreater(min(int(decision.sent) for decision in stand.decisions(4, "ended")), 5 << 20)

    def test_curl_gets_megabytes(self):
        stand = self.allowing()
        for way, options in self.ways(stand).items():
            done = self.curl(*options, f"http://127.0.0.1:{self.web.port}/big?{20 << 20}")
            self.assertEqual((0, 20 << 20), (done.returncode, len(done.stdout)), f"{way}: {done.stderr}")
        self.assertGreater(min(int(decision.received) for decision in stand.decisions(4, "ended")), 20 << 20)

    def test_urllib(self):
        stand = self.allowing()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{stand.port}"}))
        with opener.open(f"http://{ALLOWED}:{self.web.port}/x", timeout=PATIENCE) as answer:
            self.assertIn(b"GET /x\n", answer.read())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            opener.open(f"http://evil.test:{self.web.port}/x", timeout=PATIENCE)
        with refused.exception as answer:
            self.assertEqual(403, answer.code)
            self.assertIn(f"agent-sandbox: egress to evil.test:{self.web.port} is not allowed", answer.read().decode())

    def test_tls_through_a_tunnel(self):
        if shutil.which("openssl") is None:
            self.skipTest("no openssl to make a certificate with")
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = pathlib.Path(folder, "key"), pathlib.Path(folder, "certificate")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", f"/CN={ALLOWED}", "-addext", f"subjectAltName=DNS:{ALLOWED}", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            server = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-key", key, "-cert", certificate, "-www",
                                       "-quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            stand = self.allowing(port)

            def listens():
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0
            eventually(listens)
            for way in ("connect", "socks by name"):
                done = self.curl(*self.ways(stand)[way], "--cacert", str(certificate), f"https://{ALLOWED}:{port}/")
                self.assertEqual(0, done.returncode, f"{way}: {done.stderr}")
                self.assertIn(b"TLSv1.3", done.stdout)

    def test_ends_are_passed_on(self):
        server = self.raw(lambda client: client.sendall(b"got " + read_all(client)))
        stand = self.allowing(server.port)
        with stand.tunnel(f"{ALLOWED}:{server.port}") as client:
            client.sendall(b"all of it")
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(b"got all of it", read_all(client))

    def test_the_other_side_may_end_first(self):
        heard = []

        def serve(client):
            client.sendall(b"that is all")
            client.shutdown(socket.SHUT_WR)
            heard.append(read_all(client))
        server = self.raw(serve)
        with self.allowing(server.port).tunnel(f"{ALLOWED}:{server.port}") as client:
            self.assertEqual(b"that is all", read_all(client))
            client.sendall(b"and more")
            client.shutdown(socket.SHUT_WR)
            eventually(lambda: heard)
        self.assertEqual([b"and more"], heard)

    def test_a_cut_is_no_end(self):
        def serve(client):
            client.sendall(b"the beginning")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.recv(1)
        server = self.raw(serve)
        with self.allowing(server.port).tunnel(f"{ALLOWED}:{server.port}") as client:
            self.assertEqual(b"t", client.recv(1))
            client.sendall(b"x")
            with self.assertRaises(ConnectionResetError):
                read_all(client)

    def test_bytes_before_the_way_is_open(self):
        server = self.raw(lambda client: client.sendall(client.recv(5)))
        request = f"CONNECT {ALLOWED}:{server.port} HTTP/1.1\r\n\r\nearly".encode()
        self.assertTrue(self.allowing(server.port).ask(request).endswith(b"\r\n\r\nearly"))

    # What is refused.

    def connect_status(self, stand, destination):
        return stand.ask(f"CONNECT {destination} HTTP/1.1\r\n\r\n".encode()).split(b" ")[1:2]

    @staticmethod
    def socks(host, port, command=1):
        return b"\x05\x01\x00\x05" + bytes([command]) + b"\x00\x03" + bytes([len(host)]) + host.encode() + struct.pack(">H", port)

    def test_destinations_that_no_rule_names(self):
        port = self.web.port
        stand = self.stand([f"{ALLOWED}:{port}", f"*.below.test:{port}"])
        hosts = ("evil.test", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "localhost",
                 f"{ALLOWED}.evil.test", f"x.{ALLOWED}", "below.test", "169.254.169.254", "10.0.0.1", "8.8.8.8")
        destinations = [f"{host}:{port}" for host in (*hosts, "[::1]", "[::ffff:127.0.0.1]", "[::]", "[fe80::1]")]
        destinations += [f"{ALLOWED}:{port + 1}", f"{ALLOWED}:22"]
        for destination in destinations:
            self.assertEqual([b"403"], self.connect_status(stand, destination), destination)
        for destination in destinations:
            answer = stand.ask(f"GET http://{destination}/ HTTP/1.1\r\nHost: {ALLOWED}:{port}\r\n\r\n".encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 403 "), (destination, answer))
        for host in (*hosts, "::1", "::ffff:127.0.0.1"):
            answer = stand.ask(self.socks(host, port))
            self.assertEqual((b"\x05\x00", 5, 2), (answer[:2], answer[2], answer[3]), host)
        logged = stand.decisions(2 * len(destinations) + len(hosts) + 2)
        self.assertEqual(destinations, [decision.destination for decision in logged[:len(destinations)]])
        self.assertEqual({("", "refused")}, {(decision.address, decision.allowed) for decision in logged})

    def test_socks_by_address(self):
        stand = self.stand([f"{ALLOWED}:{self.web.port}"])
        port = struct.pack(">H", self.web.port)
        for kind, address in ((1, "127.0.0.1"), (4, "::1"), (4, "::ffff:127.0.0.1"), (4, "::ffff:10.0.0.1")):
            packed = socket.inet_pton(socket.AF_INET if kind == 1 else socket.AF_INET6, address)
            answer = stand.ask(b"\x05\x01\x00\x05\x01\x00" + bytes([kind]) + packed + port)
            self.assertEqual(2, answer[3], address)

    def test_a_name_that_leads_to_loopback(self):
        """By this host's own name service."""
        refused = self.stand([f"localhost:{self.web.port}"], addresses=())
        self.assertEqual([b"403"], self.connect_status(refused, f"localhost:{self.web.port}"))
        self.assertIn("loopback", refused.decisions(1)[0].reason)
        allowed = self.stand([f"localhost:{self.web.port}", f"127.0.0.0/8:{self.web.port}"], addresses=())
        with allowed.tunnel(f"localhost:{self.web.port}"):
            self.assertEqual("127.0.0.1", allowed.decisions(1)[0].address)

    def test_a_wide_network_does_not_mean_the_host(self):
        stand = self.stand([f"0.0.0.0/0:{self.web.port}", f"[::/0]:{self.web.port}", f"{ALLOWED}:{self.web.port}"])
        for host in (ALLOWED, "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"):
            self.assertEqual([b"403"], self.connect_status(stand, f"{host}:{self.web.port}"), host)

    def test_a_redirect_to_another_place(self):
        other = WebServer("127.0.0.2")
        self.addCleanup(other.close)
        stand = self.allowing()
        for target in (f"http://127.0.0.2:{other.port}/", "http://169.254.169.254/latest/", f"http://[::1]:{self.web.port}/"):
            for way in ("http", "connect", "socks by name"):
                done = self.curl(*self.ways(stand)[way], "-L", "-w", "%{http_code} %{http_connect}", f"http://{ALLOWED}:{self.web.port}/to?{target}")
                if way == "http":
                    self.assertTrue(done.stdout.endswith(b"403 000"), (target, done.stdout))
                else:
                    self.assertNotEqual(0, done.returncode, (way, target))
                self.assertNotIn(b"GET /", done.stdout)
        refused = [decision for decision in stand.decisions(18) if decision.allowed == "refused"]
        self.assertEqual(9, len(refused))

    def test_commands_of_socks(self):
        stand = self.allowing()
        for command in (2, 3, 9):
            self.assertEqual(7, stand.ask(self.socks(ALLOWED, self.web.port, command))[3])
        self.assertEqual(b"\x05\xff", stand.ask(b"\x05\x01\x02"))
        self.assertEqual(["refused"] * 4, [decision.allowed for decision in stand.decisions(4)])

    def test_what_cannot_be_read(self):
        stand = self.allowing()
        host = f"{ALLOWED}:{self.web.port}"
        get = f"GET http://{host}/ HTTP/1.1\r\n"
        for request in (f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", f"GET http://u:p@{host}/ HTTP/1.1\r\n\r\n",
                        f"CONNECT u@{host} HTTP/1.1\r\n\r\n", get + "A: b\r\n c\r\n\r\n", get + "A : b\r\n\r\n",
                        get + "A: b\nC: d\r\n\r\n", get + "A: b\0\r\n\r\n", get + "A: b\rc\r\n\r\n", "\x16\x03\x01\x02",
                        f"GET http://{host}/\0 HTTP/1.1\r\n\r\n", f"GET http://{host}/ HTTP/2.0\r\n\r\n", "CONNECT a\r\n\r\n"):
            answer = stand.ask(request.encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), (request, answer))
        self.assertTrue(stand.ask((get + "A: " + "a" * 70000).encode()).startswith(b"HTTP/1.1 431 "))
        self.assertEqual({"refused"}, {decision.allowed for decision in stand.decisions(13)})

    def test_an_answer_outlives_what_is_still_sent(self):
        """Who is refused while it sends its body still gets to see why."""
        stand = self.allowing()
        for _ in range(20):
            with stand.connect() as client:
                client.sendall(b"POST http://evil.test/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + bytes(200000))
                self.assertIn(b" 403 ", read_all(client))

    def test_nobody_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        stand = self.allowing(port)
        self.assertEqual([b"502"], self.connect_status(stand, f"{ALLOWED}:{port}"))
        self.assertEqual(5, stand.ask(self.socks(ALLOWED, port))[3])
        for decision in stand.decisions(2):
            self.assertEqual(("allowed", "", "Connection refused"), (decision.allowed, decision.address, decision.reason))
        unknown = self.stand(["no-such-name.invalid:80"])
        self.assertEqual([b"502"], self.connect_status(unknown, "no-such-name.invalid:80"))
        self.assertEqual(4, unknown.ask(self.socks("no-such-name.invalid", 80))[3])

    def test_slow_heads(self):
        stand = self.allowing()
        began = time.monotonic()
        with stand.connect() as slow, stand.connect() as silent, stand.connect() as socks:
            slow.sendall(b"CONNECT ")
            socks.sendall(b"\x05\x01\x00")
            self.assertIn(b" 408 ", read_all(slow))
            self.assertEqual(b"", read_all(silent))
            self.assertEqual(b"\x05\x00\x05\x01", read_all(socks)[:4])
        self.assertGreater(time.monotonic() - began, 9)

    def test_idle_connections_are_cut(self):
        server = self.raw(read_all)
        stand = self.allowing(server.port, idle=1)
        with stand.tunnel(f"{ALLOWED}:{server.port}") as client, self.assertRaises(ConnectionResetError):
            read_all(client)

    # What one jail may do to others, and to the proxy.

    def test_connections_of_a_jail_have_a_bound(self):
        server = self.raw(read_all)
        stand = self.allowing(server.port, connections=4, jails=2)
        destination = f"{ALLOWED}:{server.port}"
        held = [stand.tunnel(destination) for _ in range(4)]
        for _ in range(3):
            self.assertEqual([b"503"], self.connect_status(stand, destination))
        stand.tunnel(destination, jail=1).close()
        held.pop().close()
        eventually(lambda: self.connect_status_or_tunnel(stand, destination))
        for client in held:
            client.close()

    @staticmethod
    def connect_status_or_tunnel(stand, destination):
        try:
            stand.tunnel(destination).close()
            return True
        except ConnectionError:
            return False

    def test_many_at_once(self):
        stand = self.allowing()

        def get(_):
            answer = stand.ask(f"GET http://{ALLOWED}:{self.web.port}/ HTTP/1.1\r\n\r\n".encode())
            return answer.split(b" ")[1]
        with concurrent.futures.ThreadPoolExecutor(150) as pool:
            self.assertEqual({b"200", b"503"}, set(pool.map(get, range(1500))))
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            self.assertEqual({b"200"}, set(pool.map(get, range(600))))

    def test_who_does_not_read_costs_no_memory(self):
        def serve(client):
            while True:
                client.sendall(bytes(1 << 16))
        server = self.raw(serve)
        stand = self.allowing(server.port)
        stand.tunnel(f"{ALLOWED}:{server.port}").close()
        before = int(stand.status("VmRSS"))
        with stand.tunnel(f"{ALLOWED}:{server.port}"):
            time.sleep(1)
            used = stand.processor_seconds()
            time.sleep(1)
            self.assertLess(stand.processor_seconds() - used, 0.2)
            self.assertLess(int(stand.status("VmRSS")) - before, 2048)

    def test_nothing_turns_without_work(self):
        """Ends that are half closed, refused, left or reset: while nothing moves, no time is used."""
        server = self.raw(lambda client: (client.shutdown(socket.SHUT_WR), time.sleep(PATIENCE)))
        stand = self.allowing(server.port)
        with stand.tunnel(f"{ALLOWED}:{server.port}") as client, stand.tunnel(f"{ALLOWED}:{server.port}") as half, stand.connect():
            self.assertEqual(b"", read_all(client))
            half.shutdown(socket.SHUT_WR)
            used = stand.processor_seconds()
            time.sleep(1)
            self.assertLess(stand.processor_seconds() - used, 0.2)

    def test_a_flood_holds_nobody_up(self):
        stand = self.allowing(jails=2)
        stop = threading.Event()

        def flood():
            while not stop.is_set():
                with stand.connect() as client:
                    client.sendall(f"GET http://{ALLOWED}:{self.web.port}/big?{8 << 20} HTTP/1.1\r\n\r\n".encode())
                    read_all(client)
        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                began = time.monotonic()
                self.assertEqual([b"403"], stand.ask(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n", jail=1).split(b" ")[1:2])
                self.assertLess(time.monotonic() - began, 10)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_no_descriptor_is_left(self):
        """Two thousand connections through a proxy that may have 64 descriptors."""
        stand = self.allowing(limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        good = f"GET http://{ALLOWED}:{self.web.port}/ HTTP/1.1\r\n\r\n".encode()
        for i in range(400):
            self.assertIn(b" 200 ", stand.ask(good))
            self.assertIn(b" 403 ", stand.ask(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n"))
            self.assertEqual(2, stand.ask(self.socks("evil.test", 1))[3])
            with stand.connect() as client:
                client.sendall(good[:20] if i % 2 else b"")
            with stand.connect() as client:
                client.sendall(good)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertIn(b" 200 ", stand.ask(good))

    def test_a_shortage_of_descriptors_passes(self):
        stand = self.allowing(limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)), jails=2)
        held = [stand.connect() for _ in range(60)]
        time.sleep(0.5)
        used = stand.processor_seconds()
        time.sleep(1)
        self.assertLess(stand.processor_seconds() - used, 0.3)
        for client in held:
            client.close()
        for jail in (0, 1):
            self.assertIn(b" 200 ", stand.ask(f"GET http://{ALLOWED}:{self.web.port}/ HTTP/1.1\r\n\r\n".encode(), jail))

    def test_decisions_that_nobody_takes(self):
        stand = self.allowing()
        stand.say("pause")
        for _ in range(60):
            with stand.connect() as client:
                client.sendall(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n")
                self.assertIn(b" 403 ", read_all(client))
        stand.say("resume")
        self.assertEqual(60, len(stand.decisions(60)))

    # The end.

    def test_all_ends_with_the_jail(self):
        server = self.raw(read_all)
        stand = self.allowing(server.port, jails=2)
        destination = f"{ALLOWED}:{server.port}"
        with stand.tunnel(destination) as one, stand.tunnel(destination) as two, stand.tunnel(destination, jail=1) as other:
            stand.say("close 0")
            for client in (one, two):
                try:
                    self.assertEqual(b"", read_all(client))
                except ConnectionResetError:
                    pass
            with self.assertRaises(ConnectionError):
                stand.connect()
            other.sendall(b"still there")
            stand.tunnel(destination, jail=1).close()
        self.assertEqual(2, len([decision for decision in stand.decisions(2, "ended") if decision.jail == "jail-0"]))

    def test_its_end_is_told(self):
        stand = self.allowing()
        stand.say("kill")
        self.assertTrue(stand.wait_for(lambda lines: "closed" in lines))

    def test_it_ends_with_who_started_it(self):
        stand = self.allowing()
        stand.process.kill()
        eventually(lambda: not pathlib.Path(f"/proc/{stand.pid}").exists()
                   or ") Z " in pathlib.Path(f"/proc/{stand.pid}/stat").read_text(encoding="ascii"))

    def test_what_it_may_do(self):
        stand = self.allowing()
        self.assertEqual([b"403"], self.connect_status(stand, "evil.test:1"))
        self.assertEqual("1", stand.status("NoNewPrivs"))
        self.assertEqual("5", stand.status("Threads"))
        if os.geteuid() == 0:
            self.assertEqual(b"", pathlib.Path(f"/proc/{stand.pid}/environ").read_bytes())
        else:
            with self.assertRaises(PermissionError):
                pathlib.Path(f"/proc/{stand.pid}/environ").read_bytes()
