"""WS /v1/sandboxes/{id}/tunnel: the bytes of a TCP connection to a server in a sandbox."""
import asyncio
import contextlib
import hashlib
import math
import os
import socket
import time

import host_view
import live_server
import time_scale
from living_sandbox import Sandbox
from sandbox_tunnel import BREAK, DEAF, ECHO, FLOOD, SINK, SOURCE, STORE, WATCH, TunnelTest, pattern, serve_in, websockets


class Bytes(TunnelTest):
    def test_they_go_both_ways_and_each_side_ends_by_itself(self):
        async def talk():
            async with self.open(sandbox, ECHO) as tunnel:
                for text in (b"one", b"", b"\0\r\n\xff", b"x" * 300_000):
                    await tunnel.socket.send(text)
                    self.assertEqual(text, await tunnel.until(len(text)))
                await tunnel.end()
                self.assertEqual(b"bye", await tunnel.rest())
                self.assertEqual((1000, ""), await tunnel.closed())

        sandbox = self.with_servers()
        asyncio.run(talk())

    def test_a_hundred_megabytes_each_way(self):
        size = 100 << 20
        sent = os.urandom(1 << 20)

        async def put():
            async with self.open(sandbox, SINK) as tunnel:
                for _ in range(size >> 20):
                    await tunnel.socket.send(sent)
                await tunnel.end()
                return (await tunnel.rest()).decode()

        async def get():
            async with self.open(sandbox, SOURCE) as tunnel:
                await tunnel.socket.send(b"%d\n" % size)
                had = hashlib.sha256()
                while not tunnel.has_ended:
                    await tunnel.take()
                    had.update(tunnel.seen)
                    tunnel.seen = b""
                return had.hexdigest()

        sandbox = self.with_servers()
        self.assertEqual(f"{size} {hashlib.sha256(sent * (size >> 20)).hexdigest()}", asyncio.run(put()))
        self.assertEqual(hashlib.sha256(pattern(size)).hexdigest(), asyncio.run(get()))

    def test_a_store_that_speaks_the_protocol_of_redis(self):
        async def talk():
            async with self.open(sandbox, STORE) as tunnel:
                for asked, answer in ((b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"), (b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n\r\n\r\n", b"+OK\r\n"),
                                      (b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", b"$2\r\n\r\n\r\n"), (b"*2\r\n$3\r\nGET\r\n$1\r\nb\r\n", b"$-1\r\n")):
                    await tunnel.socket.send(asked)
                    self.assertEqual(answer, await tunnel.until(len(answer)))

        sandbox = self.with_servers()
        asyncio.run(talk())

    def test_messages_in_fragments(self):
        async def talk():
            async with self.open(sandbox, ECHO) as tunnel:
                await tunnel.socket.send([b"a" * 70_000, b"b", b"", b"c" * 70_000])
                self.assertEqual(b"a" * 70_000 + b"b" + b"c" * 70_000, await tunnel.until(140_001))
                await tunnel.socket.send(['{"type":', '"end"}'])
                self.assertEqual(b"bye", await tunnel.rest())

        sandbox = self.with_servers()
        asyncio.run(talk())


class Ends(TunnelTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.with_servers()

    def ends(self):
        return self.sandbox.get("/workspace/ends").body.decode().split()

    def assert_end_inside(self, end):
        self.assertTrue(host_view.wait_until(lambda: self.ends() == [end], 20), self.ends())

    def test_a_server_inside_that_breaks_off(self):
        async def talk():
            async with self.open(self.sandbox, BREAK) as tunnel:
                self.assertEqual(b"about to break", await tunnel.until(14))
                await tunnel.socket.send(b"now")
                return await tunnel.closed()

        self.assertEqual((4002, "the server in the sandbox broke the connection off"), asyncio.run(talk()))

    def test_a_server_inside_that_breaks_off_while_bytes_come(self):
        async def talk():
            async with self.open(self.sandbox, BREAK) as tunnel:
                sending = asyncio.create_task(tunnel.send_without_end())
                code = (await tunnel.closed())[0]
                await sending
                return code, tunnel.seen

        self.assertEqual((4002, b"about to break"), asyncio.run(talk()))

    def test_a_client_that_says_end(self):
        async def talk():
            async with self.open(self.sandbox, WATCH) as tunnel:
                await tunnel.until(8)
                await tunnel.end()
                return await tunnel.closed()

        self.assertEqual((1000, ""), asyncio.run(talk()))
        self.assert_end_inside("end")

    def test_a_client_that_says_goodbye(self):
        async def talk():
            async with self.open(self.sandbox, WATCH) as tunnel:
                await tunnel.until(8)

        asyncio.run(talk())
        self.assert_end_inside("end")

    def test_a_client_that_vanishes(self):
        async def talk():
            tunnels = contextlib.AsyncExitStack()
            tunnel = await tunnels.enter_async_context(self.open(self.sandbox, WATCH))
            await tunnel.until(8)
            tunnel.socket.transport.abort()
            with contextlib.suppress(websockets.ConnectionClosed):  # so ends a later version of the client
                await tunnels.aclose()

        asyncio.run(talk())
        self.assert_end_inside("reset")

    def test_the_end_of_the_sandbox(self):
        async def talk():
            async with self.open(self.sandbox, WATCH) as tunnel:
                await tunnel.until(8)
                deleted = await asyncio.to_thread(self.sandbox.delete)
                self.assertEqual(204, deleted.status, deleted)
                return await tunnel.closed()

        self.assertEqual((4001, "the sandbox has ended"), asyncio.run(talk()))

    def test_the_end_of_the_sandbox_is_no_end_of_the_bytes(self):
        def deleted(sandbox):
            self.assertEqual(204, sandbox.delete().status)

        def out_of_memory(sandbox):
            sandbox.start(["python3", "-c", "kept = []\nwhile True: kept.append(b'x' * 1_000_000)"])

        async def talk(sandbox, end):
            async with self.open(sandbox, FLOOD) as flooding, self.open(sandbox, WATCH) as idle:
                await flooding.until(1_000_000)
                await idle.until(8)
                await asyncio.to_thread(end, sandbox)
                return [(await each.closed(), each.has_ended) for each in (flooding, idle)]

        for end in (deleted, out_of_memory):
            for _ in range(3):
                sandbox = self.with_servers(limits={"memory_mb": 256})
                self.assertEqual([((4001, "the sandbox has ended"), False)] * 2, asyncio.run(talk(sandbox, end)), end.__name__)

    def test_messages_that_mean_nothing(self):
        async def talk(*messages):
            async with self.open(self.sandbox, ECHO) as tunnel:
                for message in messages:
                    await tunnel.socket.send(message)
                return (await tunnel.closed())[0]

        for messages in (["x"], ["{}"], ['{"type":"stop"}'], ["x" * 5000], ["[" * 900], ['{"type":"end"}', b"more"]):
            self.assertIn(asyncio.run(talk(*messages)), (1008, 1000) if len(messages) > 1 else (1008,), messages)

    def test_a_server_that_stops(self):
        server = live_server.LiveServer(environment=self.environment)
        self.addCleanup(server.stop)

        async def talk():
            with server.client() as client:
                sandbox = serve_in(Sandbox(client, client.post({}, "/v1/sandboxes").json))
            self.server, own = server, self.server
            try:
                async with self.open(sandbox, WATCH) as tunnel:
                    await tunnel.until(8)
                    stopping = asyncio.create_task(asyncio.to_thread(server.stop))
                    code = (await tunnel.closed())[0]
                    self.assertEqual(0, await stopping)
                    return code, tunnel.has_ended
            finally:
                self.server = own

        self.assertEqual((1001, False), asyncio.run(talk()))


class Pressure(TunnelTest):
    def setUp(self):
        super().setUp()
        self.sandbox = self.with_servers()

    def assert_little_memory(self):
        most = (240 if host_view.has_sanitizer(self.server.pid) else 120) << 20
        self.assertLess(host_view.resident_bytes(self.server.pid), most)

    def raw(self, port):
        """A connection that has become a tunnel, of which nothing more is read by itself."""
        connection = socket.create_connection(("127.0.0.1", self.server.port))
        self.addCleanup(connection.close)
        connection.settimeout(time_scale.scaled(30))
        connection.sendall((f"GET {self.path(self.sandbox, port)} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        return connection, head

    def test_a_reader_that_is_slow_holds_the_guest_up(self):
        connection, head = self.raw(FLOOD)
        self.assertIn(b" 101 ", head)
        self.assertTrue(host_view.wait_until(lambda: self.sandbox.get("/workspace/stuck").status == 200, 20))
        self.assert_little_memory()
        had = 0
        while had < 200 << 20:
            had += len(connection.recv(1 << 20))
        self.assert_little_memory()

    def test_a_guest_that_does_not_read_holds_the_client_up(self):
        connection, head = self.raw(DEAF)
        self.assertIn(b" 101 ", head)
        connection.settimeout(time_scale.scaled(2))
        frame = b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0"
        connection.sendall(frame)
        sent = 0
        with self.assertRaises(TimeoutError):
            while sent < 1 << 30:
                sent += connection.send(b"x" * (1 << 20))
        self.assertLess(sent, 64 << 20)
        self.assert_little_memory()

    def test_a_client_that_sends_for_long_sees_why_it_ended(self):
        connection, head = self.raw(BREAK)
        self.assertIn(b" 101 ", head)
        connection.sendall(b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0")
        # A slow host may keep a client from looking for as long as this.
        end = time.monotonic() + 5
        while time.monotonic() < end:
            connection.sendall(b"x" * 65536)
        reason = b"the server in the sandbox broke the connection off"
        told = b""
        while not told.endswith(reason):
            piece = connection.recv(65536)
            self.assertNotEqual(b"", piece, told)
            told += piece
        self.assertTrue(told.endswith((4002).to_bytes(2, "big") + reason), told)

    def test_tunnels_of_a_sandbox_are_bounded(self):
        opened = [self.raw(WATCH) for _ in range(64)]
        self.assertTrue(all(b" 101 " in head for _, head in opened))
        answer = self.ask(self.sandbox, WATCH)
        self.assert_problem(503, "busy", answer, "too many connections")
        opened[0][0].close()
        self.assertTrue(host_view.wait_until(lambda: b" 101 " in self.raw(WATCH)[1], 20))


class Silence(TunnelTest):
    # Ten times as long as this a guest may leave bytes where they are.
    environment = {**TunnelTest.environment, "SANDBOX_PORTS_TIMEOUT_SECONDS": f"{math.ceil(time_scale.scaled(1))}"}

    def test_a_guest_that_takes_nothing_is_given_up_and_one_that_says_nothing_is_not(self):
        async def talk():
            async with self.open(sandbox, ECHO) as silent, self.open(sandbox, DEAF) as deaf:
                sending = asyncio.create_task(deaf.send_without_end())
                self.assertEqual((4003, "the server in the sandbox takes no bytes"), await deaf.closed())
                await sending
                await silent.socket.send(b"here")
                self.assertEqual(b"here", await silent.until(4))

        sandbox = self.with_servers()
        asyncio.run(talk())


class Pauses(TunnelTest):
    def test_a_paused_sandbox_is_resumed(self):
        async def talk():
            async with self.open(sandbox, ECHO) as tunnel:
                await tunnel.socket.send(b"awake")
                self.assertEqual(b"awake", await tunnel.until(5))

        sandbox = self.with_servers()
        sandbox.pause()
        asyncio.run(talk())
        self.assertEqual("running", sandbox.now()["state"])

    def test_bytes_wait_while_it_is_paused(self):
        async def talk():
            async with self.open(sandbox, ECHO) as tunnel:
                await asyncio.to_thread(sandbox.pause)
                await tunnel.socket.send(b"later")
                await asyncio.to_thread(sandbox.ask_to, "resume")
                self.assertEqual(b"later", await tunnel.until(5))

        sandbox = self.with_servers()
        asyncio.run(talk())


class Refused(TunnelTest):
    def test_ports_that_are_none(self):
        sandbox = self.make()
        for port in ("", "0", "65536", "-1", "08000", "x", "80%20", "1e3"):
            self.assert_problem(400, "bad_request", self.ask(sandbox, port), "port: expected 1 .. 65535")
        self.assertEqual(400, self.client.send("GET", f"{sandbox.path}/tunnel").status)
        self.assert_problem(400, "unknown_field", self.ask(sandbox, ECHO, "&host=x"), "host")
        self.assertEqual(400, self.ask(sandbox, f"{ECHO}&port={ECHO}").status)

    def test_where_nobody_listens(self):
        sandbox = self.make()
        self.assert_problem(502, "port_closed", self.ask(sandbox, ECHO), "7001", "nobody listens")
        with socket.create_server(("127.0.0.1", 0)) as host:
            self.assert_problem(502, "port_closed", self.ask(sandbox, host.getsockname()[1]))

    def test_ports_that_lead_out(self):
        self.assert_problem(403, "port_reserved", self.ask(self.make(), 3129), "secrets")

    def test_what_is_no_websocket(self):
        sandbox = self.make()
        self.assert_problem(426, "upgrade_required", self.client.send("GET", self.path(sandbox, ECHO)), "WebSocket")
        self.assertEqual(405, self.client.send("POST", self.path(sandbox, ECHO), b"{}", **{"Content-Type": "application/json"}).status)
        self.assertEqual(400, self.ask(sandbox, ECHO, **{"Sec-WebSocket-Key": "short"}).status)
        self.assert_problem(403, "other_site", self.ask(sandbox, ECHO, Origin="https://evil.test"))

    def test_sandboxes_that_are_none(self):
        sandbox = self.make()
        sandbox.delete()
        self.assert_problem(409, "sandbox_ended", self.ask(sandbox, ECHO))
        sandbox.delete()
        self.assert_problem(404, "no_such_sandbox", self.ask(sandbox, ECHO))

    def test_one_that_only_resume_wakes(self):
        sandbox = self.make(auto_resume=False)
        sandbox.pause()
        self.assert_problem(409, "sandbox_paused", self.ask(sandbox, ECHO))


class Shares(TunnelTest):
    # Half of these may be connections to ports, and half of that is for one of several owners.
    environment = {**TunnelTest.environment, "API_KEYS": "k-one,k-two", "API_MAX_CONNECTIONS": "24"}

    def test_one_owner_leaves_the_others_their_share(self):
        first, second = self.client_with("k-one"), self.client_with("k-two")
        sandboxes = [self.with_servers(first), self.with_servers(first)]
        other = self.with_servers(second)

        def open_one(stack, sandbox):
            return stack.enter_async_context(self.open(sandbox, WATCH, f"&access_token={sandbox.made['access_token']}"))

        async def talk():
            async with contextlib.AsyncExitStack() as stack:
                opened = [await open_one(stack, sandboxes[number % 2]) for number in range(6)]
                answer = await asyncio.to_thread(self.ask, sandboxes[0], WATCH, client=first)
                self.assert_problem(429, "caller_limit", answer, "of this caller's sandboxes")
                self.assertEqual((6, 6), (answer.json["limit"], answer.json["used"]))
                tunnel = await open_one(stack, other)
                self.assertEqual(b"watching", await tunnel.until(8))
                await opened[0].socket.close()
                # Nobody listens there, which is found out only where there is a place.
                has_place = lambda: self.ask(sandboxes[0], 7999, client=first).status == 502
                self.assertTrue(await asyncio.to_thread(host_view.wait_until, has_place, 20))

        asyncio.run(talk())


class Rights(TunnelTest):
    environment = {**TunnelTest.environment, "API_KEYS": "k-one,k-two"}

    def test_its_owner_and_whoever_has_its_token(self):
        owner, other = self.client_with("k-one"), self.client_with("k-two")
        sandbox = self.make(owner)
        token = sandbox.made["access_token"]
        self.assert_problem(404, "no_such_sandbox", self.ask(sandbox, ECHO, client=other))
        self.assert_problem(401, "unauthorized", self.ask(sandbox, ECHO))
        self.assert_problem(401, "unauthorized", self.ask(sandbox, ECHO, "&access_token=wrong"))
        for answer in (self.ask(sandbox, ECHO, client=owner), self.ask(sandbox, ECHO, f"&access_token={token}"),
                       self.ask(sandbox, ECHO, **{"X-Access-Token": token})):
            self.assert_problem(502, "port_closed", answer)
        self.assert_problem(401, "unauthorized", self.ask(self.make(other), ECHO, f"&access_token={token}"))

    def test_a_renewed_token_ends_what_the_old_one_opened(self):
        async def talk():
            async with self.open(sandbox, ECHO, f"&access_token={token}") as by_token, \
                    self.open(sandbox, ECHO, extra_headers={"Authorization": "Bearer k-one"}) as by_key:
                for tunnel in (by_token, by_key):
                    await tunnel.socket.send(b"x")
                    await tunnel.until(1)
                self.assertEqual(200, (await asyncio.to_thread(sandbox.ask_to, "token")).status)
                self.assertEqual((1008, "the access token was renewed"), await by_token.closed())
                await by_key.socket.send(b"still here")
                self.assertEqual(b"still here", await by_key.until(10))

        sandbox = self.with_servers(self.client_with("k-one"))
        token = sandbox.made["access_token"]
        asyncio.run(talk())

    def test_nothing_of_the_handshake_goes_in(self):
        async def talk():
            async with self.open(sandbox, ECHO, f"&access_token={sandbox.made['access_token']}") as tunnel:
                await tunnel.end()
                return await tunnel.rest()

        sandbox = self.with_servers(self.client_with("k-one"))
        self.assertEqual(b"bye", asyncio.run(talk()))


if __name__ == "__main__":
    live_server.main()
