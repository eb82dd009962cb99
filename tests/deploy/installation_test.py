"""A Debian installs the packages as the README says, uses them, and removes them again."""
import os
import re
import shutil
import unittest

import debian_root
import host_view
import ordinary_user
from built_packages import PROJECT, Packages, field, run

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
RUNS = "42\nleft.txt: left behind\nexited: yes, status 3\n"
# Replaces systemctl, since the temporary root has no running systemd.
RECORDING_SYSTEMCTL = "#!/bin/sh\necho \"$*\" >>/var/log/systemctl\n"


class Installed(Packages):
    """In a temporary Debian: installed as the README says, used, removed, purged."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root installs packages")
        super().setUpClass()
        cls.root_directory = cls.directory / "debian"
        cls.root_directory.mkdir()
        needed = {word.split()[0] for package in cls.packages.values() for word in field(package, "Depends").split(", ")}
        try:
            cls.debian = debian_root.DebianRoot(cls.root_directory, {*needed - set(cls.packages), "mount", "python3"})
        except debian_root.Unreachable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        (cls.root_directory / "packages").mkdir()
        for package in cls.packages.values():
            shutil.copy(package, cls.root_directory / "packages")
        (cls.root_directory / "etc/systemd/system/multi-user.target.wants").mkdir(parents=True, exist_ok=True)
        cls.before = cls.debian.files()
        cls.installed = cls.debian.run("sh", "-c", cls.command_of_the_readme())
        cls.settled = cls.debian.files()

    @staticmethod
    def command_of_the_readme():
        text = (PROJECT / "README.md").read_text(encoding="utf-8")
        return re.search(r"^sudo (apt install .*)$", text, re.MULTILINE).group(1).replace("./build/packages/", "/packages/") + " -y"

    def setUp(self):
        self.done(self.installed)

    def users(self):
        return self.done(self.debian.run("getent", "passwd"))

    def installed_again(self):
        self.done(self.debian.run("sh", "-c", "dpkg --install /packages/*.deb"))

    def test_installing_starts_and_enables_nothing(self):
        self.assertGreater(len(self.settled - self.before), 30)
        self.assertEqual([], sorted(self.before - self.settled))
        links = [path for path in self.settled - self.before if path.startswith("etc/systemd")]
        self.assertEqual([], links)

    def test_program(self):
        self.assertRegex(self.done(self.debian.run("agent-sandbox", "--version")), r"^agent-sandbox \d")
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces: {obstacle}")
        for user in (None, ordinary_user.ID):
            self.assertIn("Jails can run here.", self.done(self.debian.run("agent-sandbox", "doctor", user=user)))
            self.assertEqual("42\n", self.done(self.debian.run("agent-sandbox", "exec", "-c", "print(6*7)", user=user)))

    def test_library(self):
        """The third-party programs of the ring embed, with this host's compiler and that root's headers and library."""
        found = run("pkg-config", "--cflags", "--libs", "jail",
                    env={**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(self.root_directory),
                         "PKG_CONFIG_LIBDIR": ":".join(str(path) for path in self.root_directory.glob("usr/lib/*/pkgconfig"))})
        flags = self.done(found).split()
        self.assertIn(str(self.root_directory), " ".join(flags))
        for compiler, source, prints in (("gcc", "c_project/main.c", RUNS + RUNS), ("g++", "cmake_project/main.cc", RUNS)):
            with self.subTest(source):
                program = self.root_directory / "tmp" / compiler
                standard = {"gcc": "-std=c11", "g++": "-std=c++20"}[compiler]
                self.done(run(compiler, standard, *STRICT, PROJECT / "tests/embed" / source, "-o", program, *flags))
                self.assertRegex(self.done(run("objdump", "-p", program)), r"NEEDED\s+libjail\.so\.\d")
                if obstacle := host_view.no_user_namespaces():
                    self.skipTest(f"no user namespaces: {obstacle}")
                self.assertEqual(prints, self.done(self.debian.run(f"/tmp/{compiler}", user=ordinary_user.ID)))

    def test_upgrade_keeps_settings(self):
        settings = self.root_directory / "etc/agent-sandbox/agent-sandbox.json"
        original = settings.read_text(encoding="utf-8")
        self.addCleanup(settings.write_text, original, encoding="utf-8")
        settings.write_text('{"api_port": 8001}\n', encoding="utf-8")
        self.installed_again()
        self.assertEqual('{"api_port": 8001}\n', settings.read_text(encoding="utf-8"))

    def test_scripts_under_a_running_systemd(self):
        running = self.root_directory / "run/systemd/system"
        running.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.root_directory / "run/systemd")
        systemctl = self.root_directory / "usr/bin/systemctl"
        systemctl.write_text(RECORDING_SYSTEMCTL, encoding="utf-8")
        systemctl.chmod(0o755)
        self.addCleanup(systemctl.unlink)
        log = self.root_directory / "var/log/systemctl"
        for command, expected in (("dpkg --install /packages/agent-sandbox_*.deb", ["daemon-reload", "try-restart"]),
                                  ("dpkg --purge agent-sandbox", ["stop", "daemon-reload", "daemon-reload"]),
                                  ("dpkg --install /packages/agent-sandbox_*.deb", ["daemon-reload"])):
            log.write_text("", encoding="utf-8")
            self.done(self.debian.run("sh", "-c", command))
            asked = re.findall(r"\b(daemon-reload|try-restart|restart|start|stop|enable|disable)\b", log.read_text(encoding="utf-8"))
            self.assertEqual(expected, asked, command)

    def test_removing_keeps_settings_and_state(self):
        self.addCleanup(self.installed_again)
        self.done(self.debian.run("dpkg", "--remove", "agent-sandbox", "libjail-dev", self.runtime))
        self.assertEqual({"etc/agent-sandbox", "etc/agent-sandbox/agent-sandbox.json", "etc/agent-sandbox/environment"},
                         self.debian.files() - self.before)

    def test_purging_leaves_nothing(self):
        self.addCleanup(self.installed_again)
        state = self.root_directory / "var/lib/agent-sandbox/server"
        state.mkdir(parents=True)
        (state / "jobs.sqlite").touch()
        self.assertIn("agent-sandbox", self.users())
        enabled = self.root_directory / "etc/systemd/system/multi-user.target.wants/agent-sandbox.service"
        if shutil.which("systemctl"):
            self.done(run("systemctl", f"--root={self.root_directory}", "enable", "agent-sandbox.service"))
        else:
            enabled.symlink_to("/usr/lib/systemd/system/agent-sandbox.service")
        self.assertTrue(enabled.is_symlink())
        self.done(self.debian.run("dpkg", "--purge", "agent-sandbox", "libjail-dev", self.runtime))
        self.assertEqual(set(), self.debian.files() ^ self.before)
        self.assertNotIn("agent-sandbox", self.users())
        self.assertNotIn("libjail", self.done(self.debian.run("ldconfig", "--print-cache")))
        listed = self.done(self.debian.run("dpkg-query", "--list"))
        self.assertNotIn("agent-sandbox", listed)
