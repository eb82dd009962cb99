"""The shared library as a linker and a loader see it: what it needs, what it offers, what it must go on offering."""
import pathlib
import re
import shutil
import sys
import unittest

from installed import HERE, PROJECT, SONAME, STRICT_C, Installed, run

ABI = PROJECT / "jail" / "abi"
sys.path.insert(0, str(ABI))
import baseline  # noqa: E402

RENEW = "jail/abi/baseline.py build/release"
VERSION = "LIBJAIL_0.1"
LOADER = r"linux-vdso\.so\.1|ld-linux-[\w-]+\.so\.\d"
# The libraries that each needs by itself, without those that they need in turn.
LIBRARIES = {"libcap.so.2", "libnl-3.so.200", "libseccomp.so.2", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6"}
# Members that no other class and no inline function calls; the map leaves them out.
PRIVATE = re.compile(r"::State\b|::Tree\b|::abandon\(")


def names(listed):
    """Maps each name in the output of nm, without its version, to the version."""
    return dict((line.split()[-1].split("@", 1) + [""])[:2] for line in listed.splitlines())


class Library(Installed):
    def test_needs_nothing_else(self):
        needed = set(re.findall(r"^\s*(\S+)", self.done("ldd", self.shared_library), re.MULTILINE))
        needed = {pathlib.Path(name).name for name in needed if not re.fullmatch(LOADER, pathlib.Path(name).name)}
        self.assertLessEqual(needed, LIBRARIES)
        self.assertIn("libseccomp.so.2", needed)

    def test_soname(self):
        self.assertIn(f"[{SONAME}]", self.done("readelf", "--dynamic", self.shared_library))
        self.assertTrue((self.place_of_library / "libjail.so").is_symlink())

    def test_offers_what_is_in_the_map(self):
        offered = baseline.offered(self.shared_library)
        self.assertTrue(offered)
        for name, readable in offered.items():
            self.assertTrue(name.endswith(f"@@{VERSION}"), name)
            self.assertRegex(readable, r"^(jail_\w+@|jail::)")
        in_c = {name.split("@")[0] for name in offered if name.startswith("jail_")}
        self.assertEqual(baseline.declared_names(self.prefix / "include"), in_c)

    def test_map_has_all_that_the_headers_declare(self):
        """The objects show a public header's functions and hide all others; see jail/src/public_surface.h."""
        archive = self.place_of_library / "libjail.a"
        visible = {line.split()[-1] for line in self.done("readelf", "--symbols", "--wide", archive).splitlines()
                   if re.search(r"FUNC\s+GLOBAL\s+DEFAULT\s+\d+", line)}
        self.assertGreater(len(visible), 100)
        offered = {name.split("@")[0] for name in baseline.offered(self.shared_library)}
        readable = self.done("c++filt", *sorted(visible - offered)).splitlines()
        self.assertEqual([], [name for name in readable if not PRIVATE.search(name)], "not in jail/package/libjail.map")

    def undefined(self, program):
        listed = self.done("nm", "--dynamic", "--undefined-only", program)
        return names("\n".join(line for line in listed.splitlines() if line.split()[0] == "U"))

    def test_programs_need_libc_and_libjail_only(self):
        for source, versions in (("c_project", r"GLIBC_|LIBJAIL_"), ("cmake_project", r"GLIBC_|LIBJAIL_|GLIBCXX_|CXXABI_|GCC_")):
            with self.subTest(source):
                undefined = self.undefined(self.build(HERE / source))
                self.assertIn(VERSION, undefined.values())
                self.assertEqual([], [name for name, version in undefined.items() if not re.match(versions, version)])


class Interface(Installed):
    """The C functions called by a C program, at their borders."""

    def compile(self, sources, *options):
        program = self.root / f"checks-{self.id()}"
        self.done("gcc", *STRICT_C, "-D_GNU_SOURCE", "-g", "-O1", *options, *sources, "-o", program, *self.flags_with_path(), "-pthread")
        return program

    def sanitized(self, sources, by):
        return self.compile(sources, f"-fsanitize={by}", "-fno-sanitize-recover=all")

    def sources(self):
        return sorted((HERE / "c_abi").glob("*.c"))

    def test_checks(self):
        self.assertEqual("all is so\n", self.as_user(self.compile(self.sources())))

    def test_checks_of_memory(self):
        """Nothing leaks either: the address sanitizer would report it at the end."""
        self.assertEqual("all is so\n", self.as_user(self.sanitized(self.sources(), "address,undefined")))

    def test_checks_from_threads(self):
        program = self.sanitized(self.sources(), "thread")
        # It wants the address space layout that it was written for.
        wrapper = self.root / "no-randomisation"
        wrapper.write_text(f"#!/bin/sh\nexec setarch -R {program}\n", encoding="utf-8")
        wrapper.chmod(0o755)
        self.assertEqual("all is so\n", self.as_user(wrapper))

    def test_control_a_leak_is_seen(self):
        source = self.root / "leak.c"
        source.write_text('#include <jail_c.h>\nint main(void) {\n  jail_policy* policy = 0;\n'
                          '  jail_policy_new("leaked", &policy, 0);\n  policy = 0;\n  return 0;\n}\n', encoding="utf-8")
        done = run(self.sanitized([source], "address"))
        self.assertNotEqual(0, done.returncode)
        self.assertIn("jail_policy_new", done.stderr)

    def test_every_function_was_given_null(self):
        """Covers the functions that can fail; the checks beside it cover NULL in the others."""
        text = (HERE / "c_abi" / "nulls.c").read_text(encoding="utf-8")
        refused = set(re.findall(r'REFUSES\("[^"]*",\s*(jail_\w+)\(', text))
        fallible = {re.search(r"jail_\w+(?=\()", declaration).group()
                    for declaration in baseline.declarations(self.prefix / "include") if declaration.startswith("jail_status ")}
        self.assertGreater(len(fallible), 40)
        self.assertEqual(set(), fallible - refused)


class Compatibility(Installed):
    def needs_abigail(self):
        if not (shutil.which("abidw") and shutil.which("abidiff")):
            self.skipTest("no abidw and abidiff (Debian: abigail-tools)")

    def differences(self, headers):
        """(what old programs would notice, all of it) between the baseline and these headers."""
        described = self.root / f"{self.id()}.abi"
        baseline.describe(headers, described)
        broken = run("abidiff", "--suppressions", ABI / "growth.suppr", "--no-added-syms", baseline.DESCRIPTION, described)
        changed = run("abidiff", "--harmless", baseline.DESCRIPTION, described)
        for done in (broken, changed):
            self.assertEqual(0, done.returncode & 3, done.stdout + done.stderr)  # bits for "it could not compare"
        return (broken.stdout if broken.returncode else ""), (changed.stdout if changed.returncode else "")

    def test_c_interface(self):
        self.needs_abigail()
        broken, changed = self.differences(self.prefix / "include")
        self.assertEqual("", broken, f"Programs that were built before would break. If that is meant, it takes another SONAME "
                                     f"(jail/package/CMakeLists.txt) and a new baseline: {RENEW}")
        self.assertEqual("", changed, f"The C interface grew. Record it: {RENEW}")

    def test_names(self):
        offered = baseline.offered(self.shared_library)
        lost = sorted(baseline.recorded() - set(offered))
        self.assertEqual([], lost, f"Programs that were built before would not start. If that is meant: {RENEW}")
        self.assertEqual([], sorted(set(offered) - baseline.recorded()), f"There are new names. Record them: {RENEW}")

    def edited(self, name, old, new):
        headers = self.root / f"headers-{self.id()}"
        shutil.copytree(self.prefix / "include", headers, dirs_exist_ok=True)
        path = headers / "jail_c" / name
        text = path.read_text(encoding="utf-8")
        self.assertEqual(1, text.count(old), old)
        path.write_text(text.replace(old, new), encoding="utf-8")
        return headers

    def test_control_what_breaks(self):
        self.needs_abigail()
        for name, old, new in (
                ("spec.h", "  uint64_t wall_ms;", "  uint32_t early;\n  uint32_t other;\n  uint64_t wall_ms;"),
                ("policy.h", "  uint32_t value;\n", "  uint32_t value;\n  uint32_t later;\n"),
                ("jail.h", "JAIL_ENDED_KILLED = 5,", "JAIL_ENDED_KILLED = 9,"),
                ("jail.h", "void jail_jail_cancel(jail_jail* jail);", ""),
                ("launcher.h", "int jail_launcher_process_fd(const jail_launcher* launcher);",
                 "int jail_launcher_process_fd(const jail_launcher* launcher, int which);")):
            with self.subTest(new):
                broken, _ = self.differences(self.edited(name, old, new))
                self.assertNotEqual("", broken)

    def test_control_what_only_grows(self):
        self.needs_abigail()
        for name, old, new in (
                ("spec.h", "  uint32_t reserved;", "  uint32_t reserved;\n  uint64_t later;"),
                ("jail.h", "JAIL_ENDED_CANCELLED = 6", "JAIL_ENDED_CANCELLED = 6,\n  JAIL_ENDED_LATER = 7"),
                ("jail.h", "void jail_jail_cancel(jail_jail* jail);",
                 "void jail_jail_cancel(jail_jail* jail);\nvoid jail_jail_later(jail_jail* jail);")):
            with self.subTest(new):
                broken, changed = self.differences(self.edited(name, old, new))
                self.assertEqual("", broken)
                self.assertNotEqual("", changed)
