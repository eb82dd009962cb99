"""TypeScript in jails that wait, where an esbuild that waits beside node makes the module: what programs and their files may do to it, its
limits and its end. What programs see is compared in same_test.py."""
import concurrent.futures
import re
import time
import unittest

import host_view
import live_server
import time_scale
from languages_test import lacking

# Programs that esbuild has to read, and none of which runs. It compares each of these declarations with all before: a minute, or half of that.
SLOW = "let a;" * 50_000
# Each of these takes some of its stack.
DEEP = "(" * 1_000_000 + "1"


def repeated(times):
    """A program whose module has a text of half a megabyte so many times."""
    return f"const enum E {{ A = '{'x' * 500_000}' }}\nglobalThis.x = [{', '.join(['E.A'] * times)}]; console.log('ran')"



class TypeScriptTest(live_server.ServerTest):
    def setUp(self):
        super().setUp()
        if lacking():
            self.skipTest(f"the host has no {' and no '.join(lacking())}")
        # The first program of a template is why jails of it wait from then on.
        self.execute("0", language="typescript", template="typescript", timeout_seconds=time_scale.timeout(20))

    def run_as(self, template, code, **fields):
        if template == "typescript":
            self.wait_until_warm(template)
        result = self.execute(code, language="typescript", template=template, **fields)
        self.assertIs(template == "typescript", result["warm"])
        return result

    def both(self, code, **fields):
        """The result, which must be the same cold and warm."""
        fields.setdefault("timeout_seconds", time_scale.timeout(20))
        cold, warm = (self.run_as(template, code, **fields) for template in ("none", "typescript"))
        names = ("status", "exit_code", "signal", "stdout", "stderr", "stdout_truncated", "stderr_truncated")
        self.assertEqual({name: cold[name] for name in names}, {name: warm[name] for name in names})
        return warm


