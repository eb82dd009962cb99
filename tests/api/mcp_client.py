"""The Model Context Protocol's own client (mcp_client.cjs) and inspector from npm, for every transport."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import time_scale

CLIENT = pathlib.Path(__file__).parent / "mcp_client.cjs"
NODE_MODULES = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent / "npm" / "node_modules"
INSPECTOR = NODE_MODULES / "@modelcontextprotocol/inspector-cli/build/index.js"


def inspect(test, method, *server, options=None, **arguments):
    """Returns what the inspector prints of one request. `server` is a URL or a command; a name beside it is an argument
    of the tool that `tool` names; `options` are those of subprocess.run(). Skips the test where the inspector is not
    installed."""
    node = shutil.which("node")
    if node is None or not INSPECTOR.is_file():
        test.skipTest(f"node, or {INSPECTOR}, is missing; ./dev test installs the latter")
    tool = ["--tool-name", arguments.pop("tool")] if "tool" in arguments else []
    given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
    finished = subprocess.run([node, INSPECTOR, *server, "--method", method, *tool, *given], capture_output=True, text=True, check=False,
                              timeout=time_scale.scaled(60), **(options or {}))
    test.assertEqual(0, finished.returncode, finished.stdout + finished.stderr)
    return json.loads(finished.stdout)


def run(test, server, calls, **options):
    """Returns how the client ended, and the values that it printed: the server with its tools, then the answer to
    each call. `server` is a URL or a program; `options` are those of subprocess.run(). Skips the test where the
    client is not installed."""
    node = shutil.which("node")
    if node is None or not (NODE_MODULES / "@modelcontextprotocol" / "sdk").is_dir():
        test.skipTest(f"node, or @modelcontextprotocol/sdk in {NODE_MODULES}, is missing; ./dev test installs the latter")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write("".join(json.dumps(call) + "\n" for call in calls))
        file.flush()
        finished = subprocess.run([node, CLIENT, str(NODE_MODULES), server, file.name], capture_output=True, text=True, check=False,
                                  timeout=time_scale.scaled(60), **options)
    return finished, [json.loads(line) for line in finished.stdout.splitlines()]
