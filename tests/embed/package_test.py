"""libjail as a stranger gets it: installed, found by CMake or pkg-config, built against and run. Nothing
here sees the project's sources but the stranger's own program."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import host_view

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
SONAME = "libjail.so.0.1"
PRINTS = "42\nleft.txt: left behind\nexited: yes, status 3\n"
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300, **options)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-embed."))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.root.chmod(0o755)
        # Installed in one place and used from another: the package must not know where it was.
        for component in ("libjail", "libjail-dev"):
            done = run("cmake", "--install", BUILD, "--prefix", cls.root / "first", "--component", component)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
        cls.prefix = cls.root / "opt"
        (cls.root / "first").rename(cls.prefix)

    def done(self, *command, **options):
        finished = run(*command, **options)
        self.assertEqual(0, finished.returncode, f"{command}\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    @functools.cached_property
    def place_of_library(self):
        return next(self.prefix.rglob("libjail.a")).parent

    def configure(self, source, *arguments):
        target = self.root / f"build-{self.id()}"
        return target, run("cmake", "-G", "Ninja", "-S", source, "-B", target, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *arguments,
                           env={name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")})

    def assert_runs(self, program):
        """As whoever runs the test; root may not make jails."""
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces: {obstacle}")
        as_user = {"user": 60801, "group": 60801, "extra_groups": []} if os.geteuid() == 0 else {}
        self.assertEqual(PRINTS, self.done(program, cwd="/", **as_user))

    def build(self, source, *arguments):
        target, configured = self.configure(source, f"-DCMAKE_PREFIX_PATH={self.prefix}", *arguments)
        self.assertEqual(0, configured.returncode, configured.stdout + configured.stderr)
        self.done("cmake", "--build", target)
        return target / "stranger"

    def asked_for(self, program):
        """The shared libraries that a program names itself."""
        listed = self.done("readelf", "--dynamic", "--wide", program)
        return re.findall(r"\(NEEDED\).*\[(.+)\]", listed)

    def test_cmake(self):
        program = self.build(HERE / "cmake_project")
        self.assertIn(SONAME, self.asked_for(program))
        self.assert_runs(program)

    def test_cmake_static(self):
        program = self.build(HERE / "cmake_project", "-DSTRANGER_JAIL=jail::static")
        self.assertNotIn(SONAME, self.asked_for(program))
        self.assert_runs(program)

    def test_control_cmake_without_the_package(self):
        _, configured = self.configure(HERE / "cmake_project")
        self.assertNotEqual(0, configured.returncode)
        self.assertIn("jailConfig.cmake", configured.stderr)

    def test_cmake_checks_the_version(self):
        source = self.root / "wants-more"
        source.mkdir()
        text = (HERE / "cmake_project" / "CMakeLists.txt").read_text(encoding="utf-8")
        (source / "CMakeLists.txt").write_text(text.replace("jail 0.1", "jail 99.0"), encoding="utf-8")
        (source / "main.cc").write_text("int main() {}\n", encoding="utf-8")
        _, configured = self.configure(source, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertNotEqual(0, configured.returncode)
        self.assertIn("99.0", configured.stderr)

    def flags(self, *options):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.place_of_library / "pkgconfig")}
        return self.done("pkg-config", "--cflags", "--libs", *options, "jail", env=environment).split()

    def test_pkg_config(self):
        flags = self.flags()
        self.assertTrue(any(flag.startswith(f"-I{self.prefix}") or flag.startswith("-I") and "pkgconfig/../" in flag
                            for flag in flags), flags)
        program = self.root / "by-pkg-config"
        self.done("g++", *STRICT, HERE / "cmake_project" / "main.cc", "-o", program, *flags, f"-Wl,-rpath,{self.place_of_library}")
        self.assertIn(SONAME, self.asked_for(program))
        self.assert_runs(program)

    def test_pkg_config_static(self):
        """A program that needs no file beside itself."""
        program = self.root / "by-pkg-config-static"
        self.done("g++", *STRICT, HERE / "cmake_project" / "main.cc", "-o", program, "-static", *self.flags("--static"))
        self.assertEqual([], self.asked_for(program))
        self.assert_runs(program)

    def test_each_header_stands_alone(self):
        headers = sorted((self.prefix / "include" / "jail").glob("*.h"))
        self.assertEqual({path.name for path in (PROJECT / "jail" / "include" / "jail").glob("*.h")}, {path.name for path in headers})
        for header in headers:
            with self.subTest(header.name):
                self.done("g++", *STRICT, "-fsyntax-only", "-I", self.prefix / "include", "-include", f"jail/{header.name}",
                          "-x", "c++", "/dev/null")

    def test_nothing_else_is_installed(self):
        expected = re.compile(r"include/jail/\w+\.h|include/jail_c\.h|lib\S*/libjail\.(a|so(\.[\d.]+)?)|lib\S*/cmake/jail/jail\w+(-\w+)?\.cmake|lib\S*/pkgconfig/jail\.pc")
        for path in (path for path in self.prefix.rglob("*") if path.is_file()):
            relative = path.relative_to(self.prefix).as_posix()
            self.assertRegex(relative, expected)
            if path.suffix in (".cmake", ".pc", ".h"):
                text = path.read_text(encoding="utf-8")
                for place in (str(PROJECT), str(BUILD), str(self.root)):
                    self.assertNotIn(place, text, relative)
