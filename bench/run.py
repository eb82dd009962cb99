#!/usr/bin/env python3
"""Measures what a jail costs, beside the same program on the bare host and under bubblewrap.

  python3 bench/run.py BINARY [--rounds N] [--requests N] [--json FILE]

Prints a table of median, min and p99, then each promise of promises.json with what was measured.
Exits 1 when a promise is not kept.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "api"), str(HERE.parent / "tests")]
import live_server  # noqa: E402

PROGRAM = "print(6*7)"
PYTHON = ["/usr/bin/python3", "-c", PROGRAM]
MERGED = [word for name in ("bin", "lib", "lib64", "sbin") if os.path.islink(f"/{name}")
          for word in ("--symlink", os.readlink(f"/{name}"), f"/{name}")]
BUBBLEWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *MERGED, "--ro-bind", "/etc", "/etc",
              "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--", *PYTHON]


def once(command):
    started = time.perf_counter()
    finished = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - started
    if finished.stdout != b"42\n":
        raise SystemExit(f"{command[0]} did not print 42: {finished.stdout!r} {finished.stderr.decode(errors='replace')}")
    return seconds


def side_by_side(commands, rounds):
    """Every round runs each command once, so that a disturbance of the machine meets all of them."""
    times = {name: [] for name in commands}
    for number in range(-3, rounds):
        for name, command in commands.items():
            seconds = once(command)
            if number >= 0:
                times[name].append(seconds)
    return times


def one_client(server, requests):
    times = []
    with server.client() as client:
        for number in range(-10, requests):
            started = time.perf_counter()
            if client.execute(PROGRAM)["stdout"] != "42\n":
                raise SystemExit("the server did not say 42")
            if number >= 0:
                times.append(time.perf_counter() - started)
    return times


def many_clients(server, clients, requests):
    """(times of single requests, requests a second)."""
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        runs = [pool.submit(one_client, server, requests // clients) for _ in range(clients)]
        times = [seconds for run in runs for seconds in run.result()]
    return times, (len(times) + 10 * clients) / (time.perf_counter() - started)


def percentile(times, share):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def row(name, times, base, rate=None):
    median = statistics.median(times)
    ratio = f"{median / base:8.2f}" if base else " " * 8
    print(f"{name:<44} {median * 1e3:9.2f} {min(times) * 1e3:9.2f} {percentile(times, 0.99) * 1e3:9.2f} {ratio}"
          + (f"  {rate:9.1f}/s" if rate else ""))


def keep_promises(figures):
    broken = 0
    for promise in json.loads((HERE / "promises.json").read_text(encoding="utf-8"))["promises"]:
        above, below = (figures.get(promise[name]) for name in ("figure", "over"))
        if above is None or below is None:
            print(f"promise {promise['name']}: NOT MEASURED, {promise['over']} is not installed")
            continue
        ratio = above / below
        kept = ratio <= promise["at_most"]
        broken += not kept
        print(f"promise {promise['name']}: {ratio:.2f}, at most {promise['at_most']}: {'kept' if kept else 'BROKEN'}")
    return broken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)

    commands = {"host": PYTHON, "exec": [binary, "exec", "-c", PROGRAM]}
    if shutil.which("bwrap"):
        commands["bubblewrap"] = BUBBLEWRAP
    times = side_by_side(commands, options.rounds)
    server = live_server.LiveServer(binary=binary)
    try:
        times["http"] = one_client(server, options.requests)
        clients = 8
        times["http, 8 clients"], rate = many_clients(server, clients, options.requests)
        single_rate = 1 / statistics.mean(times["http"])
    finally:
        server.stop()

    host = statistics.median(times["host"])
    print(f"\n{PROGRAM} in a fresh process each time; milliseconds; ratio to the host's median\n")
    print(f"{'':<44} {'median':>9} {'min':>9} {'p99':>9} {'ratio':>8}")
    row("python3 on the host, no isolation", times["host"], host)
    if "bubblewrap" in times:
        row("bwrap --unshare-all python3", times["bubblewrap"], host)
    row("agent-sandbox exec", times["exec"], host)
    row("POST /execute, keep-alive, 1 client", times["http"], host, single_rate)
    row("POST /execute, keep-alive, 8 clients", times["http, 8 clients"], host, rate)
    if "bubblewrap" not in times:
        print("bubblewrap is not installed: no row for it")
    print()
    figures = {name: statistics.median(values) for name, values in times.items()}
    if options.json:
        options.json.write_text(json.dumps({name: sorted(values) for name, values in times.items()}), encoding="utf-8")
    return 1 if keep_promises(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
