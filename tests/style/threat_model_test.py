"""Every promise of the threat model names the tests that hold it, and those are there."""
import re

import tree

PAGE = "policies/THREAT_MODEL.md"
BEGIN, END = "## Promises", "## What is not promised"


def promises(text):
    """Returns the number of each line of the tables below `BEGIN`, with its last cell."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        inside = line != END and (inside or line == BEGIN)
        if inside and line.startswith("|") and not re.match(r"\|( promise \||-)", line):
            yield number, line.strip("|").split("|")[-1]


def is_there(name, root):
    """A test is an attack, `Suite.Test` in C++, or `suite: test` in Python, which is in the api ring where no ring
    is named."""
    def is_in(pattern, *globs):
        return any(re.search(pattern, tree.text_of(path), re.MULTILINE) for paths in globs for path in root.glob(paths))
    if re.fullmatch(r"\w+", name):
        return any(root.glob(f"tests/escape/*attacks/{name}.*"))
    if found := re.fullmatch(r"(\w+)\.(\w+)", name):
        return is_in(rf"^TEST(_F|_P)?\({found[1]},\s*{found[2]}\)", "tests/kernel/*.cc", "tests/cgroup/*.cc", "tests/unit/**/*.cc")
    if found := re.fullmatch(r"(?:(\w+)\.)?(\w+): (\w+)", name):
        return is_in(rf"^ +def {found[3]}\(", f"tests/{found[1] or 'api'}/**/{found[2]}_test.py")
    return False


def promises_without_tests(root):
    violations = []
    for number, cell in promises(tree.text_of(root / PAGE)):
        names = re.findall("`([^`]+)`", cell)
        violations += [f"{PAGE}:{number} names {name}, which is not there" for name in names if not is_there(name, root)]
        if not names:
            violations.append(f"{PAGE}:{number} names no test")
    return violations


class ThreatModel(tree.RuleTest):
    def test_every_promise_has_its_tests(self):
        self.assertGreater(len(list(promises(tree.text_of(tree.PROJECT / PAGE)))), 20)
        self.assert_project_keeps(promises_without_tests)

    def test_control_missing_tests_are_found(self):
        page = f"{BEGIN}\n| promise | by | test |\n|---|---|---|\n| a | b | `gone`, `bomb` |\n| a | b | none |\n| a | b | `x: test_b` |\n{END}\n| c |\n"
        self.assert_rule_finds(promises_without_tests, {PAGE: page, "tests/escape/attacks/bomb.py": "", "tests/api/x_test.py": "    def test_a(self):"},
                               ":4 names gone", ":5 names no test", ":6 names x: test_b")
