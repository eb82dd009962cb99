"""The examples of jail/examples, built against an installed libjail as a stranger would and run as servers."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import host_view
import installed
import ordinary_user
import time_scale

EXAMPLES = installed.PROJECT / "jail" / "examples"
STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror"
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g1"
DESCRIPTORS_OF_A_JAIL = 6  # control, init, working directory, three streams


def checked(*command, **options):
    """Returns the output of the command."""
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=1500, **options)
    if finished.returncode != 0:
        raise AssertionError(f"{command} ended with {finished.returncode}\n{finished.stdout}{finished.stderr}")
    return finished.stdout


def name_of(pid):
    """Returns an empty text when the process is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class InstalledPackage:
    """`build` is a build directory of the project; one that was built with sanitizers needs programs that are, too."""

    def __init__(self, build=installed.BUILD, flags=""):
        # The directory must be readable for the user who runs the examples, whoever owns the checkout.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-embed."))
        self.root.chmod(0o755)
        self.flags = flags
        self.prefix = installed.install(self.root, build)
        self.libraries = next(self.prefix.rglob("libjail.a")).parent
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")}
        self.environment["PKG_CONFIG_PATH"] = str(self.libraries / "pkgconfig")
        self.environment["LD_LIBRARY_PATH"] = str(self.libraries)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def build(self, example):
        """Builds by CMake, or by make where there is a Makefile. Returns the directory of its programs."""
        target, source = self.root / f"build-{example}", EXAMPLES / example
        if (source / "Makefile").exists():
            shutil.copytree(source, target)
            checked("make", "-C", target, f"CFLAGS=-O1 {STRICT} {self.flags}", f"LDFLAGS={self.flags}", env=self.environment)
        else:
            checked("cmake", "-G", "Ninja", "-S", source, "-B", target, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                    f"-DCMAKE_CXX_FLAGS={STRICT} {self.flags}", f"-DCMAKE_C_FLAGS={STRICT} {self.flags}", env=self.environment)
            checked("cmake", "--build", target, env=self.environment)
        return target

    def scratch(self, name):
        """A directory that the user who runs the examples may write into."""
        path = self.root / name
        path.mkdir()
        if ordinary_user.NOT_ROOT:
            os.chown(path, ordinary_user.ID, ordinary_user.ID)
        return path

    def run_environment(self, **more):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LD_LIBRARY_PATH": str(self.libraries), **more}


def descriptors_beside_jails(pid):
    """The size of a pool varies, with this many descriptors for each jail that waits in it."""
    names = [name_of(child) for child in host_view.descendants(pid)]
    return host_view.open_descriptors(pid) - DESCRIPTORS_OF_A_JAIL * names.count("jail-init")


class Daemon:
    """A server among the examples: it prints `listening on PLACE` when it listens."""

    def __init__(self, package, *command, **environment):
        self.start(package, *command, **environment)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.wait(time_scale.scaled(10))
            raise AssertionError(f"it does not listen: {line}{self.said()}")
        self.place = line.split()[-1]

    def start(self, package, *command, user=ordinary_user.NOT_ROOT, **environment):
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.environment = package.run_environment(**environment)
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=self.log, text=True, cwd="/",
                                        env=self.environment, **user)
        self.pid = self.process.pid

    def said(self):
        """Returns its standard error up to now."""
        self.log.seek(0)
        return self.log.read()

    def descriptors_beside_jails(self):
        return descriptors_beside_jails(self.pid)

    def resident_bytes(self):
        return host_view.resident_bytes(self.pid)

    def settled_descriptors(self):
        """Returns the descriptors beside jails, when none is being made: after a second without a change."""
        found = []
        while len(found) < 10 or len(set(found[-10:])) > 1:
            time.sleep(0.1)
            found.append(self.descriptors_beside_jails())
            if len(found) > 300:
                raise AssertionError(f"the descriptors do not settle: {found[-20:]}")
        return found[-1]

    def stop(self, seconds=30):
        """Returns its exit status after SIGTERM."""
        self.process.terminate()
        return self.wait(time_scale.scaled(seconds))

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.returncode is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()


class ExampleTest(unittest.TestCase):
    """One example: `example` names its folder."""

    example = None

    @classmethod
    def setUpClass(cls):
        if obstacle := host_view.no_user_namespaces():
            raise unittest.SkipTest(f"no user namespaces: {obstacle}")
        host_view.become_subreaper()
        cls.package = InstalledPackage()
        cls.addClassCleanup(cls.package.remove)
        cls.built = cls.package.build(cls.example)

    def start(self, *command, **environment):
        daemon = Daemon(self.package, *command, **environment)
        self.addCleanup(lambda: daemon.process.returncode is None and daemon.stop())
        return daemon

    def assert_stops(self, daemon):
        """Requires that it stops in order, and everything that it started with it."""
        self.assertEqual(0, daemon.stop(), daemon.said())
        self.assertEqual({}, host_view.left_behind())

    def assert_soon(self, condition, seconds=20):
        self.assertTrue(host_view.wait_until(condition, seconds))

    def assert_no_more_descriptors(self, daemon, before):
        self.assertLessEqual(daemon.settled_descriptors(), before)
