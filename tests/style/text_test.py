"""The rules for every file of the checkout: sizes, folders that explain themselves, no traces of
the machine it was written on."""
import re

import tree

# Spelt in pieces, so that this file keeps its own rule.
MACHINE = re.compile("|".join(("/" + "work/", "/" + "farm", r"\." + "library", "farm" + "-(?:bench|studio)",
                               "sub" + "agent")), re.IGNORECASE)
LONGEST = 500
COUNTED = (".cc", ".h", ".c", ".S", ".py", ".sh", ".js", ".cmake")


def traces_of_this_machine(root):
    violations = []
    for path in tree.files(root):
        for number, line in enumerate(tree.text_of(path).splitlines(), 1):
            if MACHINE.search(line):
                violations.append(f"{path.relative_to(root)}:{number} {line.strip()[:80]}")
    return violations


def long_files(root):
    violations = []
    for path in tree.files(root):
        lines = tree.text_of(path).count("\n")
        if lines > LONGEST and (path.suffix in COUNTED or path == root / "dev"):
            violations.append(f"{path.relative_to(root)} has {lines} lines: split it, tests by what they are about, with what they share in a fixture")
    return violations


def folders_without_readme(root):
    return [f"{folder}/ has no README.md" for folder in tree.FOLDERS
            if not (root / folder / "README.md").is_file()]


class Text(tree.RuleTest):
    def test_no_trace_of_the_machine(self):
        self.assert_project_keeps(traces_of_this_machine)

    def test_file_lengths(self):
        self.assert_project_keeps(long_files)

    def test_folders_explain_themselves(self):
        self.assert_project_keeps(folders_without_readme)

    def test_control_trace_of_the_machine(self):
        planted = {"jail/a.cc": "// see /wo" + "rk/notes\n", "README.md": "a workspace, farming, /network/\n"}
        self.assert_rule_finds(traces_of_this_machine, planted, "jail/a.cc:1")

    def test_control_file_lengths(self):
        planted = {"jail/a.cc": "\n" * 501, "jail/b.cc": "\n" * 500, "jail/README.md": "\n" * 501}
        self.assert_rule_finds(long_files, planted, "jail/a.cc has 501")

    def test_control_folders_explain_themselves(self):
        planted = {f"{folder}/README.md": "x" for folder in tree.FOLDERS if folder != "bench"}
        planted["bench/run.py"] = ""
        self.assert_rule_finds(folders_without_readme, planted, "bench/ has no README.md")
