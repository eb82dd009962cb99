"""The effects of one jail on others and on the proxy, and all ways in which connections end."""
import concurrent.futures
import os
import pathlib
import resource
import socket
import struct
import threading
import time

from stand import ALLOWED, PATIENCE, EgressTest, eventually, read_all


class Bounds(EgressTest):
    # The effects of one jail on others, and on the proxy.

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

    def test_idle_connections_use_no_processor_time(self):
        """Connections that are half closed by the server or the client, or silent, cost no processor time."""
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
        self.assertEqual("1", stand.status("Threads"))
        self.assertEqual("2", stand.status("Seccomp"))
        if os.geteuid() == 0:
            self.assertEqual(b"", pathlib.Path(f"/proc/{stand.pid}/environ").read_bytes())
        else:
            with self.assertRaises(PermissionError):
                pathlib.Path(f"/proc/{stand.pid}/environ").read_bytes()
