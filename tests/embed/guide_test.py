"""The guide to a first jail: each program in it is compiled against the installed library and run by an ordinary
user, and prints what the guide says that it prints."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import host_view
import ordinary_user

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
GUIDE = PROJECT / "jail" / "docs" / "first_jail.md"
EXAMPLE = re.compile(r"<!-- (\w+)\.cc -->\n```cpp\n(.*?)```\n\n```text\n(.*?)```\n", re.DOTALL)
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
ENTRY = re.compile(r"^jail::Result<std::string> (\w+)\(const jail::Launcher& launcher, (?:const )?jail::JailSpec&? spec\) \{$", re.MULTILINE)
# The parameters of the guide's functions: a launcher, and a spec as in the first program.
AROUND = """
#include <cstdio>

int main() {
  const auto filter = jail::compile_policy(jail::default_policy());
  const auto launcher = jail::Launcher::start();
  if (!filter || !launcher) return 1;
  jail::JailSpec spec;
  spec.root = jail::host_root();
  spec.filter = *filter;
  const auto said = %s(*launcher, spec);
  std::puts(said ? said->c_str() : said.error().message().c_str());
  return said ? 0 : 1;
}
"""


def examples():
    return {name: (code, prints) for name, code, prints in EXAMPLE.findall(GUIDE.read_text(encoding="utf-8"))}


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300, **options)


class Guide(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-guide."))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.root.chmod(0o755)
        for component in ("libjail", "libjail-dev"):
            done = run("cmake", "--install", BUILD, "--prefix", cls.root, "--component", component)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
        package = next(cls.root.rglob("jail.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "jail", env={**os.environ, "PKG_CONFIG_PATH": str(package)})
        # Installed where the loader does not look.
        cls.flags = [*flags.stdout.split(), f"-Wl,-rpath,{package.parent}"]

    def build_and_run(self, name, code):
        source = self.root / f"{name}.cc"
        functions = ENTRY.findall(code)
        source.write_text(code + (AROUND % functions[-1] if functions else ""), encoding="utf-8")
        built = run("g++", *STRICT, source, "-o", self.root / name, *self.flags)
        self.assertEqual("", built.stderr)
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(f"no user namespaces: {obstacle}")
        return run(self.root / name, cwd="/", **ordinary_user.NOT_ROOT)

    def assert_prints(self, name):
        """Runs one example; `...` in what the guide prints stands for anything."""
        code, prints = examples()[name]
        ran = self.build_and_run(name, code)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        pattern = ".*".join(re.escape(part) for part in prints.strip().split("..."))
        self.assertRegex(ran.stdout.strip(), re.compile(rf"\A{pattern}\Z", re.DOTALL))

    def test_first(self):
        self.assert_prints("first")

    def test_streams(self):
        self.assert_prints("streams")

    def test_pool(self):
        self.assert_prints("pool")

    def test_a_pool_that_can_make_no_jails_is_an_error(self):
        code, _ = examples()["pool"]
        ran = self.build_and_run("pool_without_jails", code.replace('{"statistics"}', '{"no_such_module"}'))
        self.assertEqual(1, ran.returncode, ran.stdout + ran.stderr)
        self.assertIn("no_such_module", ran.stdout)

    def test_living(self):
        self.assert_prints("living")

    def test_fates(self):
        self.assert_prints("fates")

    def test_loop(self):
        self.assert_prints("loop")

    def test_policy(self):
        self.assert_prints("policy")

    def test_no_block_of_code_goes_untested(self):
        text = GUIDE.read_text(encoding="utf-8")
        self.assertEqual(["first", "streams", "pool", "living", "fates", "loop", "policy"], list(examples()))
        self.assertEqual(len(examples()), text.count("```cpp"))

    def test_the_first_one_has_twenty_lines(self):
        lines = [line for line in examples()["first"][0].splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 20)

    def test_the_readme_leads_to_it(self):
        self.assertIn("(docs/first_jail.md)", (PROJECT / "jail" / "README.md").read_text(encoding="utf-8"))

    def test_code_is_formatted(self):
        if not shutil.which("clang-format"):
            self.skipTest("no clang-format")
        for name, (code, _) in examples().items():
            with self.subTest(name):
                formatted = run("clang-format", f"--assume-filename={PROJECT / 'jail' / name}.cc", input=code)
                self.assertEqual(formatted.stdout, code)
