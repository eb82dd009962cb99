#!/usr/bin/env python3
"""Gives a server a mixed load and judges whether it stays as it was.

  python3 tests/soak/run.py BINARY [--minutes N] [--plot FILE.svg] [--json FILE]

One line for each measure, what went wrong, and last `N passed, N failed`; exits 1 when something failed.
"""
import argparse
import json
import os
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in ("api", ".")]
import host_view  # noqa: E402
import live_server  # noqa: E402
import load  # noqa: E402
import samples  # noqa: E402

INTERVAL = 5
LEAST_SAMPLES = 12


def parse(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(argv)
    if options.minutes * 60 < LEAST_SAMPLES * INTERVAL:
        parser.error(f"--minutes {options.minutes} is too short: at least {LEAST_SAMPLES * INTERVAL / 60:g}")
    return options


def soak(server, minutes):
    """Samples with their second, and the load after its end."""
    taken, started = [], time.monotonic()
    with load.Load(server) as clients:
        while time.monotonic() - started < 60 * minutes and server.exit_status is None:
            time.sleep(INTERVAL)
            taken.append((time.monotonic() - started, samples.take(server, clients.take_times())))
    return taken, clients


def judge(taken):
    """Prints each measure. Returns how many did not grow, and how many did."""
    flat, grown = 0, 0
    for measure in samples.MEASURES:
        values = [sample[measure.name] for _, sample in taken if measure.name in sample]
        if len(values) < LEAST_SAMPLES:
            print(f"not here  {measure.name}")
            continue
        before, after = samples.quarters(values)
        is_grown = samples.has_grown(measure, before, after)
        grown, flat = grown + is_grown, flat + (not is_grown)
        print(f"{'GREW' if is_grown else 'flat':9} {measure.name}: {before:.1f}, then {after:.1f} {measure.unit}; most {max(values):.1f}")
    return flat, grown


def main(argv):
    options = parse(argv)
    if options.plot:
        import plot  # what it needs is missing at once, or not at all
    host_view.become_subreaper()
    server = live_server.LiveServer(binary=os.path.abspath(options.binary))
    try:
        taken, clients = soak(server, options.minutes)
        died = server.exit_status is not None
    finally:
        server.stop()
    print("requests  " + ", ".join(f"{count} {name}" for name, count in sorted(clients.counts.items())))
    passed, failed = judge(taken)
    print(f"answers   {len(clients.wrong)} wrong")
    for text in clients.wrong[:20]:
        print(f"  {text}")
    left = host_view.left_behind()
    for text in left.values():
        print(f"left behind: {text}")
    for is_wrong in (bool(clients.wrong), bool(left), died):
        passed, failed = passed + (not is_wrong), failed + is_wrong
    if options.json:
        options.json.write_text(json.dumps(taken), encoding="utf-8")
    if options.plot:
        plot.write(options.plot, taken)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
