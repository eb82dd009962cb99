#!/usr/bin/env python3
"""Measures the cost of a jail, beside the same program under all other sandboxes of this machine.

  python3 bench/run.py BUILD [--quick] [--check] [--json FILE] [--chart FILE] [--only PART]...

BUILD is the build directory with agent-sandbox and the programs of bench/. Prints tables; with
--check each promise of promises.json with what was measured, and exits 1 when a gate is broken.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import chart
import figures as figures_module
import measure

HERE = pathlib.Path(__file__).resolve().parent


def machine(build):
    """Describes this host, and the cost of a jail's basic operations on it, as the measured binary reports them."""
    said = subprocess.run([build / "server" / "cli" / "agent-sandbox", "doctor", "--speed", "--json"], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    speed = json.loads(said)
    return {"processor": speed["processor"], "cores": speed["processors"], "kernel": speed["kernel"], "load": os.getloadavg()[0],
            "user": "root" if os.geteuid() == 0 else "an ordinary user", "speed": speed}


def is_ours(name):
    return name.startswith(("exec", "in process", "http"))


def report(figures, host, options):
    print(f"\n{measure.CODE} in a fresh process each time (where it says pandas, {measure.PANDAS}), over TCP and kept connections;")
    print(f"host: {host['speed']['description']}")
    print(f"load {host['load']:.2f} before, {os.getloadavg()[0]:.2f} after, as {host['user']}\n")
    print("\n".join(figures_module.table(figures, "python3")))
    for name in figures.phases:
        print()
        print("\n".join(figures_module.phase_table(figures, name)))
    print()
    for name, why in figures.missing.items():
        print(f"not here: {name}: {why}")
    broken = False
    judged = []
    if options.check:
        promises = json.loads((HERE / "promises.json").read_text(encoding="utf-8"))["promises"]
        judged, broken = figures_module.judge(figures, promises)
        print()
        print("\n".join(judged))
    summary = {"machine": host, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               **figures.summary(), "promises": judged}
    if options.json:
        options.json.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    if options.chart:
        caption = f"{host['processor']}, {host['cores']} cores, Linux {host['kernel']}; {summary['date'][:10]}; ./dev bench --chart"
        options.chart.write_text(chart.svg(summary, is_ours, caption), encoding="utf-8")
    return 1 if broken else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="a minute instead of ten")
    parser.add_argument("--check", action="store_true", help="judge promises.json")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--chart", type=pathlib.Path, nargs="?", const=HERE / "chart.svg")
    parser.add_argument("--only", action="append", choices=measure.PARTS, default=[])
    options = parser.parse_args()
    # A thousand jails take more descriptors of their owner than most shells allow.
    with contextlib.suppress(ValueError):  # root without the capability may not either
        resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))
    build = options.build.resolve()
    host = machine(build)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agent-sandbox-bench.") as directory:
        os.chmod(directory, 0o755)
        figures = measure.Run(build, measure.QUICK if options.quick else measure.FULL, pathlib.Path(directory), options.only).measure()
    figures.numbers["seconds that all of this took"] = time.monotonic() - started
    return report(figures, host, options)


if __name__ == "__main__":
    sys.exit(main())
