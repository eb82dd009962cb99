#!/usr/bin/env python3
"""Runs recorded programs over HTTP and compares with what was recorded.

  python3 tests/programs/run.py [--rootfs DIR|host] [--template NAME|none] BASE_URL DATA_DIR [SET...]

BASE_URL is a running server, or the path of an agent-sandbox binary to start one from, on the root that
--rootfs names. DATA_DIR holds one SET.jsonl for each set and inputs/ with the files that some read. A set
whose interpreter or libraries the server's root lacks is skipped. With --template the programs in that template's language ask for it and
must have run warm, or with `none` all programs ask for a cold jail and must have run in one. Prints every failure,
`SET: N passed, N failed, N warm` for each set and last `N passed, N failed, N skipped`; exits 1 when something failed.
AGENT_SANDBOX_TEMPLATE is the template where the option is not given. AGENT_SANDBOX_KEY is sent as the key,
AGENT_SANDBOX_CLIENTS says how many requests run at once (default: two for each processor).
"""
import argparse
import base64
import concurrent.futures
import functools
import http.client
import json
import math
import os
import pathlib
import re
import sys
import threading
import time
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in ("api", ".")]
import time_scale  # noqa: E402


class Program:
    """One request, and the check of its answer."""

    def __init__(self, name, code, language, accepts, timeout=10.0, **fields):
        self.name, self.accepts = name, accepts
        # A program that does not end is observed to meet its deadline, which therefore stays as it is.
        seconds = timeout if accepts in (times_out, does_not_succeed) else time_scale.timeout(timeout)
        self.request = {"code": code, "language": language, "timeout_seconds": seconds, **fields}


def exits(code):
    def accepts(answer):
        if answer["exit_code"] == code:
            return None
        return f"status {answer['status']}, exit {answer['exit_code']}, not {code}: {answer['stderr'][-300:]}"
    return accepts


# Numbers with so many digits that only rounding fills them.
LONG_NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e[-+]?\d+)?")


def same(one, other):
    return one == other


def same_but_for_rounding(one, other):
    """Linear algebra chooses its code by the processor, and the last digits differ between processors."""
    return (LONG_NUMBER.split(one) == LONG_NUMBER.split(other) and
            all(math.isclose(float(a), float(b), rel_tol=1e-12)
                for a, b in zip(LONG_NUMBER.findall(one), LONG_NUMBER.findall(other), strict=True)))


def exits_and_prints(code, stdout, is_same=same):
    def accepts(answer):
        if not is_same(answer["stdout"], stdout):
            return f"stdout {answer['stdout'][:200]!r}, not {stdout[:200]!r}"
        return exits(code)(answer)
    return accepts


def times_out(answer):
    return None if answer["status"] == "timeout" else f"status {answer['status']}, not timeout"


def does_not_succeed(answer):
    return "it succeeds" if answer["status"] == "success" else None


def draws(names, judge):
    """Applies `judge`, and requires PNGs of these names."""
    def accepts(answer):
        made = {artifact["path"]: base64.b64decode(artifact["base64"]) for artifact in answer["artifacts"]}
        for name in names:
            if name not in made:
                return judge(answer) or f"no {name}; skipped: {answer['artifacts_skipped']}"
            if not (made[name].startswith(PNG) and made[name].endswith(PNG_END)):
                return f"{name} is no PNG: {len(made[name])} bytes, {made[name][:8]!r}"
        return judge(answer)
    return accepts


def recorded(record, _):
    yield Program(record["id"], record["code"], "python", exits_and_prints(record["exit"], record["stdout"]))


def both_ways(record, _):
    yield Program(record["id"] + ", buggy", record["buggy"], "python", does_not_succeed, 5.0)
    yield Program(record["id"] + ", fixed", record["fixed"], "python", exits(0))


def written(record, _):
    if record["exit"] is None:
        # It still ran at 6 s when it was recorded, and takes 2 s on a fast machine of today: the deadline here is one that
        # no machine meets.
        yield Program(record["id"], record["code"], "python", times_out, 0.5)
    else:
        yield Program(record["id"], record["code"], "python", exits(record["exit"]))


