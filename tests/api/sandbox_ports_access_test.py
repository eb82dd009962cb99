"""Servers that run in a sandbox: who may reach them, what is kept out, and what a browser is protected from."""
import json

import live_server
from sandbox_port import COOKIE, DOMAIN, PORT, PortTest, lines_of


class Isolation(PortTest):
    hostile = ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b\r\nService-Worker-Allowed: /\r\nClear-Site-Data: \"*\"\r\n"
               "Strict-Transport-Security: max-age=1\r\nAlt-Svc: h2=\":1\"\r\nAccess-Control-Allow-Origin: *\r\n"
               "Access-Control-Allow-Credentials: true\r\nReport-To: {}\r\nReporting-Endpoints: a=\"b\"\r\nNEL: {}\r\n"
               "WWW-Authenticate: Basic\r\nX-Accel-Redirect: /etc/passwd\r\nX-Sendfile: /etc/passwd\r\n"
               "Content-Security-Policy: sandbox allow-same-origin allow-scripts\r\nX-Content-Type-Options: none\r\n"
               "Cross-Origin-Resource-Policy: same-site\r\nReferrer-Policy: unsafe-url\r\nX-Request-Id: mine\r\n"
               "Connection: X-Hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\nCache-Control: public, max-age=9\r\n"
               "Refresh: 5\r\nMcp-Session-Id: 7\r\n\r\n")

    def test_by_path_it_has_no_origin(self):
        headers = self.raw(self.hostile).headers
        for name in ("Set-Cookie", "Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc",
                     "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Report-To",
                     "Reporting-Endpoints", "NEL", "WWW-Authenticate", "X-Accel-Redirect", "X-Sendfile", "X-Hop",
                     "Proxy-Authenticate"):
            self.assertIsNone(headers[name], name)
        # Several policies hold together, so the one without allow-same-origin decides.
        self.assertIn("sandbox allow-scripts allow-forms", headers.get_all("Content-Security-Policy"))
        self.assertEqual((["nosniff"], ["cross-origin"], ["no-referrer"], "5", "7"), (
            headers.get_all("X-Content-Type-Options"), headers.get_all("Cross-Origin-Resource-Policy"),
            headers.get_all("Referrer-Policy"), headers["Refresh"], headers["Mcp-Session-Id"]))
        self.assertNotEqual("mine", headers["X-Request-Id"])
        self.assertEqual(["public, max-age=9", "private"], headers.get_all("Cache-Control"))

    def test_every_answer_by_path_is_isolated(self):
        for answer in (self.ask(), self.raw("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"),
                       self.raw("HTTP/1.1 304 X\r\n\r\n"), self.raw("HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n")):
            self.assertEqual(["sandbox allow-scripts allow-forms"], answer.headers.get_all("Content-Security-Policy"))

    def test_by_name_it_has_an_origin_of_its_own(self):
        headers = self.by_name(f"/raw?{self.hostile.encode().hex()}").headers
        self.assertEqual(["a=b"], headers.get_all("Set-Cookie"))
        self.assertEqual(["sandbox allow-same-origin allow-scripts"], headers.get_all("Content-Security-Policy"))
        for name in ("Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "X-Accel-Redirect", "X-Sendfile", "NEL"):
            self.assertIsNone(headers[name], name)

    def test_cookies_by_name_are_for_this_name_alone(self):
        sent = (f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b; Path=/; domain={DOMAIN}; HttpOnly\r\n"
                f"Set-Cookie: {COOKIE}=stolen\r\nSet-Cookie:  {COOKIE} =stolen; Path=/x\r\n\r\n")
        self.assertEqual(["a=b; Path=/; HttpOnly"],
                         self.by_name(f"/raw?{sent.encode().hex()}").headers.get_all("Set-Cookie"))

    def test_redirections_stay_below_the_port(self):
        for location, seen in (("/login", self.path("/login")), (f"http://localhost:{PORT}/a", self.path("/a")),
                               (f"http://127.0.0.1:{PORT}", self.path("/")), ("next", "next"),
                               ("https://example.org/", "https://example.org/"),
                               (f"http://localhost:{PORT}0/", f"http://localhost:{PORT}0/")):
            answer = self.raw(f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {location}\r\n\r\n")
            self.assertEqual((302, seen), (answer.status, answer.headers["Location"]))

    def test_no_service_worker_comes_from_below_our_origin(self):
        self.assertEqual(403, self.ask(**{"Service-Worker": "script"}).status)
        self.assertEqual(200, self.by_name(**{"Service-Worker": "script"}).status)

    def test_pages_of_other_sites_do_not_reach_it(self):
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.test"},
                        {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}):
            for ask in (self.ask, self.by_name):
                self.assertEqual(403, ask(**headers).status, headers)
        for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
            self.assertEqual(200, self.ask(**headers).status, headers)
        self.assertEqual(200, self.ask(**{"Sec-Fetch-Site": "cross-site",
                                          "X-Access-Token": self.sandbox.made["access_token"]}).status)

    def test_names_that_were_rebound(self):
        self.assertEqual(421, self.client.send("GET", self.path(), Host="evil.test").status)
        for host in (f"{PORT}-{self.sandbox.id}.evil.test", f"{PORT}-{self.sandbox.id}.x.{DOMAIN}", DOMAIN,
                     f"{PORT}{self.sandbox.id}.{DOMAIN}", f"0-{self.sandbox.id}.{DOMAIN}", f"evil.test/{self.name()}"):
            self.assertEqual(421, self.client.send("GET", "/echo", Host=host).status, host)

    def test_by_name_nothing_else_is_served(self):
        told = self.by_name("/v1/sandboxes").json
        self.assertEqual("GET /v1/sandboxes HTTP/1.1", told["request"])
        self.assertEqual([self.name()], lines_of(told, "Host"))
        self.assertEqual([], lines_of(told, "X-Forwarded-Prefix"))
        self.assertEqual(200, self.by_name(Host=f"{self.name().upper()}:80").status)


class Tokens(PortTest):
    environment = {**PortTest.environment, "API_KEYS": "the-key,another-key"}

    def setUp(self):
        live_server.ServerTest.setUp(self)
        self.owner = self.client_with("the-key")
        self.sandbox = self.with_server(self.owner)
        self.token = self.sandbox.made["access_token"]

    def test_a_token_is_in_the_answers_to_its_owner(self):
        self.assertRegex(self.token, "^[a-z2-7]{26}$")
        self.assertEqual(self.token, self.sandbox.now()["access_token"])
        self.assertNotEqual(self.token, self.make(self.owner).made["access_token"])
        self.assertNotIn(self.token, self.owner.send("GET", "/v1/sandboxes").body.decode())
        self.assertEqual(404, self.client_with("another-key").send("GET", self.sandbox.path).status)

    def test_who_may_ask(self):
        other = self.make(self.owner).made["access_token"]
        for status, headers, query in ((401, {}, ""), (200, {"X-API-Key": "the-key"}, ""),
                                       (200, {"Authorization": "Bearer the-key"}, ""),
                                       (404, {"X-API-Key": "another-key"}, ""), (401, {"X-API-Key": "wrong"}, ""),
                                       (200, {"X-Access-Token": self.token}, ""), (401, {"X-Access-Token": other}, ""),
                                       (401, {"X-Access-Token": ""}, ""), (401, {"X-Access-Token": self.token[:-1]}, ""),
                                       (401, {"Authorization": f"Bearer {self.token}"}, ""),
                                       (200, {}, f"?access_token={self.token}"), (401, {}, f"?access_token={other}"),
                                       (200, {"X-Access-Token": other, "X-API-Key": "the-key"}, "")):
            for ask in (self.ask, self.by_name):
                with self.subTest(f"{headers} {query} {ask.__name__}"):
                    self.assertEqual(status, ask(f"/echo{query}", **headers).status)

    def test_a_token_that_was_renewed_opens_nothing(self):
        cookie = {"Cookie": f"{COOKIE}={self.token}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(200, self.by_name("/echo", **cookie).status)
        self.assertEqual(404, self.client_with("another-key").send("POST", f"{self.sandbox.path}/token").status)
        self.assertEqual(401, self.client.send("POST", f"{self.sandbox.path}/token", **{"X-Access-Token": self.token}).status)
        self.assertEqual(400, self.owner.post({"access_token": "mine"}, f"{self.sandbox.path}/token").status)
        self.assertEqual(200, self.ask("/echo", **{"X-Access-Token": self.token}).status)
        answer = self.owner.send("POST", f"{self.sandbox.path}/token")
        self.assertEqual(200, answer.status, answer)
        renewed = answer.json["access_token"]
        self.assertRegex(renewed, "^[a-z2-7]{26}$")
        self.assertNotEqual(self.token, renewed)
        self.assertEqual(renewed, self.sandbox.now()["access_token"])
        for ask in (self.ask, self.by_name):
            self.assertEqual(401, ask("/echo", **{"X-Access-Token": self.token}).status)
            self.assertEqual(401, ask(f"/echo?access_token={self.token}").status)
            self.assertEqual(200, ask("/echo", **{"X-Access-Token": renewed}).status)
        self.assertEqual(401, self.by_name("/echo", **cookie).status)
        events = self.owner.send("GET", f"{self.sandbox.path}/events?kind=changed")
        self.assertEqual([{"access_token": "renewed"}], [event["detail"] for event in events.json["events"]])
        self.assertNotIn(renewed.encode(), events.body)
        self.sandbox.delete()
        self.assertEqual(409, self.owner.send("POST", f"{self.sandbox.path}/token").status)

    def test_a_token_opens_ports_alone(self):
        for method, path in (("GET", self.sandbox.path), ("DELETE", self.sandbox.path), ("GET", "/v1/sandboxes"),
                             ("GET", f"{self.sandbox.path}/files/workspace")):
            self.assertEqual(401, self.client.send(method, path, **{"X-Access-Token": self.token}).status)
        self.assertEqual(401, self.client.send("GET", f"/v1/sandboxes/no-such/ports/{PORT}/",
                                               **{"X-Access-Token": self.token}).status)

    def test_no_credential_goes_in(self):
        for ask in (self.ask, self.by_name):
            for headers in ({"X-API-Key": "the-key"}, {"Authorization": "Bearer the-key"}, {"X-Access-Token": self.token},
                            {"X-Access-Token": self.token, "Authorization": "bearer the-key", "X-API-Key": "the-key"},
                            {"X-Access-Token": self.token, "Cookie": f"{COOKIE}={self.token}; {COOKIE}={self.token}"},
                            {"X-Access-Token": self.token, "Referer": f"http://x/?access_token={self.token}"}):
                answer = ask(f"/echo?a=1&access_token={self.token}&b=2&access_token=", **headers)
                self.assertEqual(200, answer.status)
                for secret in ("the-key", self.token, "access_token"):
                    self.assertNotIn(secret.encode(), answer.body, headers)
                self.assertEqual("GET /echo?a=1&b=2 HTTP/1.1", answer.json["request"])

    def test_a_password_of_the_server_inside_goes_in(self):
        told = self.echo(**{"X-Access-Token": self.token, "Authorization": "Basic eDp5"})
        self.assertEqual(["Basic eDp5"], lines_of(told, "Authorization"))

    def test_who_shows_no_token_that_opens_is_told_none(self):
        page = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none", "X-API-Key": "the-key"}
        answer = self.ask("/echo?access_token=an-older-one", **page)
        self.assertEqual((200, None), (answer.status, answer.headers["Set-Cookie"]))
        self.assertNotIn(self.token.encode(), answer.body)

    def test_a_browser_gets_a_cookie_in_place_of_the_token(self):
        page = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}
        for ask, here, path in ((self.by_name, "/echo?a=1", "/"),
                                (self.ask, self.path("/echo?a=1"), f"{self.path('')}/")):
            answer = ask(f"/echo?access_token={self.token}&a=1", **page)
            self.assertEqual((303, here), (answer.status, answer.headers["Location"]))
            cookie = answer.headers["Set-Cookie"]
            self.assertEqual(f"{COOKIE}={self.token}; Path={path}; HttpOnly; SameSite=Lax", cookie)
            shown = {"Cookie": f"own=1; {COOKIE}={self.token}"}
            told = ask("/echo", **shown, **page)
            self.assertEqual(200, told.status)
            self.assertEqual(["own=1"] if ask == self.by_name else [], lines_of(told.json, "Cookie"))
            # A link from another site may be followed; nothing else works in its name.
            link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            self.assertEqual(200, ask("/echo", **shown, **link).status)
            self.assertEqual(403, ask("/echo", "POST", b"", **shown, **link).status)
            for headers in ({"Sec-Fetch-Site": "same-site"}, {"Origin": f"http://8000-x.{DOMAIN}"}):
                self.assertEqual(403, ask("/echo", **shown, **headers).status)
            self.assertEqual(401, ask("/echo", Cookie=f"{COOKIE}=wrong").status)
        secure = self.by_name(f"/?access_token={self.token}", **page, **{"X-Forwarded-Proto": "https"})
        self.assertTrue(secure.headers["Set-Cookie"].endswith("; Secure"))
        self.assertEqual("/.//evil.test/", self.by_name(f"//evil.test/?access_token={self.token}",
                                                        **page).headers["Location"])

    def test_a_token_is_in_no_log(self):
        self.ask(f"/echo?access_token={self.token}")
        self.by_name(f"/echo?access_token={self.token}", Accept="text/html")
        self.assertNotIn(self.token, "".join(self.server.log))


class Bounds(PortTest):
    environment = {**PortTest.environment, "API_KEYS": "the-key", "API_KEY_RATE": "10/h", "SANDBOX_NETWORK_ENABLED": "true",
                   "SANDBOX_NETWORK_ALLOW": "example.org:443"}

    def setUp(self):
        live_server.ServerTest.setUp(self)

    def test_the_rate_of_its_owner_and_the_way_out(self):
        owner = self.client_with("the-key")
        sandbox = self.make(owner, network={"allow": ["example.org:443"]})
        shown = {"X-Access-Token": sandbox.made["access_token"]}
        self.assert_problem(403, "port_reserved", self.client.send("GET", self.path("/", sandbox, 3128), **shown), "way out")
        self.assert_problem(403, "port_reserved", self.client.send("GET", self.path("/", sandbox, 3129), **shown), "secrets")
        self.assertEqual(401, self.client.send("GET", self.path("/", sandbox)).status)
        statuses = [self.client.send("GET", self.path("/", sandbox), **shown).status for _ in range(12)]
        self.assertEqual([502, 429], sorted(set(statuses), reverse=True))
        self.assert_problem(429, "rate_limit", owner.send("GET", sandbox.path))


class Smuggling(PortTest):
    def test_lengths_that_do_not_agree(self):
        path = self.path()
        for head in ("Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
                     "Content-Length: 1\r\nContent-Length: 2", "Transfer-Encoding: chunked, identity",
                     "Transfer-Encoding: \x0bchunked", "Content-Length: +5", "Transfer-Encoding : chunked"):
            request = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"
            with self.subTest(head):
                self.assertTrue(self.talk(request).startswith("HTTP/1.1 400"))

    def test_nothing_in_a_path_becomes_a_header(self):
        for rest in ("/echo%0d%0aX-Evil:%201", "/echo?%0d%0aX-Evil:1", "/echo;%0a"):
            told = self.echo(rest)
            self.assertEqual([], lines_of(told, "X-Evil"))
            self.assertEqual(f"GET {rest} HTTP/1.1", told["request"])
        for rest in ("/echo\tx", "/echo\x01", "/a b"):
            request = f"GET {self.path(rest)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            self.assertTrue(self.talk(request).startswith("HTTP/1.1 400"), rest)

    def test_targets_that_name_a_host(self):
        answer = self.talk(f"GET http://localhost{self.path('/echo')} HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\n\r\n")
        self.assertIn("GET /echo HTTP/1.1", answer)
        inside = self.path("/http://127.0.0.1:22/x")
        told = json.loads(self.talk(f"GET {inside} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                          .split("\r\n\r\n", 1)[1])
        self.assertEqual("GET /http://127.0.0.1:22/x HTTP/1.1", told["request"])
        self.assertTrue(self.talk(f"CONNECT {self.name()}:80 HTTP/1.1\r\nHost: {self.name()}:80\r\n"
                                  "Connection: close\r\n\r\n")[:12].endswith(("400", "405")))

    def test_two_requests_at_once_are_two(self):
        one = f"POST {self.path()} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        two = f"GET {self.path('/echo/two')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answers = self.talk(one + two)
        self.assertEqual(2, answers.count("HTTP/1.1 200 OK"))
        self.assertIn("GET /echo/two", answers)

    def test_a_body_that_breaks_off_breaks_off_inside(self):
        request = f"POST {self.path()} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"
        self.assertTrue(self.talk(request).startswith("HTTP/1.1 400"))


if __name__ == "__main__":
    live_server.main()
