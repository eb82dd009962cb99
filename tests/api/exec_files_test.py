"""agent-sandbox exec: directories go in with all that is in them, limits of its own, standard input that is left alone, artifacts that are left out."""
import os
import subprocess
import unittest

import exec_command
import live_server
import time_scale


class Exec(exec_command.ExecTest):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)

    def run_it(self, *arguments, input=""):
        finished = subprocess.run([live_server.BINARY, "exec", *arguments], input=input, capture_output=True, text=True, check=False,
                                  timeout=time_scale.scaled(60), cwd=self.directory,
                                  env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "SANDBOX_ROOTFS": "host"})
        return finished.returncode, finished.stdout, finished.stderr

    def write(self, path, text=""):
        path = self.directory / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


LIST = "import os; print(sorted(os.path.join(a, f)[2:] for a, _, files in os.walk('.') for f in files if f != 'main.py'))"


class Directories(Exec):
    def test_all_files_in_it(self):
        self.write("dir/a", "1")
        self.write("dir/b/c/d", "2")
        self.write("dir/.hidden")
        (self.directory / "dir/empty").mkdir()
        for arguments, prefix in ((("dir",), "dir/"), (("dir/",), "dir/"), (("dir:x/y",), "x/y/"), (("dir:.",), "")):
            with self.subTest(arguments):
                expected = sorted(prefix + name for name in (".hidden", "a", "b/c/d"))
                self.assertEqual((0, f"{expected}\n", ""), self.run_it("--file", *arguments, "-c", LIST))
        self.assertEqual("12", self.run_it("--file", "dir", "-c", "print(open('dir/a').read() + open('dir/b/c/d').read(), end='')")[1])

    def test_a_script_finds_the_modules_beside_it(self):
        self.write("script.py", "import helper; print(helper.__name__, __file__)")
        self.write("helper.py")
        self.assertEqual((0, "helper /workspace/main.py\n", ""), self.run_it("script.py", "--file", "."))

    def test_no_link_is_followed(self):
        self.write("secret", "secret")
        self.write("dir/a")
        for name in range(10):
            (self.directory / f"dir/link{name}").symlink_to("../secret")
        os.mkfifo(self.directory / "dir/pipe")
        (self.directory / "dir/up").symlink_to("..")
        status, out, said = self.run_it("--file", "dir", "-c", LIST)
        self.assertEqual((0, "['dir/a']\n"), (status, out), said)
        lines = said.splitlines()
        self.assertEqual("agent-sandbox: --file: dir/link0 is neither a file nor a directory and was left out", lines[0])
        self.assertEqual((9, "agent-sandbox: --file: 12 were left out in all"), (len(lines), lines[-1]))

    def test_a_directory_in_place_of_a_program(self):
        self.write("dir/main.py", "import helper; print(helper.__name__)")
        self.write("dir/helper.py")
        self.assertEqual((2, "", "agent-sandbox: read dir: Is a directory; --file brings a directory beside a program: exec --file dir:. FILE\n"),
                         self.run_it("dir"))
        self.assertEqual((0, "helper\n", ""), self.run_it("--file", "dir:.", "dir/main.py"))

    def test_it_is_bounded(self):
        for number in range(4097):
            self.write(f"many/{number}")
        self.assertEqual((2, "", "agent-sandbox: --file: expected at most 4096 files together\n"), self.run_it("--file", "many", "-c", "1"))
        with open(self.write("large/a"), "wb") as file:
            file.truncate((48 << 20) + 1)
        status, _, said = self.run_it("--file", "large", "-c", "1")
        self.assertEqual(2, status)
        self.assertEqual("agent-sandbox: --file: large/a: expected at most 48 MiB together\n", said)
        self.write("/".join(["deep"] * 18))
        self.assertIn("at most 16 directories in one another", self.run_it("--file", "deep", "-c", "1")[2])

    def test_a_file_cannot_have_the_name_of_the_program(self):
        self.write("one.py", "print('one')")
        self.assertEqual((2, "", 'agent-sandbox: --file: "main.py": the program itself has this name\n'),
                         self.run_it("-c", "1", "--file", "one.py:main.py"))