# What newer libraries make of some records: either other text on standard output, or an error.
CHANGED = json.loads(pathlib.Path(__file__).with_name("changed_outputs.json").read_text(encoding="utf-8"))
ASK_FOR_VERSIONS = """
import importlib.metadata, json
print(json.dumps({name: importlib.metadata.version(name) for name in ("numpy", "pandas", "matplotlib")}))
"""


def is_since(since, versions):
    """Returns whether the library that `since` names ("numpy 2") has at least that version."""
    library, least = since.split()
    digits = re.match(r"[\d.]*\d", versions[library]).group()
    return [int(part) for part in digits.split(".")] >= [int(part) for part in least.split(".")]


def fails_with(error):
    def accepts(answer):
        if error in answer["stderr"]:
            return exits(1)(answer)
        return f"exit {answer['exit_code']} without {error!r}: {answer['stderr'][-300:]}"
    return accepts


def with_changed_output(record):
    stdout = record["stdout"]
    for old, new in CHANGED[record["id"]]["replaced"].items():
        if old not in stdout:
            raise ValueError(f"changed_outputs.json: {record['id']} has no {old!r} on its recorded output")
        stdout = stdout.replace(old, new)
    return {**record, "stdout": stdout}


def named_changed(since, judge):
    """A difference to what is listed, such as that there is none any more, is one in the list."""
    def accepts(answer):
        wrong = judge(answer)
        return wrong and f"changed_outputs.json (since {since}): {wrong}"
    return accepts


def analyses(record, directory, versions):
    change = CHANGED.get(record["id"])
    if change and not is_since(change["since"], versions):
        change = None
    if change and "replaced" in change:
        record = with_changed_output(record)
    judge = exits(record["exit"])
    if change and "error" in change:
        judge = fails_with(change["error"])
        record = {**record, "pngs": []}
    elif record["stdout_stable"]:
        judge = exits_and_prints(record["exit"], record["stdout"], same_but_for_rounding)
    inputs = {name: {"base64": base64.b64encode((directory / "inputs" / name).read_bytes()).decode()}
              for name in record["files"]}
    judge = draws(record["pngs"], judge)
    if change:
        judge = named_changed(change["since"], judge)
    yield Program(record["id"], record["code"], "python", judge, 60.0,
                  files=inputs, artifacts=record["pngs"])


def in_language(language):
    def programs(record, _):
        yield Program(record["id"], record["code"], language, exits(0))
    return programs


PNG = b"\x89PNG\r\n\x1a\n"
PNG_END = b"IEND\xaeB`\x82"
# Name of a set: the function that reads its records, and what the root must be able to run for them.
SETS = {
    "humaneval": (recorded, ("python", "pass")),
    "mbpp": (recorded, ("python", "pass")),
    "quixbugs": (both_ways, ("python", "pass")),
    "data_analysis": (analyses, ("python", "import numpy, pandas, matplotlib.pyplot")),
    "js": (in_language("javascript"), ("javascript", "0")),
    "ts": (in_language("typescript"), ("typescript", "0")),
    "bash": (in_language("bash"), ("bash", "command -v awk bc diff file tr >/dev/null")),
    "llm_written": (written, ("python", "pass")),
}


def read_set(directory, name, caller):
    programs = SETS[name][0]
    if programs is analyses:
        programs = functools.partial(analyses, versions=caller.versions())
    with open(directory / f"{name}.jsonl", encoding="utf-8") as lines:
        return [program for line in lines for program in programs(json.loads(line), directory)]


LANGUAGES = ("python", "bash", "javascript", "typescript")


def language_of(template):
    """The language of a template: the one that its name begins with, else Python."""
    return template if template in LANGUAGES else "python"


