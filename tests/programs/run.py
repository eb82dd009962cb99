#!/usr/bin/env python3
"""Runs recorded programs over HTTP and compares with what was recorded.

  python3 tests/programs/run.py BASE_URL DATA_DIR [SET...]

BASE_URL is a running server, or the path of an agent-sandbox binary to start one from. DATA_DIR holds
one SET.jsonl for each set. Prints every failure, `SET: N passed, N failed` for each set and last
`N passed, N failed, N skipped`; exits 1 when something failed. AGENT_SANDBOX_KEY is sent as the key,
AGENT_SANDBOX_CLIENTS says how many requests run at once (default: two for each processor).
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import sys
import threading
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in ("api", ".")]


class Program:
    """One request and what its answer must be."""

    def __init__(self, name, code, language, accepts, timeout=10.0):
        self.name, self.accepts = name, accepts
        self.request = {"code": code, "language": language, "timeout_seconds": timeout}


def exits(code):
    def accepts(answer):
        if answer["exit_code"] == code:
            return None
        return f"status {answer['status']}, exit {answer['exit_code']}, not {code}: {answer['stderr'][-300:]}"
    return accepts


def exits_and_prints(code, stdout):
    def accepts(answer):
        if answer["stdout"] != stdout:
            return f"stdout {answer['stdout'][:200]!r}, not {stdout[:200]!r}"
        return exits(code)(answer)
    return accepts


def times_out(answer):
    return None if answer["status"] == "timeout" else f"status {answer['status']}, not timeout"


def does_not_succeed(answer):
    return "it succeeds" if answer["status"] == "success" else None


def recorded(record):
    yield Program(record["id"], record["code"], "python", exits_and_prints(record["exit"], record["stdout"]))


def both_ways(record):
    yield Program(record["id"] + ", buggy", record["buggy"], "python", does_not_succeed, 5.0)
    yield Program(record["id"] + ", fixed", record["fixed"], "python", exits(0))


def written(record):
    if record["exit"] is None:
        # It still ran at 6 s when it was recorded. A machine of today may need less for the same work,
        # so the deadline here is what even such a machine does not meet.
        yield Program(record["id"], record["code"], "python", times_out, 2.0)
    else:
        yield Program(record["id"], record["code"], "python", exits(record["exit"]))


def in_language(language):
    def programs(record):
        yield Program(record["id"], record["code"], language, exits(0))
    return programs


SETS = {"humaneval": recorded, "mbpp": recorded, "quixbugs": both_ways, "bash": in_language("bash"), "llm_written": written}


def read_set(directory, name):
    with open(directory / f"{name}.jsonl", encoding="utf-8") as lines:
        return [program for line in lines for program in SETS[name](json.loads(line))]


class Caller:
    """Each worker keeps one connection."""

    def __init__(self, base):
        self._url = urllib.parse.urlsplit(base)
        self._local = threading.local()

    def judge(self, program):
        """What is wrong with the answer, or None."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=90)
        headers = {"Content-Type": "application/json"}
        if os.environ.get("AGENT_SANDBOX_KEY"):
            headers["Authorization"] = "Bearer " + os.environ["AGENT_SANDBOX_KEY"]
        try:
            connection.request("POST", self._url.path.rstrip("/") + "/execute", json.dumps(program.request).encode(), headers)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                return f"HTTP {response.status}: {body[:300]!r}"
            return program.accepts(json.loads(body))
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            connection.close()
            return f"no proper answer: {type(error).__name__} {error}"


def run_sets(base, directory, names):
    caller = Caller(base)
    clients = int(os.environ.get("AGENT_SANDBOX_CLIENTS", 2 * (os.cpu_count() or 1)))
    passed, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for name in names:
            programs = read_set(directory, name)
            verdicts = list(zip(programs, pool.map(caller.judge, programs)))
            wrong = [(program, verdict) for program, verdict in verdicts if verdict]
            for program, verdict in wrong:
                print(f"FAILED {name} {program.name}: {verdict}")
            print(f"{name}: {len(verdicts) - len(wrong)} passed, {len(wrong)} failed", flush=True)
            passed += len(verdicts) - len(wrong)
            failed += len(wrong)
    return passed, failed


def main(argv):
    if len(argv) < 3 or any(name not in SETS for name in argv[3:]):
        print(__doc__ + "\nSets: " + " ".join(SETS), file=sys.stderr)
        return 2
    base, directory = argv[1], pathlib.Path(argv[2])
    asked = argv[3:] or list(SETS)
    names = [name for name in asked if (directory / f"{name}.jsonl").exists()]
    absent = [name for name in asked if name not in names]
    for name in absent:
        print(f"SKIPPED {name}: no {directory / name}.jsonl")
    server = None
    if not base.startswith("http"):
        import live_server
        server = live_server.LiveServer(binary=os.path.abspath(base))
        base = f"http://127.0.0.1:{server.port}"
    try:
        passed, failed = run_sets(base, directory, names)
    finally:
        if server:
            server.stop()
    print(f"{passed} passed, {failed} failed, {len(absent)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
