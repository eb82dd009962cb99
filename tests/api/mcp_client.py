"""The Model Context Protocol's own client from npm (mcp_client.cjs), for every transport."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import time_scale

CLIENT = pathlib.Path(__file__).parent / "mcp_client.cjs"
NODE_MODULES = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", "/nonexistent")).parent / "npm" / "node_modules"


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
