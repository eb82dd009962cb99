"""Exit statuses of the command line: 2 for what was typed, 125 for a failure of its own, and what cannot be written is told."""
import json
import os
import subprocess
import unittest

import exec_command
import live_server
import time_scale


class ExitStatus(exec_command.ExecTest):
    def run_it(self, *arguments, stdout=subprocess.PIPE, **environment):
        """The exit status and what was said on standard error."""
        finished = subprocess.run([live_server.BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=time_scale.scaled(60), cwd=self.directory,
                                  env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "SANDBOX_ROOTFS": "host", **environment})
        return finished.returncode, finished.stderr

    def test_what_the_command_line_says_or_names_is_a_mistake_of_who_typed_it(self):
        (self.directory / "wrong.json").write_text('{"api": {"port": "x"}}', encoding="ascii")
        for arguments in (["serve", "--port", "99999"], ["serve", "--host", "example.org"], ["serve", "--log-level", "loud"],
                          ["serve", "--config", "nope.json"], ["serve", "--config", "wrong.json"], ["serve", "--user", "root"],
                          ["serve", "--user", "nosuch-user"], ["serve", "--rootfs", "/nope"], ["serve", "--cgroup", "/nope"],
                          ["exec", "--rootfs", "/nope", "-c", "1"], ["mcp", "--config", "nope.json"], ["doctor", "--user", "root"],
                          ["lessons", "--user", "root", "list"], ["benchmark", "--provider", "foo"], ["run", "--provider", "foo", "t"]):
            with self.subTest(arguments):
                status, said = self.run_it(*arguments)
                self.assertEqual(2, status, said)
                option = next(word for word in arguments if word.startswith("--"))
                self.assertTrue(said.startswith(f"agent-sandbox: {option}: "), said)

    def test_an_address_that_others_reach_needs_a_key(self):
        status, said = self.run_it("serve", "--host", "0.0.0.0", "--port", "0")
        self.assertEqual(2, status, said)
        self.assertTrue(said.startswith("agent-sandbox: --host 0.0.0.0 can be reached by others"), said)
        self.assertEqual(125, self.run_it("serve", "--port", "0", API_HOST="0.0.0.0")[0])

    @unittest.skipIf(os.geteuid() != 0, "only root becomes another user")
    def test_a_socket_where_the_user_that_root_becomes_may_not_make_one(self):
        (self.directory / "closed").mkdir(mode=0o700)
        status, said = self.run_it("serve", "--host", f"unix:{self.directory}/closed/socket", JOBS_PATH=":memory:")
        self.assertEqual(125, status, said)
        self.assertRegex(said, r"listen on unix:\S+: Permission denied. Hint: it was tried as uid \d+, which this process became")

    def test_what_the_environment_says_is_no_mistake_on_the_command_line(self):
        for variables in ({"API_PORT": "99999"}, {"SANDBOX_ROOTFS": "/nope"}):
            with self.subTest(variables):
                self.assertEqual(125, self.run_it("serve", **variables)[0])

    def test_a_template_that_is_named_and_has_no_root(self):
        self.directory.chmod(0o755)
        templates = self.directory / "templates"
        templates.mkdir()
        (templates / "bare.json").write_text(json.dumps({"name": "bare", "language": "python", "rootfs": "/nope", "warmth": "forked"}), encoding="ascii")
        status, said = self.run_it("exec", "--template", "bare", "-c", "1", SANDBOX_TEMPLATES_DIR=str(templates))
        self.assertEqual(2, status, said)
        self.assertTrue(said.startswith("agent-sandbox: --template bare: rootfs: "), said)

    def test_output_that_cannot_be_written_is_told(self):
        for arguments in (["exec", "-c", "print(1)"], ["exec", "--json", "-c", "print(1)"], ["exec", "--explain", "-c", "1"],
                          ["doctor"], ["doctor", "--json"], ["doctor", "--speed"], ["--version"], ["--help"], ["exec", "--help"]):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                self.assertEqual((125, "agent-sandbox: write output: No space left on device\n"), self.run_it(*arguments, stdout=full))

    def test_nobody_who_reads_is_told_nothing(self):
        for arguments in (["exec", "--json", "-c", "print(1)"], ["--version"]):
            reading, writing = os.pipe()
            os.close(reading)
            with self.subTest(arguments), os.fdopen(writing, "wb") as pipe:
                self.assertEqual((141, ""), self.run_it(*arguments, stdout=pipe))


if __name__ == "__main__":
    unittest.main()