class Limits(Exec):
    def test_processes(self):
        code = ("import os, time\nmade = 0\ntry:\n    while made < 30:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        made += 1\n"
                "except BlockingIOError: pass\nprint(made)")
        status, out, said = self.run_it("--processes", "8", "-c", code)
        self.assertEqual((0, 7), (status, int(out)), said)
        self.assertEqual("30\n", self.run_it("-c", code)[1])

    def test_disk(self):
        code = "import sys\nfor place in '/workspace', '/tmp': open(place + '/a', 'wb').write(bytes(int(sys.argv[1]) << 20))"
        self.assertEqual((0, "", ""), self.run_it("--disk", "100", "--memory", "512", "-c", code, "--", "90"))
        status, _, said = self.run_it("--disk", "2", "-c", code, "--", "3")
        self.assertEqual((1, "agent-sandbox: the program seems to have been refused space: /workspace and /tmp hold 2 MB each; --disk gives more, within --memory"),
                         (status, said.splitlines()[-1]))

    def test_files_that_the_disk_has_no_room_for(self):
        with open(self.write("nine"), "wb") as file:
            file.truncate(9 << 20)
        self.assertEqual((2, "", "agent-sandbox: --file: write nine in the working directory: No space left on device. "
                                 "Hint: --disk 1 is too little for it\n"), self.run_it("--disk", "1", "--file", "nine", "-c", "1"))

    def test_a_program_that_is_refused_processes(self):
        code = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(30); os._exit(0)"
        for options, most in (((), 128), (("--processes", "8"), 8)):
            status, _, said = self.run_it(*options, "--timeout", str(time_scale.timeout(20)), "-c", code)
            self.assertEqual((1, f"agent-sandbox: the program seems to have been refused a process or thread: it may have {most} at once; --processes gives more"),
                             (status, said.splitlines()[-1]))


class Input(Exec):
    def test_standard_input_is_left_alone(self):
        script = (f"while read -r line; do '{live_server.BINARY}' exec --rootfs host $OPTION -c "
                  "'import sys; print(sys.argv[1], repr(sys.stdin.read()))' -- $line; done")
        for option, expected in (("-n", "a ''\nb ''\n"), ("--no-stdin", "a ''\nb ''\n"), ("", "a 'b\\n'\n")):
            finished = subprocess.run(["bash", "-c", script], input="a\nb\n", capture_output=True, text=True, check=False, cwd=self.directory,
                                      timeout=time_scale.scaled(60), env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "OPTION": option})
            self.assertEqual((0, expected, ""), (finished.returncode, finished.stdout, finished.stderr))


class Artifacts(Exec):
    def test_one_that_is_left_out_is_told_and_ends_with_125(self):
        code = "open('large', 'wb').write(bytes(5 << 20)); open('small', 'w').write('x'); raise SystemExit({})"
        for status, expected in ((0, 125), (3, 3)):
            found, _, said = self.run_it("--artifact", "*:out", "--overwrite", "-c", code.format(status))
            self.assertEqual(expected, found, said)
            self.assertIn('agent-sandbox: artifact "large" skipped: too large (4 MiB at most)\n', said)
            self.assertEqual("x", (self.directory / "out/small").read_text(encoding="ascii"))

    def test_a_directory_that_nothing_came_into_is_not_left_behind(self):
        (self.directory / "old").mkdir()
        for where, is_left in (("new", False), ("old", True)):
            for code, ends in (("1", 0), ("1/0", 1)):
                status, _, said = self.run_it("--artifact", f"*.png:{where}", "-c", code)
                self.assertEqual((ends, is_left), (status, (self.directory / where).exists()), said)
                self.assertIn('agent-sandbox: --artifact "*.png": no file matched\n', said)

    def test_what_is_no_file_is_none_that_was_wanted(self):
        status, _, said = self.run_it("--artifact", "*:out", "-c", "import os; os.symlink('x', 'link'); open('file', 'w')")
        self.assertEqual(0, status, said)
        self.assertIn('artifact "link" skipped: not a regular file', said)


if __name__ == "__main__":
    unittest.main()
