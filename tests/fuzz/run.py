#!/usr/bin/env python3
"""Runs the fuzzers of a build, two at once, each from a copy of its corpus.

  python3 tests/fuzz/run.py --build DIR [--seconds N] [TARGET...]

Each target has to notice the fault that is planted in it (FUZZ_PLANTED), and then to go N seconds (default: 30)
without a finding. Prints a line for each, with the executions a second and the coverage; what was found, where
the input was kept and how to run it again; `FAILED target: what`, with the input in Base64, for who has nothing but
the output; last `N passed, N failed`. Exits 1 when something failed.
"""
import argparse
import base64
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
# The longest input of each target: longer ones are tested by unit tests.
LONGEST = {"agent": 4096, "collect": 2048, "egress": 4096, "execute": 4096, "form": 4096, "frames": 2048, "http": 4096, "policy": 4096,
           "pool": 2048, "proc": 2048, "sockets": 4096}
PLANTED_SECONDS = 60
SLOWEST_INPUT = 20
MEGABYTES = 2048
PRINTING = threading.Lock()


def say(text):
    with PRINTING:
        print(text, flush=True)


def copy_of_corpus(target, work):
    copy = work / "corpus"
    shutil.copytree(CORPUS / target, copy)
    return copy


def environment(work, planted):
    # A tree on a disk takes longer to make and to remove than to collect from.
    memory = pathlib.Path("/dev/shm")
    result = {**os.environ, "TMPDIR": str(work), "ASAN_OPTIONS": "allow_addr2line=1:allocator_may_return_null=1",
              "UBSAN_OPTIONS": "print_stacktrace=1"}
    if os.access(memory, os.W_OK):
        result["TMPDIR"] = tempfile.mkdtemp(prefix="fuzz.", dir=memory)
    result.pop("FUZZ_PLANTED", None)
    if planted:
        result["FUZZ_PLANTED"] = "1"
    return result


def fuzz(options, target, seconds, kept, planted=False):
    """Returns the finished process, and the place where it left the input that it ended on, if it did."""
    with tempfile.TemporaryDirectory(prefix="agent-sandbox-fuzz.") as name:
        work = pathlib.Path(name)
        kept.mkdir(parents=True, exist_ok=True)
        command = [binary(options, target), f"-max_total_time={seconds}", f"-timeout={SLOWEST_INPUT}",
                   f"-rss_limit_mb={MEGABYTES}", f"-max_len={LONGEST[target]}", "-print_final_stats=1",
                   f"-artifact_prefix={kept}/{target}-"]
        dictionary = HERE / f"{target}.dict"
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        variables = environment(work, planted)
        try:
            finished = subprocess.run([*map(str, command), str(copy_of_corpus(target, work))], env=variables,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, errors="replace", check=False, timeout=seconds + 300)
        finally:
            if variables["TMPDIR"] != name:
                shutil.rmtree(variables["TMPDIR"], ignore_errors=True)
    written = re.search(r"Test unit written to (\S+)", finished.stdout)
    return finished, pathlib.Path(written.group(1)) if written else None


def binary(options, target):
    return pathlib.Path(options.build).resolve() / "tests" / "fuzz" / f"fuzz_{target}"


def notices_the_planted(options, target):
    with tempfile.TemporaryDirectory(prefix="agent-sandbox-fuzz.") as name:
        finished, written = fuzz(options, target, PLANTED_SECONDS, pathlib.Path(name), planted=True)
    complaint = re.search(r"^FOUND: (.*)$", finished.stdout, re.MULTILINE)
    if finished.returncode and written and complaint:
        say(f"{target}: notices the planted fault ({complaint.group(1)})")
        return True
    say(f"{tail(finished.stdout)}FAILED {target}: the planted fault went unnoticed for {PLANTED_SECONDS} s")
    return False


def finds_nothing(options, target):
    kept = pathlib.Path(options.build).resolve() / "findings"
    finished, written = fuzz(options, target, options.seconds, kept)
    if finished.returncode == 0:
        say(f"{target}: {figures(finished.stdout)}")
        return True
    say(f"{tail(finished.stdout)}FAILED {target}: status {finished.returncode}, {complaint_in(finished.stdout)}"
        f"{input_in(written)}")
    if written:
        say(f"{target}: kept {written}\n"
            f"{target}: run it again with\n    {binary(options, target)} {written}")
    return False


def complaint_in(output):
    """Returns one line: the target's finding, or that of a sanitizer or libFuzzer."""
    for pattern in (r"^FOUND: .*$", r"^.*runtime error: .*$", r"^SUMMARY: .*$", r"^==.*ERROR: .*$"):
        said = re.search(pattern, output, re.MULTILINE)
        if said:
            return said.group()
    return "and nothing said why"


def input_in(written):
    if not written or not written.exists():
        return ""
    return f"; its input in Base64: {base64.b64encode(written.read_bytes()).decode()}"


def figures(output):
    def last(pattern):
        found = re.findall(pattern, output)
        return found[-1] if found else "?"
    return (f"{last(r'number_of_executed_units: *([0-9]+)')} inputs, "
            f"{last(r'average_exec_per_sec: *([0-9]+)')} a second, "
            f"coverage {last(r'cov: ([0-9]+)')} edges, {last(r'ft: ([0-9]+)')} features, "
            f"corpus {last(r'corp: ([0-9]+)')}, {last(r'peak_rss_mb: *([0-9]+)')} MB")


def tail(output):
    return "".join(f"    {line}\n" for line in output.splitlines()[-60:])


def run(options, target):
    """Returns how many of its two tests passed."""
    if not binary(options, target).exists():
        say(f"FAILED {target}: there is no {binary(options, target)}")
        return 0
    passed = 0
    for test in (notices_the_planted, finds_nothing):
        try:
            passed += test(options, target)
        except subprocess.TimeoutExpired:
            say(f"FAILED {target}: it did not end")
    return passed


def parse(argv):
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("targets", nargs="*", choices=[*LONGEST, []], metavar="TARGET")
    return parser.parse_args(argv)


def main():
    options = parse(sys.argv[1:])
    targets = options.targets or [*LONGEST]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as two_at_once:
        passed = sum(two_at_once.map(lambda target: run(options, target), targets))
    failed = 2 * len(targets) - passed
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
