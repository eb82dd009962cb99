"""The dependencies of the built objects, as `nm` and `readelf` show them. The code between clone3 and the
guest runs where no libc may be called, and libjail must fit into anybody's daemon."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
CHILD = BUILD / "jail" / "src" / "child"
# By demangled name: no logger, no event loop, no JSON or HTTP library, no global switchboard.
FOREIGN = re.compile(r"^(?:boost::|spdlog::|fmt::|simdjson|curl_|sqlite3_|redis|CLI::|runtime::|server::|"
                     r"std::(?:cout|cerr|clog)$|(?:v?printf|puts|perror|system|popen|getenv|secure_getenv|"
                     r"setenv|putenv|exit|atexit|fork|vfork|signal)$)")


def undefined(path, *options):
    listed = subprocess.run(["nm", "-u", "--format=posix", *options, path], capture_output=True, text=True,
                            check=True).stdout
    # "name type [value size]"; in an archive each member opens with "archive[member]:".
    return sorted({re.sub(r" [UwvW]\s*[0-9a-f ]*$", "", line) for line in listed.splitlines()
                   if line and not line.endswith(":")})


def needs_a_loader(path):
    listed = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", path], capture_output=True,
                            text=True, check=True).stdout
    return [line.strip() for line in listed.splitlines() if re.search(r"\bINTERP\b|\(NEEDED\)", line)]


def foreign(path):
    return [name for name in undefined(path, "--demangle") if FOREIGN.match(name)]


class Objects(unittest.TestCase):
    def test_launcher_is_whole_by_itself(self):
        launchers = [path for path in CHILD.rglob("jail-launcher*") if path.is_file() and os.access(path, os.X_OK)]
        self.assertTrue(launchers, f"no jail-launcher under {CHILD}")
        for launcher in launchers:
            self.assertEqual([], undefined(launcher), launcher)
            self.assertEqual([], needs_a_loader(launcher), launcher)

    def test_relocatable_whole_child_is_closed(self):
        """Where the build links the child's parts into one object, that one has no undefined symbol."""
        for whole in CHILD.glob("*.o"):
            self.assertEqual([], undefined(whole), whole)

    def test_child_parts_call_only_each_other(self):
        parts = [*(CHILD / "CMakeFiles").rglob("*.o")]
        self.assertTrue(parts, f"no objects under {CHILD}")
        defined = set()
        for part in parts:
            listed = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", part],
                                    capture_output=True, text=True, check=True).stdout
            defined |= {line.split(" ")[0] for line in listed.splitlines()}
        for part in parts:
            self.assertEqual([], [name for name in undefined(part) if name not in defined], part)

    def test_library_is_no_framework(self):
        library = BUILD / "jail" / "libjail.a"
        self.assertTrue(library.exists(), f"no {library}")
        self.assertIn("close", undefined(library))
        self.assertEqual([], foreign(library))

    def test_control(self):
        compiler = shutil.which("cc") or shutil.which("g++")
        if compiler is None:
            self.skipTest("no compiler to plant an object with")
        with tempfile.TemporaryDirectory() as name:
            source, planted, program = (pathlib.Path(name, part) for part in ("a.c", "a.o", "a"))
            source.write_text("#include <stdlib.h>\nint main(void) { return getenv(\"X\") == 0; }\n",
                              encoding="utf-8")
            subprocess.run([compiler, "-x", "c", "-c", "-o", planted, source], check=True)
            subprocess.run([compiler, "-o", program, planted], check=True)
            self.assertIn("getenv", undefined(planted))
            self.assertEqual(["getenv"], foreign(planted))
            self.assertTrue(needs_a_loader(program))
            self.assertTrue(undefined(program))