class WarmTypeScript(TypeScriptTest):
    def test_the_input_is_the_programs(self):
        result = self.both("import value from '/dev/stdin'; console.log(value)", stdin="export default 5")
        self.assertEqual(("error", 1), (result["status"], result["exit_code"]))
        self.assertIn('Could not resolve "/dev/stdin"', result["stderr"])
        self.assertEqual("input\n", self.both("process.stdin.on('data', text => console.log(String(text)))", stdin="input")["stdout"])

    def test_no_setting_is_read_from_the_pipe_of_the_module(self):
        for number in (3, 10, 255):
            result = self.both("console.log(1)", files={"tsconfig.json": '{"extends": "/proc/self/fd/%d"}' % number})
            self.assertEqual(("success", "1\n"), (result["status"], result["stdout"]))

    def test_a_setting_that_is_read_from_an_input_without_bytes(self):
        self.assertIn("/dev/stdin", self.both("console.log(1)", files={"tsconfig.json": '{"extends": "/dev/stdin"}'})["stderr"])

    def test_all_that_is_wrong_is_told_alike(self):
        # More errors than esbuild prints, and a warning beside them, which it does not.
        result = self.both("".join(f"import './missing{number}';\n" for number in range(30)) + "typeof x == 'nothing'")
        self.assertEqual("error", result["status"])
        self.assertIn("missing0", result["stderr"])

    def test_advice_is_for_the_command_line(self):
        package = '{"name": "p", "exports": {".": {"other": "./a.js"}}}'
        for code, files, advice in (("import './a.js'", {"a.js": "export default <div/>"}, "--loader:.js=jsx"),
                                    ("import 'p'", {"node_modules/p/package.json": package, "node_modules/p/a.js": "1"}, "--conditions=other")):
            self.assertIn(advice, self.both(code, files=files)["stderr"])

    def test_a_setting_in_the_programs_input(self):
        files = {"tsconfig.json": '{"extends": "/proc/self/fd/0"}'}
        self.assertEqual("1\n", self.both("console.log(1)", files=files, stdin='{"compilerOptions": {}}')["stdout"])

    def test_what_esbuild_reads_of_itself(self):
        extends = '{"extends": "/proc/self/%s"}'
        said = []
        for template in ("none", "typescript"):
            result = self.run_as(template, "console.log(1)", files={"tsconfig.json": extends % "cmdline"}, timeout_seconds=time_scale.timeout(20))
            self.assertEqual("error", result["status"])
            said.append(re.sub(r"proc/\d+/", "proc/self/", result["stderr"]))  # a later esbuild names the process, whose number differs
        self.assertEqual(*said)
        # The variables have another order.
        warm = self.run_as("typescript", "console.log(1)", files={"tsconfig.json": extends % "environ"}, timeout_seconds=time_scale.timeout(20))
        self.assertEqual("error", warm["status"])
        self.assertNotIn("NODE_OPTIONS", warm["stderr"])

    def test_a_commonjs_file_may_be_imported(self):
        for code in ("import value from './value.cjs'; console.log(value.a)", "import * as value from './value.cjs'; console.log(value.a)"):
            self.assertEqual("1\n", self.both(code, files={"value.cjs": "module.exports = { a: 1 }"})["stdout"])

    def test_names_that_the_first_lines_need(self):
        self.assertEqual("1 2\n", self.both("const __create = 1, name = 2; console.log(__create, name)")["stdout"])

    def test_files_that_may_be_taken_for_the_module(self):
        code = "console.log(require('fs').readdirSync('/workspace').sort().join(), require('./main.js'))"
        files = {"main.mjs": "console.log('wrong')", "main.js": "module.exports = 'right'", "tmp/main.mjs": "console.log('wrong')"}
        self.assertEqual("main.js,main.mjs,main.ts,tmp right\n", self.both(code, files=files)["stdout"])

    def test_bytes_that_a_shell_would_change(self):
        programs = {"console.log('a\0b'.length)": "3\n", "\ufeffconsole.log(1)": "1\n", " \n": "",
                    "#!/usr/bin/env node\nconsole.log(2)": "2\n",
                    "console.log('$HOME `id` \\\\ %s FILE MODULE')": "$HOME `id` \\ %s FILE MODULE\n"}
        for code, printed in programs.items():
            result = self.both(code)
            self.assertEqual(("success", printed), (result["status"], result["stdout"]), code)

    def test_a_program_of_the_largest_size(self):
        code = "console.log('begun');\n// "
        code += "x" * ((1 << 20) - len(code) - 20) + "\nconsole.log('end')\n"
        self.assertEqual("begun\nend\n", self.both(code)["stdout"])

    def test_long_errors(self):
        code = "/*" + "y" * 300_000 + "*/ let x: = 3; " + "z" * 300_000
        result = self.both(code)
        self.assertEqual(("error", 1), (result["status"], result["exit_code"]))

    def test_many_warnings_about_one_long_line(self):
        code = "var x, y = 0;" + "if (typeof x == 'nothing') y++;" * 150 + "/*" + "p" * 900_000 + "*/console.log('ran')"
        self.assertEqual("ran\n", self.both(code)["stdout"])
        beside = {"long.js": code.replace("'ran'", "'beside'")}
        self.assertEqual("beside\n", self.both("import './long.js'", files=beside)["stdout"])

    def test_memory_of_esbuild_counts(self):
        for template in ("none", "typescript"):
            self.assertEqual("out_of_memory", self.run_as(template, DEEP, timeout_seconds=time_scale.timeout(20))["status"])

    def test_time_of_esbuild_counts(self):
        seconds = time_scale.timeout(1)
        for template in ("none", "typescript"):
            started = time.monotonic()
            result = self.run_as(template, SLOW, timeout_seconds=seconds)
            self.assertEqual(("timeout", ""), (result["status"], result["stdout"]))
            self.assertLess(time.monotonic() - started, time_scale.scaled(10))
            # esbuild's own time; what waits uses a few milliseconds.
            self.assertGreater(result["cpu_time_ms"], 100)
        self.assertTrue(host_view.wait_until(lambda: not self.busy_esbuilds(), 5))

    def test_what_esbuild_used_before_the_program_came_does_not_count(self):
        used = {template: [self.run_as(template, "console.log(1)")["cpu_time_ms"] for _ in range(3)] for template in ("none", "typescript")}
        # A cold program has the starts of node and of esbuild, which are most of its time.
        self.assertLess(min(used["typescript"]), min(used["none"]) * 3 / 10, used)

    def busy_esbuilds(self):
        """Those that have used more time than one that waits."""
        return [pid for pid, line in self.server.processes().items()
                if line.startswith("/usr/bin/esbuild") and host_view.processor_ticks(pid) > 10]

    def meanwhile(self, act, seconds):
        """The result of SLOW, for which `act` is called with its job once esbuild is at work."""
        self.wait_until_warm("typescript")
        with concurrent.futures.ThreadPoolExecutor(1) as pool, self.server.client() as other:
            caller = pool.submit(other.execute, SLOW, language="typescript", template="typescript", timeout_seconds=seconds)
            job = live_server.the_running_job(self.client)
            self.assertTrue(host_view.wait_until(self.busy_esbuilds, 10))
            answer = act(job)
            self.assertIn(answer.status, (202, 204), answer)
            result = caller.result(time_scale.scaled(60))
        self.assertIs(True, result["warm"])
        return result

    def test_cancelling_ends_esbuild(self):
        result = self.meanwhile(lambda job: self.client.send("DELETE", f"/jobs/{job}"), 55)
        self.assertEqual("cancelled", result["status"])
        self.assertTrue(host_view.wait_until(lambda: not self.busy_esbuilds(), 5))

    def test_a_signal_that_node_survives_is_no_success(self):
        for name in ("SIGPIPE", "SIGUSR1", "SIGXFSZ"):
            result = self.meanwhile(lambda job, name=name: self.client.post({"signal": name}, f"/jobs/{job}/signal"), time_scale.timeout(4))
            self.assertEqual("timeout", result["status"], name)

    def test_a_signal_that_ends_node_ends_esbuild(self):
        result = self.meanwhile(lambda job: self.client.post({"signal": "SIGTERM"}, f"/jobs/{job}/signal"), 55)
        self.assertEqual(("killed", "SIGTERM"), (result["status"], result["signal"]))
        self.assertTrue(host_view.wait_until(lambda: not self.busy_esbuilds(), 5))

    def test_nothing_of_it_is_left_for_the_program(self):
        code = """
import * as fs from 'node:fs';
const open = fs.readdirSync('/proc/self/fd').map(fd => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } });
console.log(fs.readdirSync('/tmp').join(), fs.statSync('/tmp/main.mjs').isFile(), open.filter(path => path.includes('main')).join());
"""
        self.assertEqual("main.mjs true \n", self.both(code)["stdout"])


class MuchMemory(TypeScriptTest):
    environment = {"SANDBOX_MEMORY_LIMIT_MB": "1024"}

    def test_a_module_that_does_not_fit_is_not_run(self):
        self.assertEqual("ran\n", self.both(repeated(10))["stdout"])
        # 70 MB of text in a /tmp of 64 MiB.
        result = self.both(repeated(140))
        self.assertEqual(("error", 1, ""), (result["status"], result["exit_code"], result["stdout"]))
        self.assertIn("Failed to write to output file", result["stderr"])


if __name__ == "__main__":
    unittest.main()
