"""JavaScript and TypeScript behind the same interface: modules or not, errors with their lines, limits."""
import os
import pathlib
import shutil
import tempfile

import live_server


def lacking():
    """The languages that the host's own /usr lacks, on which these tests run."""
    return [path for path in ("/usr/bin/node", "/usr/bin/esbuild") if not os.access(path, os.X_OK)]


class Languages(live_server.ServerTest):
    def setUp(self):
        super().setUp()
        if lacking():
            self.skipTest(f"the host has no {' and no '.join(lacking())}")

    def javascript(self, code, **fields):
        return self.execute(code, language="javascript", timeout_seconds=30, **fields)

    def typescript(self, code, **fields):
        return self.execute(code, language="typescript", timeout_seconds=30, **fields)

    def succeeds(self, result, stdout):
        self.assertEqual(("success", stdout, ""), (result["status"], result["stdout"], result["stderr"]))

    def test_javascript_by_require(self):
        self.succeeds(self.javascript("const os = require('os'); console.log(typeof os.cpus, require.main === module, __filename)"),
                      "function true /workspace/main.js\n")

    def test_javascript_by_import(self):
        self.succeeds(self.javascript("import fs from 'fs';\nconst v = await Promise.resolve(42);\nconsole.log(v, typeof fs.readFileSync)"),
                      "42 function\n")

    def test_arguments_input_and_environment(self):
        code = "console.log(process.argv.slice(2), process.env.NAME, require('fs').readFileSync(0, 'utf8'))"
        fields = {"args": ["a b", "--max-old-space-size=1"], "env": {"NAME": "value"}, "stdin": "input"}
        expected = "[ 'a b', '--max-old-space-size=1' ] value input\n"
        self.succeeds(self.javascript(code, **fields), expected)
        self.succeeds(self.typescript(code, **fields), expected)

    def test_exit_status_and_thrown_errors(self):
        for run in (self.javascript, self.typescript):
            self.assertEqual(("error", 7), self.fate(run("process.exit(7)")))
            self.assertEqual(("error", 3), self.fate(run("process.exitCode = 3")))
            self.assertEqual(("error", 1), self.fate(run("Promise.reject(new Error('late'))")))

    def fate(self, result):
        return result["status"], result["exit_code"]

    def test_javascript_errors_name_the_line(self):
        result = self.javascript("const a = 1;\nfunction f() { throw new TypeError('boom') }\nf();")
        self.assertEqual(("error", 1), self.fate(result))
        for part in ("/workspace/main.js:2", "TypeError: boom", "at f (/workspace/main.js:2:22)"):
            self.assertIn(part, result["stderr"])
        result = self.javascript("const a = ;")
        self.assertEqual(("error", 1), self.fate(result))
        self.assertIn("/workspace/main.js:1", result["stderr"])

    def test_typescript_is_more_than_javascript(self):
        code = ("enum Colour { Red, Green = 5 }\ninterface Point { x: number; y?: number }\n"
                "abstract class Shape<T extends Point> { constructor(protected readonly at: T) {}\n  abstract area(): number }\n"
                "class Square extends Shape<Point> { area(): number { return this.at.x ** 2 } }\n"
                "namespace N { export const deep = <T,>(value: T): T => value }\n"
                "const list = [1, 2, 3] as const satisfies readonly number[];\n"
                "console.log(Colour.Green, Colour[0], new Square({ x: 3 }).area(), N.deep('n'), list.length, (undefined as any)?.a ?? 'none')")
        self.succeeds(self.typescript(code), "5 Red 9 n 3 none\n")

    def test_typescript_by_import_require_and_await(self):
        code = ("import * as path from 'path';\nimport assert = require('assert');\nimport type { Stats } from 'fs';\n"
                "const fs = require('fs'); const s: Stats = await fs.promises.stat('.');\nassert.ok(s.isDirectory());\n"
                "if (require.main === module) console.log(path.basename(__filename), process.argv[1], import.meta.url)\n"
                "export const unused = 1;")
        self.succeeds(self.typescript(code), "main.ts /workspace/main.ts file:///workspace/main.ts\n")

    def test_typescript_may_declare_what_node_has(self):
        code = ("import { fileURLToPath } from 'url'; import { dirname } from 'path'; import { createRequire } from 'module';\n"
                "const __filename = fileURLToPath(import.meta.url); const __dirname = dirname(__filename);\n"
                "const require = createRequire(import.meta.url); const module = 1, exports = 2;\n"
                "console.log(__dirname, typeof require('os').cpus, module + exports)")
        self.succeeds(self.typescript(code), "/workspace function 3\n")

    def test_typescript_errors_name_the_line_of_the_source(self):
        result = self.typescript("interface A { a: string }\n\nfunction f(a: A): never {\n  throw new Error(a.a)\n}\nf({ a: 'boom' })")
        self.assertEqual(("error", 1), self.fate(result))
        for part in ("Error: boom", "at f (/workspace/main.ts:4:9)", "/workspace/main.ts:6:1"):
            self.assertIn(part, result["stderr"])

    def test_typescript_syntax_error(self):
        result = self.typescript("let a: number = 1;\nlet b: number = ;")
        self.assertEqual(("error", 1, ""), (*self.fate(result), result["stdout"]))
        self.assertIn("main.ts:2:16", result["stderr"])
        self.assertIn('Unexpected ";"', result["stderr"])

    def test_files_beside_the_program(self):
        files = {"lib/sum.ts": "export const sum = (...n: number[]): number => n.reduce((a, b) => a + b, 0)",
                 "table.json": "[1, 2, 3]"}
        self.succeeds(self.typescript("import { sum } from './lib/sum'\nimport table from './table.json'\nconsole.log(sum(...table))",
                                      files=files), "6\n")
        self.succeeds(self.javascript("import { one } from './one.mjs'\nconsole.log(one)", files={"one.mjs": "export const one = 1"}), "1\n")
        self.succeeds(self.javascript("console.log(require('./one').one)", files={"one.js": "exports.one = 1"}), "1\n")

    def test_nothing_of_the_translation_is_an_artifact(self):
        result = self.typescript("require('fs').writeFileSync('out.txt', 'x')", artifacts=["**"])
        self.assertEqual(["out.txt"], [artifact["path"] for artifact in result["artifacts"]])

    def test_worker_threads_and_child_processes(self):
        code = ("const { Worker } = require('worker_threads'), cp = require('child_process');\n"
                "const child = cp.execFileSync(process.execPath, ['-p', '6*7']).toString().trim();\n"
                "new Worker(\"require('worker_threads').parentPort.postMessage(7)\", { eval: true }).on('message', m => console.log(m, child))")
        self.succeeds(self.javascript(code), "7 42\n")

    def test_min_memory(self):
        for run in (self.javascript, self.typescript):
            self.succeeds(run("console.log([1, 2, 3].map(n => n * 2).join())", memory_limit_mb=64), "2,4,6\n")

    def test_a_heap_that_grows_is_out_of_memory(self):
        for code in ("const a = []; for (;;) a.push(new Array(1000).fill(1.5))", "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))"):
            self.assertEqual("out_of_memory", self.javascript(code, memory_limit_mb=128)["status"], code)

    def test_endless_loop_times_out(self):
        result = self.execute("for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => {}); for (;;) {}", language="javascript",
                              timeout_seconds=1)
        self.assertEqual("timeout", result["status"])


class WithoutNode(live_server.ServerTest):
    """A root that has a python3 and nothing else."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="agent-sandbox-root.")
        os.chmod(cls.folder, 0o755)
        binaries = pathlib.Path(cls.folder, "usr", "bin")
        binaries.mkdir(parents=True, mode=0o755)
        python = binaries / "python3"
        python.write_text("#!", encoding="utf-8")
        for path in (python, binaries, binaries.parent):
            path.chmod(0o755)
        cls.arguments = ("--rootfs", cls.folder)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.folder)

    def test_a_language_that_is_not_there_is_said(self):
        for language, program in (("javascript", "/usr/bin/node"), ("typescript", "/usr/bin/node"), ("bash", "/usr/bin/bash")):
            answer = self.client.post({"code": "x", "language": language})
            self.assertEqual(400, answer.status, answer)
            self.assertIn(f"language: {language} is not available here: this root has no {program}", answer.json["detail"])
            self.assertIn("available are python", answer.json["detail"])

    def test_health_says_which_root(self):
        root = self.client.send("GET", "/health").json["root"]
        self.assertEqual({"kind": "built", "python": None}, root)
