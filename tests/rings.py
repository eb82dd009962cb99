#!/usr/bin/env python3
"""Runs rings of tests and counts the result of each of their tests. `./dev test` is its caller.

  rings.py ring    --record FILE --name NAME --build DIR --label RING [--uid N] [--jobs N] [--repeat N]
                   [--time-scale N]
  rings.py command --record FILE --name NAME -- COMMAND...
  rings.py skip    --record FILE --name NAME --ring RING --reason TEXT [--left-out]
  rings.py fail    --record FILE --name NAME --reason TEXT
  rings.py close   --record FILE

All but the last append one JSON line to FILE and exit 0 when they could do their work, whatever the
tests said. `close` prints all counts, every skip with its reason and every failure, and last the
line `N passed, N failed, N skipped`; it exits 1 when something failed.

`command` takes its counts from such a line at the end of the command's output, else the command
itself is the one test. REQUIRE=kernel,api in the environment turns skips in these rings into failures.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import time_scale

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
KEPT_OUTPUT = 200_000
LONGEST = 12  # tests of ctest whose times are printed for each ring
# Rings whose tests by GoogleTest are a test of ctest together, one for each binary (add_ring_test).
WHOLE_BINARIES = ("unit", "golden", "deploy")


class Outcome:
    """The results of one step's tests. A skip in a required ring is a failure."""

    def __init__(self, name, ring):
        self.name, self.ring = name, ring
        self.passed, self.failed, self.skipped = 0, [], []
        self.times = {}  # seconds of each test of ctest, over all repeats
        self.left_out = False
        self._started = time.monotonic()

    def skip(self, test, reason):
        required = os.environ.get("REQUIRE", "").replace(" ", "").split(",")
        if self.ring in required:
            self.failed.append((test, f"skipped although REQUIRE names {self.ring}: {reason}"))
        else:
            self.skipped.append((test, reason))

    def line(self):
        return (f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped")

    def append_to(self, record):
        seconds = time.monotonic() - self._started
        for test, text in self.failed:
            print(f"\n--- FAILED {test}\n{text.rstrip()}")
        print(f"=== {self.name}: {self.line()} ({seconds:.1f} s)", flush=True)
        longest = sorted(self.times.items(), key=lambda each: each[1], reverse=True)[:LONGEST]
        if len(self.times) > 1:
            print("    longest: " + ", ".join(f"{test} {taken:.0f} s" for test, taken in longest), flush=True)
        entry = {"name": self.name, "passed": self.passed, "failed": self.failed,
                 "skipped": self.skipped, "left_out": self.left_out, "seconds": seconds}
        with open(record, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")


def run_ring(options):
    outcome = Outcome(options.name, options.label)
    print(f"\n=== {options.name} ...", flush=True)
    with scratch_directory(None) as hold:
        prefix, obstacle = [], None
        if options.uid is not None:
            prefix, obstacle = as_user(options.uid, pathlib.Path(options.build).resolve(), hold)
        if obstacle:
            outcome.skip(options.name, obstacle)
        else:
            for _ in range(options.repeat):
                with scratch_directory(options.uid) as work:
                    run_ctest(options, prefix, work, outcome)
    outcome.append_to(options.record)


def run_ctest(options, prefix, work, outcome):
    # CTest writes into the directory it is started in; a directory of its own leaves the build tree
    # readable only, for a user who does not own it.
    build = pathlib.Path(options.build).resolve()
    (work / "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n', encoding="utf-8")
    for name in ("results", "results/gtest", "home", "tmp"):
        (work / name).mkdir()
        if options.uid is not None:
            os.chown(work / name, options.uid, options.uid)
    environment = {**os.environ, "HOME": str(work / "home"), "TMPDIR": str(work / "tmp"),
                   "AGENT_SANDBOX_RESULTS": str(work / "results"),
                   **time_scale.for_ring(build, options.time_scale),
                   "UBSAN_OPTIONS": "print_stacktrace=1"}
    environment.pop("XDG_CACHE_HOME", None)
    if options.label in WHOLE_BINARIES:
        environment["GTEST_OUTPUT"] = f"json:{work}/results/gtest/"
    without = ["-LE", f"^{options.excluded}$"] if options.excluded else []
    command = [*prefix, "ctest", "--test-dir", str(work), "-L", f"^{options.label}$", *without,
               "--no-tests=error", "-j", str(options.jobs), "--output-junit", str(work / "junit.xml"),
               "--test-output-size-passed", str(KEPT_OUTPUT),
               "--test-output-size-failed", str(KEPT_OUTPUT)]
    finished = subprocess.run(command, cwd="/", env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    report = work / "junit.xml"
    if not report.exists():
        outcome.failed.append((options.name, f"ctest ended with {finished.returncode} and no report:"
                                             f"\n{finished.stdout}"))
        return
    before = len(outcome.failed)
    counted = read_report(report, work / "results", outcome)
    if counted == 0:
        outcome.failed.append((options.name, f"no test has the label {options.label}"))
    elif finished.returncode != 0 and len(outcome.failed) == before and not outcome.skipped:
        outcome.failed.append((options.name, f"ctest ended with {finished.returncode} although every "
                                             f"test passed:\n{finished.stdout}"))


def read_report(report, results, outcome):
    cases = ElementTree.parse(report).getroot().findall("testcase")
    for case in cases:
        name = case.get("name")
        outcome.times[name] = outcome.times.get(name, 0) + float(case.get("time") or 0)
        output = case.findtext("system-out") or ""
        failure = case.find("failure")
        suite, binary = results / f"{name}.json", results / "gtest" / f"{name}.json"
        if binary.exists():
            before = len(outcome.failed)
            read_binary(name, json.loads(binary.read_text(encoding="utf-8")), outcome)
            if failure is not None and len(outcome.failed) == before:
                outcome.failed.append((name, f"{failure.get('message')}\n{output}"))
        elif suite.exists():
            record = json.loads(suite.read_text(encoding="utf-8"))
            outcome.passed += len(record["passed"])
            outcome.failed += [(f"{name}.{test}", text) for test, text in record["failed"]]
            for test, reason in record["skipped"]:
                outcome.skip(f"{name}.{test}", reason)
            if failure is not None and not record["failed"]:
                outcome.failed.append((name, f"{failure.get('message')}\n{output}"))
        elif failure is not None or case.get("status") == "fail":
            message = failure.get("message") if failure is not None else ""
            outcome.failed.append((name, f"{message}\n{output}"))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped_by_test = "[  SKIPPED ]" in output
            if skipped_by_test:
                outcome.skip(name, skip_reason(output))
            else:
                # "Not run" also means that the binary is missing: nobody chose to skip that.
                reason = case.find("skipped")
                text = reason.get("message") if reason is not None else "not run"
                outcome.failed.append((name, f"{text}\n{output}"))
        else:
            outcome.passed += 1
    return len(cases)


def read_binary(name, report, outcome):
    """Reads GoogleTest's report about all tests of one binary."""
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            full = f"{name}.{suite['name']}.{test['name']}"
            if test.get("failures"):
                outcome.failed.append((full, "\n".join(each["failure"] for each in test["failures"])))
            elif test["result"] == "SKIPPED":
                outcome.skip(full, "; ".join(each["message"].strip() for each in test.get("skipped", [])) or "no reason given")
            elif test["status"] == "RUN":
                outcome.passed += 1


def skip_reason(output):
    """GoogleTest prints `file:line: Skipped`, then the message, then an empty line."""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if line.endswith(": Skipped"):
            message = []
            for following in lines[number + 1:]:
                if not following.strip() or following.startswith("["):
                    break
                message.append(following.strip())
            return " ".join(message) or "no reason given"
    return "no reason given"


@contextlib.contextmanager
def scratch_directory(uid):
    path = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-ring."))
    try:
        # A program that a test starts may change its user, and must still reach its own temporary files.
        path.chmod(0o755)
        if uid is not None:
            os.chown(path, uid, uid)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def as_user(uid, build, hold):
    """The command prefix that runs the rest as `uid`, and the obstacle to that if there is one."""
    change = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    closed = next((path for path in [*reversed(build.parents)]
                   if subprocess.run([*change, "test", "-x", path], check=False).returncode), None)
    if closed is None:
        return change, None
    if SOURCE not in build.parents:
        return [], f"user {uid} cannot reach {build}, which is outside of the checkout"
    # The checkout lies under a directory that only its owner enters (a fresh mktemp -d, /root). In a
    # mount namespace of its own that directory is covered by one with nothing but the checkout in it.
    script = ('set -eu; hold=$1 closed=$2 source=$3; shift 3; mount --bind "$source" "$hold"; '
              'mount -t tmpfs -o mode=755 tmpfs "$closed"; mkdir -p "$source"; '
              'mount --bind "$hold" "$source"; umount "$hold"; exec "$@"')
    prefix = ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script, "sh",
              str(hold), str(closed), str(SOURCE), *change]
    tried = subprocess.run([*prefix, "test", "-r", str(SOURCE / "dev")], capture_output=True,
                           text=True, check=False)
    if tried.returncode:
        return [], f"user {uid} cannot enter {closed}: {tried.stderr.strip() or 'still unreadable'}"
    return prefix, None


def run_command(options):
    outcome = Outcome(options.name, options.name)
    print(f"\n=== {options.name} ...", flush=True)
    last, kept, named = "", [], []
    scale = time_scale.for_ring(options.build, None) if options.build else {}
    with subprocess.Popen(options.command, env={**os.environ, **scale}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
            kept = [*kept[-40:], line]
            named += re.findall(r"^FAILED ([^:]+): (.+)", line)
    closing = CLOSING.match(last)
    tail = "".join(kept)
    if closing:
        outcome.passed, failed = int(closing.group(1)), int(closing.group(2))
        outcome.failed += (named + [(options.name, tail)] * failed)[:failed]
        for _ in range(int(closing.group(3) or 0)):
            outcome.skip(options.name, "see its output")
    if process.returncode and not outcome.failed:
        outcome.failed.append((options.name, f"exit status {process.returncode}\n{tail}"))
    elif not closing and not process.returncode:
        outcome.passed = 1
    outcome.append_to(options.record)


def record_skip(options):
    outcome = Outcome(options.name, options.ring)
    outcome.skip(options.name, options.reason)
    outcome.left_out = options.left_out
    outcome.append_to(options.record)


def record_failure(options):
    outcome = Outcome(options.name, options.name)
    outcome.failed.append((options.name, options.reason))
    outcome.append_to(options.record)


def close(options):
    entries = []
    if os.path.exists(options.record):
        with open(options.record, encoding="utf-8") as lines:
            entries = [json.loads(line) for line in lines]
    width = max([len(entry["name"]) for entry in entries], default=0)
    print()
    for entry in entries:
        print(f"{entry['name']:<{width}}  {entry['passed']:>5} passed  {len(entry['failed']):>3} failed"
              f"  {len(entry['skipped']):>3} skipped  {entry['seconds']:>7.1f} s")
    for word in ("skipped", "failed"):
        for entry in entries:
            for test, text in entry[word]:
                line = (text.strip().splitlines() or ["no reason given"])[-1 if word == "failed" else 0]
                print(f"{word.upper()} [{entry['name']}] {test}: {line}")
    passed = sum(entry["passed"] for entry in entries)
    failed = sum(len(entry["failed"]) for entry in entries)
    skipped = sum(len(entry["skipped"]) for entry in entries)
    if passed + failed + skipped == 0:
        print("nothing was tested")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    left_out = [entry["name"] for entry in entries if entry["left_out"]]
    if left_out:
        print(f"left out for want of time: {'; '.join(left_out)}", flush=True)
    return 1 if failed else 0


def parse(argv):
    parser = argparse.ArgumentParser(prog="rings.py")
    steps = parser.add_subparsers(dest="step", required=True)
    ring = steps.add_parser("ring")
    ring.add_argument("--build", required=True)
    ring.add_argument("--label", required=True)
    ring.add_argument("--except", dest="excluded", metavar="LABEL", help="without the tests that have this label too")
    ring.add_argument("--uid", type=int)
    ring.add_argument("--jobs", type=int, default=1)
    ring.add_argument("--repeat", type=int, default=1)
    ring.add_argument("--time-scale", type=float)
    command = steps.add_parser("command")
    command.add_argument("--build", help="its program measures how long deadlines are here")
    command.add_argument("command", nargs="+")
    skip = steps.add_parser("skip")
    skip.add_argument("--ring", required=True)
    skip.add_argument("--left-out", action="store_true")
    fail = steps.add_parser("fail")
    for step in (skip, fail):
        step.add_argument("--reason", required=True)
    for step in (ring, command, skip, fail, steps.add_parser("close")):
        step.add_argument("--record", required=True)
        if step.prog.split()[-1] != "close":
            step.add_argument("--name", required=True)
    return parser.parse_args(argv)


def main():
    options = parse(sys.argv[1:])
    if options.step == "close":
        return close(options)
    steps = {"ring": run_ring, "command": run_command, "skip": record_skip, "fail": record_failure}
    steps[options.step](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
