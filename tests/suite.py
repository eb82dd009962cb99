#!/usr/bin/env python3
"""Runs one unittest module and counts its methods.

  python3 tests/suite.py NAME FILE [PATTERN...]

One line a method, the closing line `N passed, N failed, N skipped`, exit status 1 on a failure and
77 when everything was skipped. With AGENT_SANDBOX_RESULTS=DIR the same goes to DIR/NAME.json.
A PATTERN keeps the methods whose CLASS.METHOD contains it; of several, each keeps its own. One that
keeps nothing runs nothing: it is named, with the names that are near to it.
"""
import difflib
import importlib.util
import json
import os
import pathlib
import sys
import time
import unittest


class Counting(unittest.TestResult):
    """Counts one outcome a method: a failing subtest, set-up or tear-down fails its method."""

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


def full_name(test):
    return f"{type(test).__name__}.{getattr(test, '_testMethodName', '')}"


def select(suite, *patterns):
    """Selects the tests whose full name contains one of the patterns."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from select(test, *patterns)
        elif any(pattern in full_name(test) for pattern in patterns):
            yield test


def near_names(names, pattern):
    """Returns similar names of methods and of their classes; all names where few are similar."""
    known = sorted({part for name in names for part in (name, *name.split("."))})
    return difflib.get_close_matches(pattern, known, n=5, cutoff=0.4) or sorted(set(names))[:20]


def main(argv):
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    name, path, patterns = argv[1], pathlib.Path(argv[2]).resolve(), argv[3:] or [""]
    loaded = unittest.defaultTestLoader.loadTestsFromModule(load(path))
    names = [full_name(test) for test in select(loaded, "")]
    for pattern in patterns:
        if names and not any(pattern in known for known in names):
            print(f"{path.name}: no test matches {pattern!r}; near: {', '.join(near_names(names, pattern))}", file=sys.stderr)
            return 2
    result = Counting()
    unittest.TestSuite(select(loaded, *patterns)).run(result)
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
