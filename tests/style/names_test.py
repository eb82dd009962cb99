"""Names say what a thing is. EMPTY_WORDS fit everything, so they say nothing and are in no name of a file or type."""
import re

import tree

EMPTY_WORDS = {"manager", "managers", "helper", "helpers", "util", "utils", "utility", "utilities",
               "misc", "data", "info", "infos"}
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?|concept)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*)?([A-Za-z_]\w*)(?=\s*(?:final\b|[:{;=]))|"
                  r"\busing\s+([A-Za-z_]\w*)\s*=|\btypedef\b[^;]*?\b([A-Za-z_]\w*)\s*;")
PYTHON_TYPE = re.compile(r"^\s*class\s+(\w+)", re.MULTILINE)
# data.json is a template, and "data" is the name by which requests ask for it.
NOT_NAMED_BY_US = {"README.md", "CMakeLists.txt", "LICENSE", "data.json"}


IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
# One word stands for one idea: each key is a private word, and its value is the term of the field. Bounds are left to
# better_name(): they begin with max_ or min_.
BETTER_NAMES = {"Asker": "Principal", "Ground": "JailBase", "Hearing": "ResponseState", "Lever": "Optimization",
                "Levers": "Optimizations", "Ran": "RunOutcome", "Said": "Delivered", "Stumble": "FailedAttempt",
                "add_oom_offer": "add_oom_score", "add_untouchable": "add_not_dumpable", "shelf": "layer",
                "turn_away": "reject"}


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


def better_name(name):
    bare = name.lstrip("_")
    for habit, bound in (("most_", "max_"), ("least_", "min_")):
        if bare.startswith(habit):
            return bound + bare.removeprefix(habit)
    return BETTER_NAMES.get(bare)


def private_words(root):
    violations = []
    for path in tree.files(root):
        if path.suffix not in (*tree.CODE, ".py") or path.name == "names_test.py":
            continue
        source = tree.without_comments_and_strings(tree.text_of(path)) if path.suffix in tree.CODE \
            else tree.text_of(path)
        for match in IDENTIFIER.finditer(source):
            if better := better_name(match.group()):
                line = tree.line_of(source, match.start())
                where = path.relative_to(root).as_posix()
                violations.append(f"{where}:{line} {match.group()}: call it {better}")
    return violations


class Names(tree.RuleTest):
    def test_project(self):
        self.assert_project_keeps(empty_names)

    def test_project_uses_the_words_of_the_field(self):
        self.assert_project_keeps(private_words)

    def test_control_private_words(self):
        planted = {"jail/src/a.cc": "int most_bytes = 1;  // most_other\nbool is_at_most_two(int at_most);\n",
                   "runtime/a.h": "struct Asker;\n", "tests/a.py": "least_width = 3\n"}
        self.assert_rule_finds(private_words, planted, "a.cc:1 most_bytes: call it max_bytes",
                               "a.h:1 Asker: call it Principal", "a.py:1 least_width: call it min_width")

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
