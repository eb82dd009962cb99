"""libjail as a stranger gets it: installed, found by CMake or pkg-config, built against and run. Nothing
here sees the project's sources but the stranger's own program."""
import re

from installed import BUILD, HERE, PROJECT, SONAME, STRICT, STRICT_C, Installed

PRINTS = "42\nleft.txt: left behind\nexited: yes, status 3\n"


class Package(Installed):
    def test_cmake(self):
        program = self.build(HERE / "cmake_project")
        self.assertIn(SONAME, self.asked_for(program))
        self.assertEqual(PRINTS, self.as_user(program))

    def test_cmake_static(self):
        program = self.build(HERE / "cmake_project", "-DSTRANGER_JAIL=jail::static")
        self.assertNotIn(SONAME, self.asked_for(program))
        self.assertEqual(PRINTS, self.as_user(program))

    def test_cmake_in_c(self):
        """One jail made for it, one leased from a warm pool."""
        program = self.build(HERE / "c_project")
        self.assertEqual({SONAME, "libc.so.6"}, set(self.asked_for(program)))
        self.assertEqual(PRINTS + PRINTS, self.as_user(program))

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

    def test_pkg_config(self):
        flags = self.flags_with_path()
        self.assertTrue(any(flag.startswith(f"-I{self.prefix}") or flag.startswith("-I") and "pkgconfig/../" in flag
                            for flag in flags), flags)
        program = self.root / "by-pkg-config"
        self.done("g++", *STRICT, HERE / "cmake_project" / "main.cc", "-o", program, *flags)
        self.assertIn(SONAME, self.asked_for(program))
        self.assertEqual(PRINTS, self.as_user(program))

    def test_pkg_config_in_c(self):
        program = self.root / "by-pkg-config-in-c"
        self.done("gcc", *STRICT_C, HERE / "c_project" / "main.c", "-o", program, *self.flags_with_path())
        self.assertEqual(PRINTS + PRINTS, self.as_user(program))

    def test_pkg_config_static(self):
        """A program that needs no file beside itself, in either language."""
        for compiler, source, prints in (("g++", HERE / "cmake_project" / "main.cc", PRINTS),
                                         ("gcc", HERE / "c_project" / "main.c", PRINTS + PRINTS)):
            with self.subTest(compiler):
                program = self.root / f"by-pkg-config-static-{compiler}"
                self.done(compiler, *(STRICT if compiler == "g++" else STRICT_C), source, "-o", program, "-static",
                          *self.flags("--static"))
                self.assertEqual([], self.asked_for(program))
                self.assertEqual(prints, self.as_user(program))

    def headers(self, folder):
        headers = sorted((self.prefix / "include" / folder).glob("*.h"))
        self.assertEqual({path.name for path in (PROJECT / "jail" / "include" / folder).glob("*.h")}, {path.name for path in headers})
        return [f"{folder}/{header.name}" for header in headers]

    def test_each_header_stands_alone(self):
        for header in self.headers("jail"):
            with self.subTest(header):
                self.done("g++", *STRICT, "-fsyntax-only", "-I", self.prefix / "include", "-include", header, "-x", "c++", "/dev/null")

    def test_each_header_for_c_stands_alone(self):
        for header in ["jail_c.h", *self.headers("jail_c")]:
            with self.subTest(header):
                include = ["-fsyntax-only", "-I", self.prefix / "include", "-include", header]
                self.done("gcc", *STRICT_C, *include, "-x", "c", "/dev/null")
                self.done("g++", "-std=c++11", *STRICT_C[1:], *include, "-x", "c++", "/dev/null")

    def test_nothing_else_is_installed(self):
        expected = re.compile(r"include/jail/\w+\.h|include/jail_c(/\w+)?\.h|lib\S*/libjail\.(a|so(\.[\d.]+)?)|"
                              r"lib\S*/cmake/jail/jail\w+(-\w+)?\.cmake|lib\S*/pkgconfig/jail\.pc|"
                              r"share/man/man3/libjail\.3(\.gz)?|share/doc/libjail[\w.-]*/(copyright|changelog(\.gz)?)|"
                              r"share/lintian/overrides/libjail[\w.]*")
        for path in (path for path in self.prefix.rglob("*") if path.is_file()):
            relative = path.relative_to(self.prefix).as_posix()
            self.assertRegex(relative, expected)
            if path.suffix in (".cmake", ".pc", ".h"):
                text = path.read_text(encoding="utf-8")
                for place in (str(PROJECT), str(BUILD), str(self.root)):
                    self.assertNotIn(place, text, relative)
