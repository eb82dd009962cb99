"""The checkout as the style tests read it, and small trees planted to prove that a rule bites."""
import pathlib
import re
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("jail", "runtime", "server", "policies", "rootfs", "bench", "tests")
CODE = (".cc", ".h", ".c", ".S")
NOT_OURS = {"build", ".git", ".cache", "__pycache__", "node_modules"}


def files(root):
    """Every file of the project under `root`, without git: a tarball has none."""
    found = [path for path in root.iterdir() if path.is_file()]
    for folder in (*FOLDERS, ".ci"):
        found += [path for path in (root / folder).rglob("*") if path.is_file()]
    return sorted(path for path in found
                  if not NOT_OURS.intersection(path.relative_to(root).parts))


def code_files(root):
    return [path for path in files(root) if path.suffix in CODE]


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def without_comments_and_strings(source):
    """The same length and lines, with what a compiler would not read as code blanked."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                         r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


def line_of(source, offset):
    return source.count("\n", 0, offset) + 1


class RuleTest(unittest.TestCase):
    """A rule is a function from a tree to the list of its violations, one line each."""

    maxDiff = None

    def assert_project_keeps(self, rule):
        self.assertTrue((PROJECT / "CMakeLists.txt").exists())
        self.assertEqual([], rule(PROJECT))

    @staticmethod
    def violations(rule, planted):
        """Returns the violations of the rule in a planted tree; `planted` maps paths to texts."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in planted.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return rule(root)

    def assert_rule_finds(self, rule, planted, *expected):
        """Each of `expected` must be a part of one violation."""
        violations = self.violations(rule, planted)
        for part in expected:
            self.assertTrue(any(part in violation for violation in violations),
                            f"{part!r} is not in {violations}")
        self.assertEqual(len(expected), len(violations), violations)
