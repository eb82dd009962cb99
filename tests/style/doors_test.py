"""The front doors have no rules of their own: runtime/service alone says what a request may ask for."""
import re

import tree

DOORS = ("server/api/", "server/mcp/", "server/ports/", "server/cli/jobs/", "server/cli/sandbox/", "server/cli/webhooks/")

# A request's path is compared with the patterns of the table of routes and with nothing else.
PATH = re.compile(r"\bhead\.(?:path|target)\s*(?:==|!=|\.\s*(?:starts_with|ends_with|compare|find)\b)"
                  r"|(?:==|!=)\s*[\w.]*\bhead\.(?:path|target)\b")
ROUTES = "server/api/routes.cc"

# A constant that bounds what a caller may ask for has a name that says so.
BOUND = re.compile(r"\bconstexpr\b[^;={}()]*?\b((?:max|most|longest|min|least|usual)_\w+)\s*[={]")
# Folders and constants that are not the service's: they bound a protocol, or the memory of a door.
OWN = {
    "server/api/kubernetes_style/": "a dialect, whose fields and bounds stand beside each other",
    "server/ports/": "HTTP with servers in sandboxes",
    "server/api/api_sandbox_logs.cc max_held_back": "memory for halves of characters",
    "server/api/terminal_session.cc max_message_bytes": "a message of a WebSocket",
    "server/api/terminal_session.cc max_typed_bytes": "memory for what a client types",
    "server/mcp/mcp.cc max_structured_bytes": "an answer that is told twice",
    "server/mcp/in_sandbox_tools.cc max_read_bytes": "what a model can read",
    "server/mcp/executor_tools.cc max_listed": "what a model can read",
    "server/mcp/pipe.h max_line_bytes": "a message on the pipe",
    "server/mcp/pipe.h max_at_once": "messages on the pipe",
    "server/cli/sandbox/sandbox_text.cc max_characters": "text on a terminal",
    "server/cli/sandbox/json_text.cc max_shown_characters": "text on a terminal",
    "server/cli/sandbox/followed_events.cc max_shown_of_an_error": "text on a terminal",
    "server/cli/sandbox/followed_events.cc max_event_bytes": "memory for one line",
    "server/cli/jobs/job_output.cc max_error_characters": "text on a terminal",
    "server/cli/sandbox/server_client.cc max_message_characters": "text on a terminal",
    "server/cli/sandbox/attached_process.cc max_input_bytes": "a piece of what is typed",
    "server/cli/sandbox/run_process.cc max_json_output": "what is held to be printed at once",
    "server/cli/sandbox/copy_file.cc usual_mode": "of a file on this host",
    "server/cli/sandbox/listen_port.cc max_waiting_clients": "programs of this host",
    "server/cli/sandbox/listen_port.cc max_tunnels": "programs of this host",
    "server/cli/sandbox/tunnel.cc max_answer_bytes": "memory for an answer",
    "server/cli/sandbox/tunnel.cc max_rounds": "how long one connection keeps the others waiting",
    "server/cli/sandbox/tunnel.cc max_reason_characters": "text on a terminal",
    "server/cli/sandbox/websocket_frames.cc max_control_bytes": "a frame of a WebSocket",
    "server/cli/sandbox/websocket_frames.cc max_text_bytes": "a message of a WebSocket",
}

# The command line takes bounds and words from the fields, except those of the kernel.
TYPED = re.compile(r"CLI::(?:Range\(\s*[\d.]+[^)]*\)|IsMember\(\s*\{[^}]*\})")
OF_THE_KERNEL = ("CLI::Range(1u, 65'535u)",)


def of_doors(root, folders=DOORS):
    for path in tree.code_files(root):
        where = path.relative_to(root).as_posix()
        if where.startswith(folders):
            yield where, tree.text_of(path)


def compared_paths(root):
    found = []
    for where, text in of_doors(root, ("server/",)):
        # The path behind a port is the guest's, and server/http and the client's side know no routes.
        if where in (ROUTES, "server/api/api_sandbox_ports.cc"):
            continue
        code = tree.without_comments_and_strings(text)
        found += [f"{where}:{tree.line_of(code, match.start())} compares a path: each route is one row of its table"
                  for match in PATH.finditer(code)]
    return found


def own_bounds(root):
    found = []
    for where, text in of_doors(root):
        for match in BOUND.finditer(tree.without_comments_and_strings(text)):
            name = match.group(1)
            if not where.startswith(tuple(own for own in OWN if own.endswith("/"))) and f"{where} {name}" not in OWN:
                found.append(f"{where}:{tree.line_of(text, match.start(1))} {name}: a bound of a request is a field of runtime/service")
    return found


def typed_bounds(root):
    found = []
    for where, text in of_doors(root, ("server/cli/",)):
        found += [f"{where}:{tree.line_of(text, match.start())} {match.group()}: bounds and words are those of the field"
                  for match in TYPED.finditer(text) if match.group() not in OF_THE_KERNEL]
    return found


class Doors(tree.RuleTest):
    def test_project(self):
        for rule in (compared_paths, own_bounds, typed_bounds):
            self.assert_project_keeps(rule)

    def test_what_is_allowed_is_there(self):
        texts = dict(of_doors(tree.PROJECT))
        for own in OWN:
            if own.endswith("/"):
                self.assertTrue(any(where.startswith(own) for where in texts), own)
            else:
                where, name = own.split()
                self.assertIn(name, texts.get(where, ""), own)

    def test_control_of_paths(self):
        planted = {
            "server/api/a.cc": 'bool f() { return call.head.path == "/jobs"; }\n',
            "server/mcp/a.cc": 'bool f() { return "/mcp" == call.head.path || head.path.starts_with("/v1/"); }\n',
            "server/api/routes.cc": 'bool f() { return head.path == "/x"; }\n',
            "server/http/a.cc": 'std::string f() { return head.path + "?"; }  // head.path == "/x"\n',
        }
        self.assert_rule_finds(compared_paths, planted, "api/a.cc:1", "mcp/a.cc:1", "mcp/a.cc:1")

    def test_control_of_bounds(self):
        planted = {
            "server/api/a.cc": "constexpr std::uint32_t max_jobs = 200;\n// constexpr int max_none = 1;\n",
            "server/mcp/a.h": "static constexpr std::size_t max_things{5};\nint max_depth = 3;\n",
            "server/api/kubernetes_style/a.cc": "constexpr std::size_t max_names = 100;\n",
            "server/http/a.cc": "constexpr std::size_t max_head_bytes = 1;\n",
            "server/api/terminal_session.cc": "constexpr std::size_t max_typed_bytes = 1;\n",
        }
        self.assert_rule_finds(own_bounds, planted, "api/a.cc:1 max_jobs", "mcp/a.h:1 max_things")

    def test_control_of_the_command_line(self):
        planted = {
            "server/cli/a.cc": "->check(CLI::Range(1u, 100'000u));\n->check(within(field));\n->check(CLI::Range(1u, 65'535u));\n",
            "server/cli/sandbox/b.cc": '->check(CLI::IsMember({"a", "b"}));\n->check(CLI::IsMember(words));\n',
        }
        self.assert_rule_finds(typed_bounds, planted, "a.cc:1 CLI::Range(1u, 100'000u)", 'b.cc:1 CLI::IsMember({"a", "b"}')
