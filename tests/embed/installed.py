"""libjail as a stranger gets it: both install components in a directory that is not the one they were made for."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import host_view
import ordinary_user

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
SONAME = "libjail.so.0.1"
STRICT_C = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
STRICT = ["-std=c++20", *STRICT_C[1:]]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300, **options)


def install(root, build=BUILD):
    """The prefix, below `root`. Installed in one place and used from another: the package must not know where it was."""
    for component in ("libjail", "libjail-dev"):
        done = run("cmake", "--install", build, "--prefix", root / "first", "--component", component)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
    prefix = root / "opt"
    (root / "first").rename(prefix)
    return prefix


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-embed."))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.root.chmod(0o755)
        cls.prefix = install(cls.root)

    def done(self, *command, **options):
        finished = run(*command, **options)
        self.assertEqual(0, finished.returncode, f"{command}\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    @functools.cached_property
    def place_of_library(self):
        return next(self.prefix.rglob("libjail.a")).parent

    @property
    def shared_library(self):
        return self.place_of_library / SONAME

    def configure(self, source, *arguments):
        target = self.root / f"build-{self.id()}-{source.name}"
        return target, run("cmake", "-G", "Ninja", "-S", source, "-B", target, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror",
                           "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *arguments,
                           env={name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")})

    def build(self, source, *arguments):
        target, configured = self.configure(source, f"-DCMAKE_PREFIX_PATH={self.prefix}", *arguments)
        self.assertEqual(0, configured.returncode, configured.stdout + configured.stderr)
        self.done("cmake", "--build", target)
        return target / "stranger"

    def flags(self, *options):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.place_of_library / "pkgconfig")}
        return self.done("pkg-config", "--cflags", "--libs", *options, "jail", env=environment).split()

    def flags_with_path(self):
        """The flags for the shared library at its place, where no loader looks by itself."""
        return [*self.flags(), f"-Wl,-rpath,{self.place_of_library}"]

    def asked_for(self, program):
        """The shared libraries that a program names itself."""
        listed = self.done("readelf", "--dynamic", "--wide", program)
        return re.findall(r"\(NEEDED\).*\[(.+)\]", listed)

    def as_user(self, program, **options):
        """Returns the output of a command that the tests' user runs; root may not make jails."""
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces: {obstacle}")
        return self.done(program, cwd="/", **ordinary_user.NOT_ROOT, **options)
