"""The Model Context Protocol: its own client from npm, and messages by hand."""
import json

import live_server
import mcp_client

TOOLS = {"execute_code", "create_sandbox", "list_sandboxes", "get_sandbox", "kill_sandbox", "run_command", "run_code", "read_file",
         "write_file", "list_files", "createSandbox", "getSandbox", "deleteSandbox", "listSandbox", "sandboxExecutor"}
# The tools that work in a sandbox, which their arguments do not name where it is the only one.
TOOLS_OF_ONE = {"get_sandbox", "run_command", "run_code", "read_file", "write_file", "list_files"}


class McpTest(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}
    path = "/mcp"

    def message(self, method, params=None, number=1, **headers):
        body = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            body["params"] = params
        return self.client.post(body, path=self.path, **headers)

    def result(self, method, params=None):
        answer = self.message(method, params)
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(("2.0", 1), (answer.json["jsonrpc"], answer.json["id"]))
        self.assertIn("result", answer.json)
        return answer.json["result"]

    def call(self, tool, **arguments):
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def done(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertFalse(result["isError"], result)
        [part] = result["content"]
        self.assertEqual(result["structuredContent"], json.loads(part["text"]))
        return result["structuredContent"]

    def refused(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertTrue(result["isError"], result)
        self.assertIn("code", result["structuredContent"])
        return result["content"][0]["text"]


class Sessions(McpTest):
    def test_the_official_client(self):
        calls = [{"name": "execute_code", "arguments": {"code": "print(6*7)"}},
                 {"name": "create_sandbox", "arguments": {"name": "mine"}},
                 {"name": "write_file", "arguments": {"sandbox": "mine", "path": "/workspace/a.txt", "content": "grüße\n"}},
                 {"name": "run_command", "arguments": {"sandbox": "mine", "command": "cat a.txt; exit 3"}},
                 {"name": "kill_sandbox", "arguments": {"sandbox": "mine"}}]
        finished, lines = mcp_client.run(self, f"http://127.0.0.1:{self.server.port}/mcp", calls)
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        first, *answers = lines
        self.assertEqual("agent-sandbox", first["server"]["name"])
        self.assertEqual(TOOLS, {tool["name"] for tool in first["tools"]})
        code, made, written, ran, killed = [answer["structuredContent"] for answer in answers]
        self.assertEqual("42\n", code["stdout"])
        self.assertEqual("mine", made["name"])
        self.assertEqual(len("grüße\n".encode()), written["size"])
        self.assertEqual(("grüße\n", 3), (ran["stdout"], ran["exit_code"]))
        self.assertEqual("deleted", killed["outcome"]["code"])

    def test_the_official_inspector(self):
        url = f"http://127.0.0.1:{self.server.port}/mcp"
        self.assertEqual(TOOLS, {tool["name"] for tool in mcp_client.inspect(self, "tools/list", url)["tools"]})
        done = mcp_client.inspect(self, "tools/call", url, tool="execute_code", code="print(6*7)")
        self.assertEqual((False, "42\n"), (done["isError"], done["structuredContent"]["stdout"]))
        done = mcp_client.inspect(self, "tools/call", url, tool="get_sandbox", sandbox="none")
        self.assertEqual((True, "no_such_sandbox"), (done["isError"], done["structuredContent"]["code"]))

    def test_a_refusal_says_why_to_programs_too(self):
        for tool, arguments, expected in (
                ("execute_code", {}, {"code": "missing_field"}), ("execute_code", {"cod": "x"}, {"code": "unknown_field"}),
                ("execute_code", {"code": "x", "timeout_seconds": 61}, {"code": "out_of_range", "limit": 60, "used": 61}),
                ("read_file", {"sandbox": "none"}, {"code": "missing_field"}), ("get_sandbox", {"sandbox": "none"}, {"code": "no_such_sandbox"})):
            with self.subTest((tool, arguments)):
                result = self.call(tool, **arguments)
                said = result["structuredContent"]
                self.assertTrue(result["isError"], result)
                self.assertEqual(expected, {name: said.get(name) for name in expected}, said)
                self.assertTrue(result["content"][0]["text"].startswith(said["detail"]), result)

    def test_a_known_revision_is_spoken_and_an_unknown_one_is_answered_with_the_newest(self):
        for asked, spoken in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"),
                              ("2026-07-28", "2025-11-25")):
            result = self.result("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})
            self.assertEqual(spoken, result["protocolVersion"])
            self.assertIn("tools", result["capabilities"])
        self.assertEqual({}, self.result("ping"))

    def test_a_notification_is_not_answered(self):
        answer = self.client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, path="/mcp")
        self.assertEqual((202, b"", None), (answer.status, answer.body, answer.headers["Content-Type"]))

    def test_ids_come_back_as_they_were(self):
        for number in (0, 7, "a\"b", ""):
            self.assertEqual(number, self.message("ping", number=number).json["id"])

    def test_what_is_no_message(self):
        for body, code in ((b"{", -32700), (b"[]", -32600), (b"1", -32600), (b'{"id":1,"method":"ping"}', -32600)):
            answer = self.client.send("POST", "/mcp", body, **{"Content-Type": "application/json"})
            self.assertEqual((400, code), (answer.status, answer.json["error"]["code"]))
        self.assertEqual(-32601, self.message("resources/list").json["error"]["code"])
        self.assertEqual(-32602, self.message("tools/call", {"name": "none"}).json["error"]["code"])
        self.assertEqual(-32602, self.message("tools/call", {"name": "execute_code", "arguments": 1}).json["error"]["code"])
        answer = self.message("ping", **{"MCP-Protocol-Version": "1999-01-01"})
        self.assertEqual((400, -32022), (answer.status, answer.json["error"]["code"]))

    def test_there_is_no_stream_and_no_session(self):
        self.assertEqual(405, self.client.send("GET", "/mcp").status)
        self.assertEqual(405, self.client.send("DELETE", "/mcp").status)

    def test_a_page_of_another_site_is_refused(self):
        self.assertEqual(403, self.message("ping", Origin="http://evil.example").status)
        self.assertEqual(421, self.message("ping", Host="evil.example").status)
        self.assertEqual(200, self.message("ping", Origin=f"http://127.0.0.1:{self.server.port}").status)


class Named(McpTest):
    """Sandboxes by name and environment, each with tools of its own that one tool calls."""

    def make(self, **arguments):
        made = self.done("createSandbox", **arguments)
        self.addCleanup(self.call, "deleteSandbox", name=made["name"])
        return made

    def execute_in(self, name, tool, **arguments):
        return self.call("sandboxExecutor", sandbox_name=name, tool_name=tool, arguments=arguments)

    def test_the_official_client(self):
        calls = [{"name": "createSandbox", "arguments": {"name": "by-name"}},
                 {"name": "sandboxExecutor", "arguments": {"sandbox_name": "by-name", "tool_name": "write_file",
                                                           "arguments": {"path": "/workspace/a.txt", "content": "grüße\n"}}},
                 {"name": "sandboxExecutor", "arguments": {"sandbox_name": "by-name", "tool_name": "run_command",
                                                           "arguments": {"command": "cat a.txt; exit 3"}}},
                 {"name": "listSandbox", "arguments": {}},
                 {"name": "getSandbox", "arguments": {"name": "by-name"}},
                 {"name": "deleteSandbox", "arguments": {"name": "by-name"}}]
        finished, lines = mcp_client.run(self, f"http://127.0.0.1:{self.server.port}/mcp", calls)
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        made, written, ran, listed, shown, deleted = [answer["structuredContent"] for answer in lines[1:]]
        self.assertEqual("by-name", made["name"])
        self.assertEqual(TOOLS_OF_ONE, {tool["name"] for tool in made["tools"]})
        self.assertEqual(len("grüße\n".encode()), written["size"])
        self.assertEqual(("grüße\n", 3), (ran["stdout"], ran["exit_code"]))
        self.assertIn({"name": "by-name", "id": made["id"], "state": "running"}, listed["sandboxes"])
        self.assertEqual((made["id"], "running"), (shown["id"], shown["state"]))
        self.assertEqual({"name": "by-name", "message": "Sandbox by-name deleted successfully"}, deleted)

    def test_a_name_is_made_where_none_is_given_and_is_the_one_that_is_told(self):
        made = [self.make() for _ in range(3)]
        self.assertEqual(3, len({one["name"] for one in made}), made)
        for one in made:
            self.assertRegex(one["name"], r"^sandbox-none-\d+(-\d+)?$")
            self.assertFalse(self.execute_in(one["name"], "run_command", command="true")["isError"])

    def test_what_a_tool_could_not_do_is_an_error_here_too(self):
        name = self.make()["name"]
        failed = self.execute_in(name, "read_file", path="/workspace/none")
        self.assertTrue(failed["isError"])
        self.assertIn("no such file", failed["content"][0]["text"])

    def test_what_a_model_can_mend_is_said(self):
        self.make(name="taken")
        self.assertIn("taken", self.refused("createSandbox", name="taken"))
        self.assertIn("name:", self.refused("createSandbox", name="Not A Name"))
        self.assertIn("environment:", self.refused("createSandbox", environment="nothing-like-it"))
        self.assertIn("\"template\"", self.refused("createSandbox", template="none"))
        for tool in ("getSandbox", "deleteSandbox"):
            self.assertEqual("no such sandbox: none-of-it", self.refused(tool, name="none-of-it"))
            self.assertIn("name", self.refused(tool))
        self.assertEqual("no such sandbox: none-of-it", self.refused("sandboxExecutor", sandbox_name="none-of-it", tool_name="run_command",
                                                         arguments={"command": "true"}))
        self.assertIn("sandbox_name", self.refused("sandboxExecutor", tool_name="run_command"))
        for tool in ("none", "sandboxExecutor", "kill_sandbox", "execute_code"):
            self.assertIn("tool_name", self.refused("sandboxExecutor", sandbox_name="taken", tool_name=tool))
        self.assertIn("arguments", self.refused("sandboxExecutor", sandbox_name="taken", tool_name="run_command", arguments=1))
        self.assertIn("\"sandbox\"", self.refused("sandboxExecutor", sandbox_name="taken", tool_name="run_command",
                                                   arguments={"sandbox": "taken", "command": "true"}))


class OneSandbox(McpTest):
    """/sandbox/{name}/mcp: tools that work in that sandbox alone, and do not name it."""

    def setUp(self):
        super().setUp()
        made = self.client.post({"name": "alone"}, "/v1/sandboxes").json
        self.id, self.path = made["id"], "/sandbox/alone/mcp"
        self.addCleanup(self.client.send, "DELETE", f"/v1/sandboxes/{self.id}")

    def test_the_official_client(self):
        calls = [{"name": "write_file", "arguments": {"path": "/workspace/a.txt", "content": "grüße\n"}},
                 {"name": "run_command", "arguments": {"command": "cat a.txt; exit 3"}},
                 {"name": "read_file", "arguments": {"path": "/workspace/a.txt"}},
                 {"name": "list_files", "arguments": {}},
                 {"name": "get_sandbox", "arguments": {}}]
        for name in ("alone", self.id):
            finished, lines = mcp_client.run(self, f"http://127.0.0.1:{self.server.port}/sandbox/{name}/mcp", calls)
            self.assertEqual((0, ""), (finished.returncode, finished.stderr))
            self.assertEqual(TOOLS_OF_ONE, {tool["name"] for tool in lines[0]["tools"]})
            _, ran, read, listed, shown = [answer["structuredContent"] for answer in lines[1:]]
            self.assertEqual(("grüße\n", 3), (ran["stdout"], ran["exit_code"]))
            self.assertEqual("grüße\n", read["content"])
            self.assertEqual(["/workspace/a.txt"], [entry["path"] for entry in listed["entries"]])
            self.assertEqual(self.id, shown["id"])

    def test_no_tool_takes_or_needs_a_sandbox(self):
        for tool in self.result("tools/list")["tools"]:
            schema = tool["inputSchema"]
            self.assertNotIn("sandbox", {*schema["properties"], *schema["required"]}, tool["name"])
            self.assertLessEqual(set(schema["required"]), set(schema["properties"]), tool["name"])
        other = self.client.post({}, "/v1/sandboxes").json["id"]
        self.addCleanup(self.client.send, "DELETE", f"/v1/sandboxes/{other}")
        arguments = {"run_command": {"command": "true"}, "run_code": {"code": "pass"}, "read_file": {"path": "/x"}, "list_files": {}, "get_sandbox": {},
                     "write_file": {"path": "/workspace/x", "content": ""}}
        for tool, given in arguments.items():
            self.assertIn("\"sandbox\"", self.refused(tool, sandbox=other, **given), tool)

    def test_tools_of_all_sandboxes_are_not_there(self):
        for tool in TOOLS - TOOLS_OF_ONE:
            answer = self.message("tools/call", {"name": tool, "arguments": {}})
            self.assertEqual(-32602, answer.json["error"]["code"], tool)

    def test_no_such_sandbox_and_one_that_has_ended(self):
        self.path = "/sandbox/none-of-it/mcp"
        self.assertEqual(404, self.message("ping").status)
        self.client.send("DELETE", f"/v1/sandboxes/{self.id}")
        self.path = f"/sandbox/{self.id}/mcp"
        answer = self.message("ping")
        self.assertEqual((409, "sandbox_ended"), (answer.status, answer.json["code"]))

    def test_there_is_no_stream_and_no_session(self):
        for method in ("GET", "DELETE"):
            self.assertEqual(405, self.client.send(method, self.path).status)

    def test_a_page_of_another_site_is_refused(self):
        self.assertEqual(403, self.message("ping", Origin="http://evil.example").status)
        self.assertEqual(421, self.message("ping", Host="evil.example").status)
        self.assertEqual(200, self.message("ping", Origin=f"http://127.0.0.1:{self.server.port}").status)


class Stateless(McpTest):
    META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "test"}}

    def test_each_message_says_its_revision(self):
        result = self.result("server/discover", {"_meta": self.META})
        self.assertEqual(["2026-07-28"], result["supportedVersions"])
        result = self.result("tools/list", {"_meta": self.META})
        self.assertEqual(TOOLS, {tool["name"] for tool in result["tools"]})
        result = self.result("tools/call", {"name": "execute_code", "arguments": {"code": "print(1)"}, "_meta": self.META})
        self.assertEqual("complete", result["resultType"])
        self.assertEqual("agent-sandbox", result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"])

    def test_other_revisions_and_methods(self):
        other = {**self.META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        answer = self.message("tools/list", {"_meta": other})
        self.assertEqual((400, -32022), (answer.status, answer.json["error"]["code"]))
        self.assertIn("2026-07-28", answer.json["error"]["data"]["supported"])
        for method in ("initialize", "ping", "none"):
            answer = self.message(method, {"_meta": self.META})
            self.assertEqual((404, -32601), (answer.status, answer.json["error"]["code"]))

    def test_headers_that_say_something_else(self):
        params = {"name": "execute_code", "arguments": {"code": ""}, "_meta": self.META}
        for name, value in (("Mcp-Method", "tools/list"), ("Mcp-Name", "run_command"), ("MCP-Protocol-Version", "2025-11-25")):
            answer = self.message("tools/call", params, **{name: value})
            self.assertEqual((400, -32020), (answer.status, answer.json["error"]["code"]), name)


class Tools(McpTest):
    def test_schemas_name_what_is_read(self):
        tools = {tool["name"]: tool for tool in self.result("tools/list")["tools"]}
        for tool in tools.values():
            schema = tool["inputSchema"]
            self.assertEqual("object", schema["type"])
            self.assertLessEqual(set(schema["required"]), set(schema["properties"]), tool["name"])
            self.assertEqual({"readOnlyHint", "destructiveHint", "openWorldHint"}, set(tool["annotations"]))
        self.assertEqual({"sandbox", "command", "env", "working_directory", "stdin", "timeout_seconds"},
                         set(tools["run_command"]["inputSchema"]["properties"]))

    def test_code_that_fails_is_a_result(self):
        result = self.done("execute_code", code="raise ValueError('no')")
        self.assertEqual("error", result["status"])
        self.assertIn("ValueError: no", result["stderr"])

    def test_work_in_a_sandbox(self):
        made = self.done("create_sandbox", metadata={"for": "test"})
        name = made["id"]
        self.addCleanup(self.call, "kill_sandbox", sandbox=name)
        self.assertIn(name, [one["id"] for one in self.done("list_sandboxes")["sandboxes"]])
        self.assertEqual("running", self.done("get_sandbox", sandbox=name)["state"])
        self.done("write_file", sandbox=name, path="/workspace/d/bytes", content="AP8=", encoding="base64")
        read = self.done("read_file", sandbox=name, path="/workspace/d/bytes", encoding="base64")
        self.assertEqual((2, "AP8=", False), (read["size"], read["content"], read["truncated"]))
        listed = self.done("list_files", sandbox=name, depth=2)
        self.assertEqual(["/workspace/d", "/workspace/d/bytes"], [entry["path"] for entry in listed["entries"]])
        ran = self.done("run_command", sandbox=name, command=["python3", "-c", "import sys; print(sys.stdin.read())"], stdin="in")
        self.assertEqual(("in\n", 0), (ran["stdout"], ran["exit_code"]))
        ran = self.done("run_code", sandbox=name, code="import sys; print(sys.argv[1:])", args=["a b"])
        self.assertEqual(("['a b']\n", 0), (ran["stdout"], ran["exit_code"]))
        self.assertIn("code", self.refused("run_code", sandbox=name))
        self.done("run_command", sandbox=name, command="head -c 2000000 /dev/zero > large")
        large = self.call("read_file", sandbox=name, path="/workspace/large")
        self.assertNotIn("structuredContent", large, "what is large comes once")
        self.assertTrue(json.loads(large["content"][0]["text"])["truncated"])

    def test_what_a_model_can_mend_is_said(self):
        self.assertIn("code", self.refused("execute_code"))
        self.assertIn("timeout_seconds", self.refused("execute_code", code="1", timeout_seconds=-1))
        self.assertIn("\"cod\"", self.refused("execute_code", cod="1"))
        self.assertEqual("no such sandbox: none", self.refused("run_command", sandbox="none", command="true"))
        self.assertIn("sandbox", self.refused("run_command", command="true"))
        made = self.done("create_sandbox")["id"]
        self.addCleanup(self.call, "kill_sandbox", sandbox=made)
        self.assertIn("no such file", self.refused("read_file", sandbox=made, path="/workspace/none"))
        self.assertIn("content", self.refused("write_file", sandbox=made, path="/workspace/x"))
        self.assertIn("base64", self.refused("write_file", sandbox=made, path="/workspace/x", content="?", encoding="base64"))
        self.assertIn("not found", self.refused("run_command", sandbox=made, command=["none"]))


class Keys(McpTest):
    environment = {"JOBS_PATH": ":memory:", "API_KEYS": "first,second"}

    def test_a_key_is_needed_and_sandboxes_are_its_own(self):
        self.assertEqual(401, self.message("ping").status)
        call = {"name": "create_sandbox", "arguments": {"name": "mine"}}
        made = self.message("tools/call", call, Authorization="Bearer first").json["result"]["structuredContent"]
        look = {"name": "get_sandbox", "arguments": {"sandbox": made["id"]}}
        self.assertTrue(self.message("tools/call", look, Authorization="Bearer second").json["result"]["isError"])
        self.assertFalse(self.message("tools/call", look, Authorization="Bearer first").json["result"]["isError"])

    def test_the_door_of_one_sandbox_is_its_keys_own(self):
        call = {"name": "createSandbox", "arguments": {"name": "mine-alone"}}
        made = self.message("tools/call", call, Authorization="Bearer first").json["result"]["structuredContent"]
        run = {"name": "run_command", "arguments": {"command": "echo in"}}
        for name in ("mine-alone", made["id"]):
            self.path = f"/sandbox/{name}/mcp"
            self.assertEqual(401, self.message("tools/call", run).status)
            self.assertEqual(404, self.message("tools/call", run, Authorization="Bearer second").status)
            answer = self.message("tools/call", run, Authorization="Bearer first").json["result"]
            self.assertEqual("in\n", answer["structuredContent"]["stdout"])
        self.path = "/mcp"
        execute = {"name": "sandboxExecutor", "arguments": {"sandbox_name": made["id"], "tool_name": "run_command", "arguments": run["arguments"]}}
        for tool in (execute, {"name": "getSandbox", "arguments": {"name": made["id"]}}, {"name": "deleteSandbox", "arguments": {"name": made["id"]}}):
            self.assertTrue(self.message("tools/call", tool, Authorization="Bearer second").json["result"]["isError"], tool)
        listed = self.message("tools/call", {"name": "listSandbox"}, Authorization="Bearer second").json["result"]["structuredContent"]
        self.assertEqual([], listed["sandboxes"])
