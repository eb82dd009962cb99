"""The content of the Debian packages. Any user can run this: unpacking them is enough."""
import os
import re
import shutil

import command_line
from built_packages import Packages, build_packages, field, run

UNITS = ("system", "user")


class Content(Packages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.directory / "root"
        for package in cls.packages.values():
            run("dpkg-deb", "--extract", package, cls.root)

    def test_there_are_three(self):
        self.assertEqual({"agent-sandbox", self.runtime, "libjail-dev"}, set(self.packages))
        soname = re.search(r"SONAME\s+libjail\.so\.(\S+)", run("objdump", "-p", next(self.root.rglob("libjail.so.*.*"))).stdout)
        self.assertEqual(self.runtime, f"libjail{soname.group(1)}")

    def test_fields(self):
        for name, package in self.packages.items():
            with self.subTest(name):
                self.assertRegex(field(package, "Maintainer"), r"^agent-sandbox maintainers <.*\.invalid>$")
                self.assertEqual("optional", field(package, "Priority"))
                self.assertEqual("agent-sandbox", field(package, "Source"))
                self.assertGreater(len(field(package, "Description").splitlines()), 3)
        depends = field(self.packages["agent-sandbox"], "Depends")
        # They are loaded when they are needed: dpkg-shlibdeps does not see them.
        for package in ("libcurl4", r"libsimdjson\d+", "libsqlite3-0", "libssl3"):
            self.assertRegex(depends, rf"\b{package}(,|$)")
        needed = {word.split()[0] for word in field(self.packages[self.runtime], "Depends").split(", ")}
        self.assertEqual({"libc6", "libcap2", "libgcc-s1", "libnl-3-200", "libseccomp2", "libstdc++6"}, needed)
        self.assertIn(f"{self.runtime} (= ", field(self.packages["libjail-dev"], "Depends"))

    def test_nothing_is_where_it_does_not_belong(self):
        places = {"agent-sandbox": r"etc/agent-sandbox/|usr/(bin/agent-sandbox$|lib/systemd/(system|user)/|share/)",
                  self.runtime: rf"usr/(lib/[\w-]+/libjail\.so\.\d|share/(doc|lintian/overrides)/{re.escape(self.runtime)})",
                  "libjail-dev": r"usr/(include/jail(_c)?[./]|lib/[\w-]+/(libjail\.(so|a)$|cmake/jail/|pkgconfig/)|share/(doc/libjail-dev|man/man3)/)"}
        for name, package in self.packages.items():
            listed = [line.split()[5] for line in run("dpkg-deb", "--contents", package).stdout.splitlines()]
            files = [path.removeprefix("./") for path in listed if not path.endswith("/")]
            self.assertGreater(len(files), 3, name)
            self.assertEqual([], [path for path in files if not re.match(places[name], path)], name)

    def test_all_belongs_to_root_and_keys_are_for_nobody_else(self):
        for name, package in self.packages.items():
            for line in run("dpkg-deb", "--contents", package).stdout.splitlines():
                mode, owner, _, _, _, path = line.split()[:6]
                self.assertEqual("root/root", owner, path)
                if path == "./etc/agent-sandbox/environment":
                    self.assertEqual("-rw-------", mode)
                elif not mode.startswith("l"):
                    self.assertRegex(mode, "^(d|-)rw[-x]r-[-x]r-[-x]$", f"{name}: {path}")

    def test_no_trace_of_the_build(self):
        for path in (path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink() and path.suffix != ".a"):
            # Debugging is stripped from what is linked, not from the static library.
            self.assertNotIn(str(command_line.BUILD).encode(), path.read_bytes(), path)

    def test_program_runs(self):
        self.assertRegex(self.done(run(self.root / "usr/bin/agent-sandbox", "--version")), r"^agent-sandbox \d")

    def test_settings_are_the_defaults(self):
        self.assertEqual("/etc/agent-sandbox/agent-sandbox.json\n/etc/agent-sandbox/environment\n",
                         self.done(run("dpkg-deb", "--info", self.packages["agent-sandbox"], "conffiles")))
        # It is read, and what it says is allowed: a port that is not stops the start.
        settings = self.root / "etc/agent-sandbox/agent-sandbox.json"
        text = settings.read_text(encoding="utf-8")
        self.assertIn('"api_port": 8000', text)
        bad = self.directory / "bad.json"
        bad.write_text(text.replace("8000", "80000"), encoding="utf-8")
        refused = run(self.root / "usr/bin/agent-sandbox", "serve", "--config", bad)
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("api_port", refused.stderr)
        self.assertNotIn("ceilings", refused.stderr)

    def test_same_input_same_bytes(self):
        again = build_packages(self.directory / "again")
        for name, package in self.packages.items():
            self.assertEqual(package.read_bytes(), again[name].read_bytes(), name)

    def test_lintian(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is not installed")
        checked = run("lintian", "--allow-root", "--fail-on", "error,warning", *self.packages.values())
        self.assertEqual((0, ""), (checked.returncode, checked.stdout), checked.stderr)

    def test_units(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        for kind in UNITS:
            unit = self.root / "usr/lib/systemd" / kind / "agent-sandbox.service"
            copy = self.directory / kind / unit.name
            copy.parent.mkdir()
            text = unit.read_text(encoding="utf-8")
            self.assertIn("ExecStart=/usr/bin/agent-sandbox serve\n", text)
            copy.write_text(text.replace("/usr/bin/agent-sandbox", f"{self.root}/usr/bin/agent-sandbox"), encoding="utf-8")
            checked = run("systemd-analyze", f"--{kind}", "--man=no", "verify", copy, env={**os.environ, "XDG_RUNTIME_DIR": str(self.directory)})
            ours = [line for line in checked.stderr.splitlines() if unit.name in line]
            self.assertEqual((0, []), (checked.returncode, ours), checked.stderr)
