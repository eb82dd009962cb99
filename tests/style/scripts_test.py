"""Shell scripts, and everything else that runs the build: no failure is ignored, and shellcheck finds nothing."""
import re
import shutil
import subprocess

import tree

SHEBANG = re.compile(r"#!.*\b(?:ba|da)?sh\b")
# Every way to say "and if it fails, go on" that needs no thought.
SWALLOWED = re.compile(r"\|\|\s*(?:true\b|:(?=\s|$|;|\)))|\bset\s+\+e\b")
BUILD_FILES = {".yml", ".yaml", ".cmake"}


# These directories hold programs that guests run; each of them is loose or wrong on purpose.
GUESTS = ("tests/api/same",)


def shell_scripts(root):
    return [path for path in tree.files(root)
            if (path.suffix in (".sh", ".bash") or SHEBANG.match(tree.text_of(path)[:100]))
            and str(path.parent.relative_to(root)) not in GUESTS]


def swallowed_failures(root):
    violations = []
    scripts = shell_scripts(root)
    for path in tree.files(root):
        if not (path in scripts or path.suffix in BUILD_FILES or path.name == "CMakeLists.txt"):
            continue
        for number, line in enumerate(tree.text_of(path).splitlines(), 1):
            if SWALLOWED.search(line.split(" #")[0]):
                violations.append(f"{path.relative_to(root)}:{number} {line.strip()}")
    return violations


def loose_scripts(root):
    """Scripts that a person runs must stop at the first error; programs for the guest are exempt."""
    violations = []
    for path in shell_scripts(root):
        guest = root / "tests" / "escape" / "attacks"
        if guest not in path.parents and not re.search(r"^set -euo pipefail$", tree.text_of(path), re.MULTILINE):
            violations.append(f"{path.relative_to(root)} does not say `set -euo pipefail`")
    return violations


def shellcheck_findings(root):
    violations = []
    for path in shell_scripts(root):
        checked = subprocess.run(["shellcheck", "--external-sources", "--format=gcc", path], cwd=root, capture_output=True, text=True, check=False)
        if checked.returncode:
            violations.append(f"{path.relative_to(root)}: {checked.stdout}{checked.stderr}")
    return violations


class Scripts(tree.RuleTest):
    def test_no_swallowed_failure(self):
        self.assert_project_keeps(swallowed_failures)

    def test_strict_mode(self):
        self.assert_project_keeps(loose_scripts)

    def test_shellcheck(self):
        self._need_shellcheck()
        self.assertIn(tree.PROJECT / "dev", shell_scripts(tree.PROJECT))
        self.assert_project_keeps(shellcheck_findings)

    def test_control_swallowed_failure(self):
        planted = {"tests/a.sh": "make || tr" + "ue\n", "bench/b": "#!/usr/bin/env bash\nmake ||:\nset +" + "e\n",
                   "tests/CMakeLists.txt": 'execute_process(COMMAND sh -c "x || :")\n'.replace('"x || :"', '"x || : "'),
                   "tests/good.sh": "a || exit 1\nb || trueish\n"}
        self.assert_rule_finds(swallowed_failures, planted, "tests/a.sh:1", "bench/b:2", "bench/b:3",
                               "tests/CMakeLists.txt:1")

    def test_control_strict_mode(self):
        planted = {"tests/a.sh": "#!/bin/bash\ntrue\n", "dev": "#!/usr/bin/env bash\nset -euo pipefail\n"}
        self.assert_rule_finds(loose_scripts, planted, "tests/a.sh")

    def test_control_shellcheck(self):
        self._need_shellcheck()
        planted = {"tests/a.sh": "#!/bin/bash\necho $1\n", "tests/b.sh": '#!/bin/bash\necho "$1"\n'}
        self.assert_rule_finds(shellcheck_findings, planted, "tests/a.sh")

    def _need_shellcheck(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("shellcheck is not installed")
