#!/usr/bin/env python3
"""Runs one unittest module and counts its methods.

  python3 tests/suite.py NAME FILE [PATTERN]

One line a method, the closing line `N passed, N failed, N skipped`, exit status 1 on a failure and
77 when everything was skipped. With AGENT_SANDBOX_RESULTS=DIR the same goes to DIR/NAME.json.
PATTERN keeps the methods whose name contains it.
"""
import importlib.util
import json
import os
import pathlib
import sys
import time
import unittest


class Counting(unittest.TestResult):
    """One outcome a method: a failing subtest, set-up or tear-down fails its method."""

    def __init__(self):
        super().__init__()
        self.passed, self.failed, self.skips = [], {}, []
        self._started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        name = self._name(test)
        if name in self.failed:
            word = "FAIL"
        elif any(name == skipped for skipped, _ in self.skips):
            word = "SKIP"
        else:
            self.passed.append(name)
            word = "PASS"
        print(f"{word} {name} ({time.monotonic() - self._started:.2f} s)", flush=True)

    def addFailure(self, test, err):
        self._fail(test, err)

    def addError(self, test, err):
        self._fail(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._fail(test, err, f"{subtest._subDescription()}\n")

    def addSkip(self, test, reason):
        self.skips.append((self._name(test), reason))

    def addUnexpectedSuccess(self, test):
        self.failed.setdefault(self._name(test), []).append("succeeded although it must fail")

    def _fail(self, test, err, where=""):
        text = where + self._exc_info_to_string(err, test)
        self.failed.setdefault(self._name(test), []).append(text)
        print(text, flush=True)

    @staticmethod
    def _name(test):
        return getattr(test, "_testMethodName", None) or str(test)


def load(path):
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def select(suite, pattern):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from select(test, pattern)
        elif pattern in getattr(test, "_testMethodName", ""):
            yield test


def main(argv):
    if len(argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    name, path = argv[1], pathlib.Path(argv[2]).resolve()
    pattern = argv[3] if len(argv) == 4 else ""
    loaded = unittest.defaultTestLoader.loadTestsFromModule(load(path))
    result = Counting()
    unittest.TestSuite(select(loaded, pattern)).run(result)
    if not (result.passed or result.failed or result.skips):
        result.failed[name] = ["no test was found"]

    for skipped, reason in result.skips:
        print(f"SKIP {skipped}: {reason}")
    print(f"{len(result.passed)} passed, {len(result.failed)} failed, {len(result.skips)} skipped")
    results = os.environ.get("AGENT_SANDBOX_RESULTS")
    if results:
        record = {"passed": result.passed, "skipped": result.skips,
                  "failed": [(test, "\n".join(texts)) for test, texts in result.failed.items()]}
        pathlib.Path(results, f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    if result.failed:
        return 1
    return 0 if result.passed else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv))
