"""Names say what a thing is. The words below fit everything, so they say nothing."""
import re

import tree

EMPTY_WORDS = {"manager", "managers", "helper", "helpers", "util", "utils", "utility", "utilities",
               "misc", "data", "info", "infos"}
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?|concept)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*)?([A-Za-z_]\w*)(?=\s*(?:final\b|[:{;=]))|"
                  r"\busing\s+([A-Za-z_]\w*)\s*=|\btypedef\b[^;]*?\b([A-Za-z_]\w*)\s*;")
PYTHON_TYPE = re.compile(r"^\s*class\s+(\w+)", re.MULTILINE)
# data.json: requests name that template so.
NOT_NAMED_BY_US = {"README.md", "CMakeLists.txt", "LICENSE", "data.json"}


def words(name):
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def empty_names(root):
    violations = []
    for path in tree.files(root):
        where = path.relative_to(root).as_posix()
        if path.name not in NOT_NAMED_BY_US:
            for word in sorted(words(where) & EMPTY_WORDS):
                violations.append(f"{where}: its path says \"{word}\"")
        if path.suffix in tree.CODE:
            source = tree.without_comments_and_strings(tree.text_of(path))
            names = [(match, next(filter(None, match.groups()))) for match in TYPE.finditer(source)]
        elif path.suffix == ".py":
            source = tree.text_of(path)
            names = [(match, match.group(1)) for match in PYTHON_TYPE.finditer(source)]
        else:
            continue
        for match, name in names:
            for word in sorted(words(name) & EMPTY_WORDS):
                line = tree.line_of(source, match.start())
                violations.append(f"{where}:{line} type {name} says \"{word}\"")
    return violations


class Names(tree.RuleTest):
    def test_project(self):
        self.assert_project_keeps(empty_names)

    def test_control(self):
        planted = {
            "jail/src/fd_utils.cc": "struct Fd;\n",
            "runtime/misc/a.cc": "int x;\n",
            "runtime/a.h": "class PoolManager final : public X {};\n// class DataHolder {};\n"
                           "struct [[nodiscard]] RunInfo {};\nusing JobData = int;\nenum class Database { a };\n",
            "tests/a.py": "class TestHelper:\n    pass\n",
        }
        self.assert_rule_finds(empty_names, planted, 'fd_utils.cc: its path says "utils"',
                               'a.cc: its path says "misc"', "type PoolManager", "type RunInfo",
                               "type JobData", "type TestHelper")