class Caller:
    """Each worker keeps one connection."""

    def __init__(self, base, template=None):
        self._url = urllib.parse.urlsplit(base)
        self._template = template
        self._local = threading.local()
        self._warm, self._counting = 0, threading.Lock()

    def warm_since_last(self):
        """The number of warm runs since the last call."""
        with self._counting:
            count, self._warm = self._warm, 0
        return count

    def _request(self, program):
        if self._template == "none" or self._template and program.request["language"] == language_of(self._template):
            return {**program.request, "template": self._template}
        return program.request

    def _accept(self, program, request, answer):
        """Returns what is wrong with the answer, or with how warm it was, or None."""
        with self._counting:
            self._warm += answer.get("warm", False)
        if "template" in request and answer["warm"] != (request["template"] != "none"):
            return f"warm is {answer['warm']} on template {request['template']}"
        return program.accepts(answer)

    def lacks(self, name):
        """Returns why this server cannot run the set, or None."""
        language, code = SETS[name][1]
        try:
            # Without the template: a server that has it not must fail the programs, not skip them.
            program = Program(name, code, language, exits(0), 60.0)
            return self._ask(program.request, program.accepts)
        finally:
            self._local.connection.close()  # the next question comes after minutes

    def versions(self):
        """Returns the versions of the libraries that recorded programs compute with, by name."""
        answers = []
        program = Program("versions", ASK_FOR_VERSIONS, "python", lambda answer: answers.append(answer) or exits(0)(answer), 60.0)
        if wrong := self._ask(program.request, program.accepts):
            raise ValueError(f"the server's root does not tell the versions of its libraries: {wrong}")
        return json.loads(answers[0]["stdout"])

    def judge(self, program):
        """Returns what is wrong with the answer, or None."""
        request = self._request(program)
        return self._ask(request, lambda answer: self._accept(program, request, answer))

    def _ask(self, request, accepts):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=90)
        headers = {"Content-Type": "application/json"}
        if os.environ.get("AGENT_SANDBOX_KEY"):
            headers["Authorization"] = "Bearer " + os.environ["AGENT_SANDBOX_KEY"]
        try:
            connection.request("POST", self._url.path.rstrip("/") + "/execute", json.dumps(request).encode(), headers)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                return f"HTTP {response.status}: {body[:300]!r}"
            return accepts(json.loads(body))
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            connection.close()
            return f"no proper answer: {type(error).__name__} {error}"


def run_sets(base, directory, names, template):
    caller = Caller(base, template)
    clients = int(os.environ.get("AGENT_SANDBOX_CLIENTS", 2 * (os.cpu_count() or 1)))
    passed, failed, skipped, warm = 0, 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for name in names:
            missing = f"no {directory / name}.jsonl"
            if (directory / f"{name}.jsonl").exists():
                missing = caller.lacks(name)
            if missing:
                print(f"SKIPPED {name}: {missing}", flush=True)
                skipped += 1
                continue
            started = time.monotonic()
            programs = read_set(directory, name, caller)
            verdicts = list(zip(programs, pool.map(caller.judge, programs)))
            wrong = [(program, verdict) for program, verdict in verdicts if verdict]
            for program, verdict in wrong:
                print(f"FAILED {name} {program.name}: {verdict}")
            ran_warm = caller.warm_since_last()
            print(f"{name}: {len(verdicts) - len(wrong)} passed, {len(wrong)} failed, {ran_warm} warm"
                  f" ({time.monotonic() - started:.0f} s)", flush=True)
            passed += len(verdicts) - len(wrong)
            failed += len(wrong)
            warm += ran_warm
    if template:
        print(f"template {template}: {warm} of {passed + failed} ran warm")
    return passed, failed, skipped


def parse(argv):
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rootfs")
    parser.add_argument("--template", default=os.environ.get("AGENT_SANDBOX_TEMPLATE"))
    parser.add_argument("base")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: all of " + " ".join(SETS))
    options = parser.parse_args(argv)
    unknown = [name for name in options.sets if name not in SETS]
    if unknown:
        parser.error(f"no such set: {' '.join(unknown)}; there are {' '.join(SETS)}")
    if options.rootfs and options.base.startswith("http"):
        parser.error("--rootfs is for a server that is started here")
    return options


def main(argv):
    options = parse(argv)
    base, server = options.base, None
    if not base.startswith("http"):
        import live_server
        arguments = ["--rootfs", options.rootfs] if options.rootfs else []
        server = live_server.LiveServer(*arguments, binary=os.path.abspath(base))
        base = f"http://127.0.0.1:{server.port}"
        print("".join(line for line in server.log if "programs run on" in line), end="", flush=True)
    try:
        passed, failed, skipped = run_sets(base, options.directory, options.sets or list(SETS), options.template)
    finally:
        if server:
            server.stop()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
