#!/usr/bin/env python3
"""Gives the four examples a mixed load at the same time, with libjail and the examples built with ASan and UBSan, and judges whether
they stay as they were, leave nothing behind and leak nothing.

  python3 tests/soak/examples.py BUILD [--minutes N]

BUILD is a build directory of the preset asan, with the targets jail/all. One line for each measure, what went wrong, and last
`N passed, N failed`; exits 1 when something failed.
"""
import argparse
import pathlib
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / part) for part in ("embed", ".")]
import built_examples  # noqa: E402
import example_apache_test  # noqa: E402
import example_convert_test  # noqa: E402
import example_load  # noqa: E402
import host_view  # noqa: E402
import ordinary_user  # noqa: E402
import samples  # noqa: E402

INTERVAL = 5
LEAST_SAMPLES = 8
# What httpd itself does not free at its end.
NOT_OURS = "leak:apr_allocator_create\n"
LEAK = """#include <stdlib.h>
int main(void) {
  char* volatile lost = malloc(4321);
  lost[0] = 1;
  lost = NULL;
}
"""


def measures(name):
    return (samples.Measure(f"memory of {name}", "MiB", 0.25, 16), samples.Measure(f"descriptors of {name}, beside jails", "", 0.25, 12),
            samples.Measure(f"processes of {name}", "", 0.5, 20))


class Examples:
    def __init__(self, build):
        self.package = built_examples.InstalledPackage(pathlib.Path(build).resolve(), built_examples.SANITIZED)
        self.reports = self.package.scratch("reports")
        self.servers = {}

    def start(self):
        (self.package.root / "suppressions").write_text(NOT_OURS, encoding="utf-8")
        options = f"log_path={self.reports}/found"
        # The quarantine is small, so that freed memory is seen to be freed.
        address = f"{options}:detect_leaks=1:quarantine_size_mb=8:malloc_context_size=12"
        environment = {
            "ASAN_OPTIONS": address,
            "UBSAN_OPTIONS": f"{options}:print_stacktrace=1",
            "LSAN_OPTIONS": f"{options}:suppressions={self.package.root}/suppressions:print_suppressions=0",
        }
        self.assert_leaks_are_seen(environment)
        built = {name: self.package.build(name) for name in ("script_daemon", "asio_service", "apache_module", "convert_untrusted")}
        scratch = self.package.scratch("running")
        daemon = built_examples.Daemon(self.package, built["script_daemon"] / "script_daemon", scratch / "socket", **environment)
        self.servers["the daemon"] = daemon
        service = built_examples.Daemon(self.package, built["asio_service"] / "asio_service", "0", **environment)
        self.servers["the service"] = service
        # httpd loads its modules anew at each restart, and ASan keeps what it knows of every global it ever met.
        of_httpd = {**environment, "ASAN_OPTIONS": f"{address}:report_globals=0"}
        httpd = example_apache_test.Httpd(self.package, self.package.scratch("httpd"), built["apache_module"],
                                          **of_httpd, LD_PRELOAD=f"{library('libasan.so')} {library('libubsan.so')}")
        self.servers["httpd"] = httpd
        return example_load.Places(daemon, service, httpd, self.converter(built["convert_untrusted"]), self.package.scratch("images"))

    def assert_leaks_are_seen(self, environment):
        """A control: where the sanitizer may not look into a process it finds nothing, in none."""
        program = self.package.root / "leak"
        subprocess.run(["gcc", "-x", "c", "-", *built_examples.SANITIZED.split(), "-o", program], input=LEAK, text=True, check=True)
        subprocess.run([program], env=self.package.run_environment(**environment), check=False, **ordinary_user.NOT_ROOT)
        reports = list(self.reports.iterdir())
        if len(reports) != 1 or "4321 byte" not in reports[0].read_text(encoding="utf-8"):
            raise AssertionError(f"a planted leak was not reported: {self.found()}")
        reports[0].unlink()

    def converter(self, built):
        """The command that converts an input of some kind."""
        inputs = self.package.scratch("inputs")
        taken_over = self.package.root / "taken_over"
        built_examples.checked("gcc", example_convert_test.HERE / "taken_over.c", "-o", taken_over)
        (inputs / "good").write_bytes(example_convert_test.png(64, 64, example_convert_test.RED))
        for attack in ("socket", "flood", "child"):
            (inputs / attack).write_text(attack, encoding="utf-8")
        return lambda kind, output: [built / "convert_untrusted", inputs / kind, output, *([] if kind == "good" else [taken_over])]

    def sample(self):
        found = {}
        for name, server in self.servers.items():
            found[f"memory of {name}"] = server.resident_bytes() / samples.MEBIBYTE
            found[f"descriptors of {name}, beside jails"] = server.descriptors_beside_jails()
            found[f"processes of {name}"] = len(host_view.descendants(server.pid))
        return found

    def stop(self):
        """The processes that did not end as they should."""
        wrong = []
        for name, server in self.servers.items():
            status = server.stop(60)
            if status != 0:
                wrong.append(f"{name} ended with {status}: {server.said()[-2000:]}")
        return wrong

    def found(self):
        """The sanitizers' reports, from any process."""
        return [path.read_text(encoding="utf-8", errors="replace") for path in sorted(self.reports.iterdir())]


def library(name):
    return subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def judge(names, taken):
    """Prints each measure. Returns how many did not grow, and how many did."""
    grown = 0
    every = [measure for name in names for measure in measures(name)]
    for measure in every:
        values = [sample[measure.name] for sample in taken]
        before, after = samples.quarters(values)
        is_grown = samples.has_grown(measure, before, after)
        grown += is_grown
        print(f"{'GREW' if is_grown else 'flat':9} {measure.name}: {before:.1f}, then {after:.1f} {measure.unit}; most {max(values):.1f}")
    return len(every) - grown, grown


def soak(examples, minutes):
    places = examples.start()
    taken, end = [], time.monotonic() + 60 * minutes
    with example_load.Load(places) as load:
        while time.monotonic() < end:
            time.sleep(INTERVAL)
            taken.append(examples.sample())
    return taken, load


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args(argv)
    if options.minutes * 60 < LEAST_SAMPLES * INTERVAL:
        parser.error(f"--minutes {options.minutes} is too short: at least {LEAST_SAMPLES * INTERVAL / 60:g}")
    host_view.become_subreaper()
    examples = Examples(options.build)
    try:
        try:
            taken, load = soak(examples, options.minutes)
        finally:
            troubles = {"ended badly": examples.stop(), "sanitizers": examples.found()}
    finally:
        examples.package.remove()
    print("requests  " + ", ".join(f"{count} {name}" for name, count in sorted(load.counts.items())))
    passed, failed = judge(examples.servers, taken)
    troubles |= {"wrong answers": load.wrong, "left behind": list(host_view.left_behind().values())}
    for name, texts in troubles.items():
        print(f"{len(texts):<9} {name}")
        for text in texts[:10]:
            print(f"  {text}")
        passed, failed = passed + (not texts), failed + bool(texts)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
