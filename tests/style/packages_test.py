"""`./dev` on hosts that lack something: what it installs, refuses and prints. apt, dpkg and
cmake are stand-ins here, so nothing of this host changes."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import host_view
import ordinary_user
import tree

TOOLS = ("bash", "sh", "env", "dirname", "cat", "awk", "tail", "mkdir", "cksum", "cut", "nproc", "mktemp", "rm", "grep", "date", "xargs", "setpriv")


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.root.chmod(0o755)
        self.tools = self.root / "tools"
        self.tools.mkdir()
        for name in TOOLS:
            (self.tools / name).symlink_to(shutil.which(name))
        self.checkout = self.root / "checkout"
        self.checkout.mkdir()
        shutil.copy(tree.PROJECT / "dev", self.checkout / "dev")
        self.log = self.root / "log"
        self.log.touch()
        self.log.chmod(0o666)

    def stand_in(self, name, script):
        path = self.tools / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.log}"\n{script}\n', encoding="utf-8")
        path.chmod(0o755)

    def debian(self, installed=(), simulated="", status=0):
        cases = "".join(f"{name}) printf installed;; " for name in installed)
        self.stand_in("dpkg-query", f'for last; do :; done; case "$last" in {cases}*) exit 1;; esac')
        self.stand_in("apt-get", f"case \"$*\" in *' -s '*) echo '{simulated}'; exit {status};; esac")

    def dev(self, *arguments, uid=None, **environment):
        """Runs as root, which may be that of a user namespace, or as an ordinary user."""
        command, user = [self.checkout / "dev", *arguments], {}
        if uid is None and os.geteuid() != 0:
            command = [shutil.which("unshare"), "--user", "--map-root-user", *command]
        elif uid is not None and os.geteuid() == 0:
            user = {"user": uid, "group": uid, "extra_groups": []}
        finished = subprocess.run(command, capture_output=True, text=True, check=False,
                                  env={"PATH": str(self.tools), "HOME": str(self.root), **environment}, **user)
        return finished, self.log.read_text(encoding="utf-8")

    def as_root(self):
        if os.geteuid() != 0 and (obstacle := host_view.no_user_namespaces()):
            self.skipTest(f"only root installs packages, and no user namespace lends one: {obstacle}")

    def test_help_needs_nothing(self):
        finished, _ = self.dev("help")
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        for word in ("serve", "test", "bench", "lint"):
            self.assertIn(word, finished.stdout)

    def test_unknown_command(self):
        self.assertEqual(2, self.dev("sevre")[0].returncode)

    def test_user_is_told_in_one_line(self):
        self.debian(installed=("cmake", "g\\+\\+", "python3"))
        finished, log = self.dev("serve", uid=ordinary_user.ID)
        self.assertEqual(1, finished.returncode)
        self.assertEqual(1, len(finished.stderr.splitlines()), finished.stderr)
        self.assertIn("sudo apt-get install -y", finished.stderr)
        self.assertIn("libseccomp-dev", finished.stderr)
        self.assertNotIn(" cmake", finished.stderr)
        self.assertNotIn("apt-get", log)

    def test_root_installs_what_is_missing(self):
        self.as_root()
        self.debian(installed=("cmake",))
        self.stand_in("cmake", "exit 9")
        finished, log = self.dev("serve")
        calls = [line for line in log.splitlines() if line.startswith("apt-get")]
        self.assertEqual(3, len(calls), log)
        self.assertIn(" update", calls[0])
        self.assertIn(" install -s ", calls[1])
        self.assertIn("install -y -qq --no-install-recommends g++ ninja-build", calls[2])
        self.assertIn("DPkg::Lock::Timeout", calls[2])
        self.assertNotIn(" cmake", calls[2])
        self.assertIn("configuring release failed", finished.stderr)

    def rest_of_tests(self, minutes_gone):
        """The output of `dev test --rest` when the budget of 75 minutes began that long ago."""
        self.stand_in("dpkg-query", "printf installed")
        self.stand_in("cmake", "exit 0")
        program = self.checkout / "build/release/server/cli/agent-sandbox"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho a host\n", encoding="utf-8")
        program.chmod(0o755)
        (self.checkout / "tests").mkdir()
        for name in ("rings.py", "steps.bash", "time_scale.py"):
            shutil.copy(tree.PROJECT / "tests" / name, self.checkout / "tests" / name)
        started = str(int(time.time()) - minutes_gone * 60)
        return self.dev("test", "--rest", TEST_STARTED=started, TEST_MINUTES="75")[0]

    def test_what_does_not_fit_into_the_budget_is_left_out_and_named(self):
        finished = self.rest_of_tests(80)
        self.assertEqual(0, finished.returncode, finished.stderr)
        self.assertEqual(["0 passed, 0 failed, 8 skipped", "left out for want of time: rings in a virtual machine; kernel, other user; "
                          "escape, other user; sanitizers; api, other user; programs, other ways; fuzz; bench gates"], finished.stdout.splitlines()[-2:])

    def test_steps_are_longer_on_a_slow_host(self):
        """Five minutes are left, which on a usual host is enough for the rings of another user."""
        finished = self.rest_of_tests(70)
        self.assertEqual("0 passed, 0 failed, 8 skipped", finished.stdout.splitlines()[-2])
        self.assertRegex(finished.stdout, "kernel, other user: left out: it takes some [567] minutes here, and [45] are left")

    def test_packages_are_made_anew_with_a_time_of_their_own(self):
        self.stand_in("dpkg-query", "printf installed")
        self.stand_in("dpkg", "exit 0")
        self.stand_in("cmake", "exit 0")
        self.stand_in("dpkg-parsechangelog", "echo 86400")
        self.stand_in("cpack", f'echo "time $SOURCE_DATE_EPOCH" >>"{self.log}"; for last; do :; done; echo new >"$last/a.deb"; mkdir "$last/_CPack_Packages"')
        left = self.checkout / "build" / "packages"
        left.mkdir(parents=True)
        (left / "old.deb").touch()
        finished, log = self.dev("package")
        self.assertEqual((0, f"{left}/a.deb\n"), (finished.returncode, finished.stdout), finished.stderr)
        self.assertEqual(["a.deb"], [path.name for path in left.iterdir()])
        self.assertIn(f"cpack --config {self.checkout}/build/package/CPackConfig.cmake -B {left}\ntime 86400\n", log)
        self.assertIn("sudo apt install", finished.stderr)

    def test_nothing_is_removed(self):
        self.as_root()
        self.debian(simulated="Remv libboost1.74-dev [1.74.0]\nInst libboost1.81-dev")
        finished, log = self.dev("serve")
        self.assertEqual(1, finished.returncode)
        self.assertIn("would remove libboost1.74-dev", finished.stderr)
        self.assertNotIn("install -y", log)

    def test_unknown_package(self):
        self.as_root()
        self.debian(simulated="E: Unable to locate package libboost1.81-dev", status=100)
        finished, log = self.dev("serve")
        self.assertEqual(1, finished.returncode)
        self.assertIn("Unable to locate package libboost1.81-dev", finished.stderr)
        self.assertNotIn("install -y", log)

    def test_other_distribution(self):
        finished, _ = self.dev("serve")
        self.assertEqual(1, finished.returncode)
        self.assertEqual(1, len(finished.stderr.splitlines()), finished.stderr)
        self.assertIn("not Debian", finished.stderr)
        self.assertRegex(finished.stderr, r"libboost1\.8[13]-dev")

    def test_other_distribution_that_has_everything(self):
        for name in ("g++", "ninja", "pkg-config"):
            self.stand_in(name, "exit 0")
        self.stand_in("cmake", "exit 9")
        self.assertIn("configuring release failed", self.dev("serve")[0].stderr)

    def test_build_that_cannot_be_written_is_left_alone(self):
        self.debian()
        self.stand_in("dpkg-query", "printf installed")
        self.stand_in("cmake", "exit 9")
        (self.checkout / "build" / "release").mkdir(parents=True)
        (self.checkout / "build" / "release").chmod(0o555)
        if os.geteuid() == 0:
            os.chown(self.root, ordinary_user.ID, ordinary_user.ID)
        _, log = self.dev("serve", uid=ordinary_user.ID)
        self.assertIn(f"-B {self.root}/.cache/agent-sandbox/", log)
        self.assertNotIn(f"-B {self.checkout}/build", log)
