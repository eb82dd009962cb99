"""rootfs/packages and rootfs/left-out: every line says why, nothing twice, nothing that names an archive's host."""
import re

import tree

LINE = re.compile(r"!?([a-z0-9][a-z0-9.+-]+)\s+\S.{1,}$")
FILTER = re.compile(r"path-(?:exclude|include)=/\S+$")


def ill_formed(root):
    violations, seen = [], set()
    for name, form in (("packages", LINE), ("left-out", FILTER)):
        path = root / "rootfs" / name
        for number, line in enumerate(tree.text_of(path).splitlines() if path.exists() else (), 1):
            if not line or line.startswith("#"):
                continue
            where = f"rootfs/{name}:{number} {line}"
            matched = form.match(line)
            key = matched and (matched.group(1) if form is LINE else line)
            if not matched:
                violations.append(f"{where}: expected {form.pattern}")
            elif key in seen:
                violations.append(f"{where}: given twice")
            seen.add(key)
    return violations


def archive_hosts(root):
    return [f"{path.relative_to(root)} names an archive" for path in tree.files(root)
            if path.parent == root / "rootfs" and re.search(r"https?://", tree.text_of(path))]


class Rootfs(tree.RuleTest):
    def test_lists_are_well_formed(self):
        self.assertTrue((tree.PROJECT / "rootfs" / "packages").exists())
        self.assert_project_keeps(ill_formed)

    def test_sources_are_the_hosts_own(self):
        self.assert_project_keeps(archive_hosts)

    def test_control_well_formed(self):
        self.assert_rule_finds(ill_formed, {"rootfs/packages": "python3\n"}, "rootfs/packages:1")
        self.assert_rule_finds(ill_formed, {"rootfs/packages": "jq  JSON in scripts\n!jq  no JSON\n"}, "rootfs/packages:2")
        self.assert_rule_finds(ill_formed, {"rootfs/left-out": "/usr/share/doc\n"}, "rootfs/left-out:1")

    def test_control_archives(self):
        self.assert_rule_finds(archive_hosts, {"rootfs/finish.py": "# http://archive.example/\n"}, "rootfs/finish.py names")
