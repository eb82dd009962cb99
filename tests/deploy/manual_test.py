"""The manual pages: clean, complete, and their example runs."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import command_line
import host_view
import ordinary_user

PAGES = sorted((command_line.DEPLOY / "man").iterdir())
COMMANDS = command_line.DEPLOY / "man" / "agent-sandbox.1"
LIBRARY = command_line.DEPLOY / "man" / "libjail.3"
HEADERS = command_line.DEPLOY.parents[1] / "jail" / "include"
SHARED_OPTIONS = "Options of the host"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300, **options)


def part_of(page, title):
    """The lines of one subsection or section."""
    found = re.search(rf'^\.S[sh] "?{re.escape(title)}"?\n(.*?)(?=^\.S[sh] |\Z)', page, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def named_options(text):
    """Returns --long and -s of each `Fl`, but not the bare -- that ends options."""
    names = re.findall(r"\bFl (\\?-?[\w-]+)", text)
    return {"-" + name.replace("\\-", "-", 1) for name in names if name != "\\-"}


def documented_options(page, subcommand):
    if subcommand == "":
        return named_options(part_of(page, "DESCRIPTION").split("\n.Bl ")[1])
    text = part_of(page, f"agent-sandbox {subcommand}")
    if SHARED_OPTIONS in text:
        text += part_of(page, SHARED_OPTIONS)
    return named_options(text)


def undocumented(page):
    """Options that --help knows and the page does not, and the other way round."""
    known = {}
    for words, options in command_line.options_by_subcommand().items():
        known.setdefault(words[0] if words else "", set()).update(options - command_line.HELP)
    known[""] |= command_line.HELP
    wrong = []
    for subcommand, options in known.items():
        documented = documented_options(page, subcommand)
        wrong += [f"{subcommand} {option}: not in the page" for option in sorted(options - documented)]
        wrong += [f"{subcommand} {option}: not in --help" for option in sorted(documented - options)]
    return wrong


class Manual(unittest.TestCase):
    def assert_silent(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"{command[0]} is not installed")
        finished = run(*command, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
        self.assertEqual((0, ""), (finished.returncode, finished.stderr))
        return finished.stdout

    def test_man_shows_them_without_a_warning(self):
        for page in PAGES:
            with self.subTest(page.name):
                shown = self.assert_silent("man", "--warnings", "-l", page)
                self.assertIn(page.stem, shown)

    def test_mandoc_finds_no_fault(self):
        for page in PAGES:
            with self.subTest(page.name):
                # The test must not depend on which other pages this host has.
                self.assertEqual("", "\n".join(line for line in self.lint(page) if "referenced manual not found" not in line))

    def lint(self, page):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        return run("mandoc", "-T", "lint", page).stdout.splitlines()

    def test_references_lead_somewhere(self):
        ours = {(page.stem, page.suffix[1:]) for page in PAGES}
        theirs = {("bash", "1"), ("systemctl", "1"), ("seccomp", "2"), ("systemd.exec", "5"), ("cgroups", "7"), ("namespaces", "7"),
                  ("newuidmap", "1")}
        for page in PAGES:
            named = set(re.findall(r"^\.Xr (\S+) (\d)", page.read_text(encoding="utf-8"), re.MULTILINE))
            self.assertEqual(set(), named - ours - theirs, page.name)

    def test_every_option_is_there(self):
        self.assertEqual([], undocumented(COMMANDS.read_text(encoding="utf-8")))

    def test_control_every_option_is_there(self):
        page = COMMANDS.read_text(encoding="utf-8")
        less = page.replace(".It Fl \\-swarm\n", ".It Fl \\-swram\n")
        self.assertEqual(["run --swarm: not in the page", "run --swram: not in --help"], undocumented(less))
        less = page.replace(".It Fl \\-cgroup Ar directory\n", "")
        self.assertIn("exec --cgroup: not in the page", undocumented(less))

    def test_every_subcommand_is_in_the_synopsis(self):
        synopsis = part_of(COMMANDS.read_text(encoding="utf-8"), "SYNOPSIS")
        for words in command_line.subcommands():
            for word in words:
                self.assertRegex(synopsis, rf"\b{word}\b")

    def test_calls_of_the_library_exist(self):
        headers = "".join(path.read_text(encoding="utf-8") for path in HEADERS.rglob("*.h"))
        page = LIBRARY.read_text(encoding="utf-8")
        calls = set(re.findall(r"\bF[no] (\S+)", page)) - {"_destroy"}
        values = set(re.findall(r"\bDv (?:Phase|Warmth)::(\w+)", page))
        self.assertGreater(len(calls), 40)
        self.assertEqual([], [name for name in calls if not re.search(rf"\b{name.split('::')[-1]}\(", headers)])
        self.assertEqual([], [name for name in values if not re.search(rf"^  {name},", headers, re.MULTILINE)])
        for header in re.findall(r"^\.In (\S+)", page, re.MULTILINE):
            self.assertTrue((HEADERS / header).is_file(), header)

    def example(self, compiler, standard, suffix):
        """Returns the example in this language, built against the shared library and run."""
        sources = re.findall(r"^\.Bd -literal\n(#include.*?)^\.Ed$", LIBRARY.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertTrue((command_line.BUILD / "jail" / "libjail.so").exists(), "ninja -C build/release libjail.so builds what is missing")
        source = next(text for text in sources if ("jail_c.h" in text) == (suffix == "c"))
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            directory.chmod(0o755)
            (directory / f"example.{suffix}").write_text(source.replace("\\e", "\\"), encoding="utf-8")
            built = run(compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", f"-I{HEADERS}",
                        directory / f"example.{suffix}", "-o", directory / "example", f"-L{command_line.BUILD / 'jail'}", "-ljail")
            self.assertEqual(0, built.returncode, built.stderr)
            if obstacle := host_view.no_user_namespaces():
                self.skipTest(f"no user namespaces: {obstacle}")
            for library in (command_line.BUILD / "jail").glob("libjail.so.*"):
                shutil.copy(library, directory)  # where any user may read it
            finished = run(directory / "example", cwd="/", env={"LD_LIBRARY_PATH": str(directory)}, **ordinary_user.NOT_ROOT)
            self.assertEqual((0, "42\nexit status 0\n", ""), (finished.returncode, finished.stdout, finished.stderr))

    def test_example_in_cxx_runs(self):
        self.example("g++", "-std=c++20", "cc")

    def test_example_in_c_runs(self):
        self.example("gcc", "-std=gnu11", "c")
