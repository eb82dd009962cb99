"""agent-sandbox exec -t: a program with a terminal of its own, shown at ours."""
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import host_view
import live_server
import time_scale
from exec_command import ExecTest


class Terminal(ExecTest):
    def variables(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory), "TERM": "xterm"}

    def begin(self, *arguments, rows=30, columns=100, **streams):
        """The command at a terminal of its own: the process and the two sides."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.resize(slave, rows, columns)
        self.before = termios.tcgetattr(slave)
        process = subprocess.Popen([live_server.BINARY, "exec", "--rootfs", "host", *map(str, arguments)], cwd=self.directory, env=self.variables(),
                                   start_new_session=True, **{"stdin": slave, "stdout": slave, "stderr": slave, **streams})
        self.addCleanup(self.end, process)
        return process, master, slave

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()

    @staticmethod
    def resize(terminal, rows, columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, descriptor, mark, seconds=30.0):
        seen, deadline = b"", time.monotonic() + time_scale.patience(seconds)
        while mark not in seen:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            self.assertTrue(ready, seen)
            seen += os.read(descriptor, 65536)
        return seen

    def rest(self, process, master, slave, status):
        """What is shown until it ends, and that the terminal is as it was."""
        seen, deadline = b"", time.monotonic() + time_scale.patience(30)
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([master], [], [], 0.05)[0]:
                seen += os.read(master, 65536)
        while select.select([master], [], [], 0)[0]:
            seen += os.read(master, 65536)
        self.assertEqual(status, process.poll(), seen)
        self.assertEqual(self.before, termios.tcgetattr(slave))
        return seen

    def test_a_program_has_a_terminal(self):
        code = "import os, sys; print([os.isatty(fd) for fd in range(3)], os.get_terminal_size(), os.environ['TERM'], os.ttyname(0)); print(repr(input('? ')))"
        process, master, slave = self.begin("-t", "-c", code)
        seen = self.read_until(master, b"? ")
        self.assertIn(b"[True, True, True] os.terminal_size(columns=100, lines=30) xterm /dev/pts/0\r\n", seen)
        os.write(master, "Ad\x7fda\n".encode())
        self.assertIn(b"'Ada'\r\n", self.rest(process, master, slave, 0))

    def test_a_file_with_arguments_and_its_exit_status(self):
        (self.directory / "a.sh").write_text("read -p \"$1? \" word; echo \"<$word>\"; exit 3\n", encoding="utf-8")
        process, master, slave = self.begin("-it", "a.sh", "--", "who")
        self.read_until(master, b"who? ")
        os.write(master, b"me\n")
        self.assertIn(b"<me>\r\n", self.rest(process, master, slave, 3))

    def test_interpreters(self):
        for language, question, answer, leave in (("python", b"print(6*7)\n", b"42\r\n", b"exit(4)\n"), ("bash", b"echo $((6*7))\n", b"42\r\n", b"exit 4\n"),
                                                  ("javascript", b"console.log(6*7)\n", b"42", b"process.exit(4)\n")):
            with self.subTest(language):
                process, master, slave = self.begin("-it", "--language", language)
                self.read_until(master, b"$ " if language == "bash" else b"> ")
                os.write(master, question)
                self.read_until(master, answer)
                os.write(master, leave)
                self.rest(process, master, slave, 4)

    def test_a_shell_controls_its_jobs(self):
        process, master, slave = self.begin("-it", "--language", "bash")
        self.assertNotIn(b"job control", self.read_until(master, b"$ "))
        os.write(master, b"sh -c \"echo go''ing; exec sleep 50\"\n")
        self.read_until(master, b"going\r\n")
        os.write(master, b"\x03")
        self.read_until(master, b"$ ")
        os.write(master, b"exit $?\n")
        self.rest(process, master, slave, 130)

    def test_ctrl_c_is_typed_to_the_program(self):
        code = "try:\n  print('begun', flush=True)\n  import time\n  while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n  print('interrupted')"
        process, master, slave = self.begin("-t", "-c", code)
        self.read_until(master, b"begun\r\n")
        os.write(master, b"\x03")
        self.assertIn(b"interrupted\r\n", self.rest(process, master, slave, 0))

    def test_a_new_size(self):
        process, master, slave = self.begin("-t", "--language", "bash", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done")
        self.read_until(master, b"30 100\r\n")
        self.resize(slave, 40, 120)
        process.send_signal(signal.SIGWINCH)  # it is no session leader with this terminal
        self.read_until(master, b"40 120\r\n")
        process.terminate()
        self.rest(process, master, slave, 143)

    def test_no_deadline_but_one_that_is_given(self):
        process, master, slave = self.begin("-t", "-c", "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0] > 3600)")
        self.assertIn(b"True\r\n", self.rest(process, master, slave, 0))
        process, master, slave = self.begin("-t", "--timeout", "0.3", "-c", "import time; time.sleep(50)")
        self.assertIn(b"--timeout", self.rest(process, master, slave, 124))

    def test_the_terminal_is_as_it_was_after_signals(self):
        stubborn = "import signal, time\nfor n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number):
                process, master, slave = self.begin("-t", "-c", stubborn)
                self.read_until(master, b"begun\r\n")
                self.assertFalse(termios.tcgetattr(slave)[3] & termios.ICANON)
                process.send_signal(number)
                self.rest(process, master, slave, 128 + number)
        with self.subTest("three at once"):
            process, master, slave = self.begin("-t", "-c", stubborn)
            self.read_until(master, b"begun\r\n")
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                process.send_signal(number)
            process.wait(time_scale.scaled(30))
            self.assertIn(process.returncode, (143, 130, 129))
            self.assertEqual(self.before, termios.tcgetattr(slave))

    def test_a_way_out_by_keys(self):
        stubborn = ("import signal, time, tty\ntty.setraw(0)\nfor n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\nprint('begun', flush=True)\n"
                    "while True: time.sleep(0.01)")
        process, master, slave = self.begin("-t", "-c", stubborn)
        self.read_until(master, b"begun")
        os.write(master, b"\x03\x1c\x04 ~.\r~")
        os.write(master, b".")
        self.rest(process, master, slave, 129)

    def test_a_tilde_is_typed_too(self):
        process, master, slave = self.begin("-t", "-c", "print([input('? ') for _ in range(4)])")
        self.read_until(master, b"? ")
        os.write(master, b"~/x\n~~.\na~.\n~\n")
        self.assertIn(b"['~/x', '~.', 'a~.', '~']\r\n", self.rest(process, master, slave, 0))

    def test_json_on_a_terminal_moves_no_cursor(self):
        process, master, slave = self.begin("--json", "-c", "import sys; sys.stdout.buffer.write('A\u009b31m\u202e'.encode())", stdin=subprocess.DEVNULL)
        shown = self.rest(process, master, slave, 0).decode()
        self.assertEqual("A\u009b31m\u202e", json.loads(shown)["stdout"])
        self.assertNotRegex(shown, "[\x7f-\x9f\u202e]")

    def test_a_lot_of_output(self):
        process, master, slave = self.begin("-t", "--language", "bash", "-c", "seq 100000; exit 3")
        self.assertTrue(self.rest(process, master, slave, 3) == b"".join(b"%d\r\n" % number for number in range(1, 100_001)))

    def test_output_may_go_elsewhere(self):
        process, master, slave = self.begin("-t", "-c", "print(input())", stdout=subprocess.PIPE)
        os.write(master, b"typed\n")
        self.assertEqual(b"typed\r\ntyped\r\n", process.stdout.read())
        self.rest(process, master, slave, 0)

    def test_artifacts_and_files(self):
        (self.directory / "in.txt").write_text("in", encoding="utf-8")
        process, master, slave = self.begin("-t", "--file", "in.txt", "--artifact", "out.txt:.", "-c", "open('out.txt', 'w').write(open('in.txt').read())")
        self.assertIn(b'wrote "out.txt", 2 bytes', self.rest(process, master, slave, 0))
        self.assertEqual("in", (self.directory / "out.txt").read_text(encoding="utf-8"))

    def test_a_terminal_that_goes_away(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execve(live_server.BINARY, [live_server.BINARY, "exec", "-t", "-c", "print('begun', flush=True)\nwhile True: pass"], self.variables())
        self.read_until(terminal, b"begun")
        os.close(terminal)
        ended = []
        with contextlib.suppress(ChildProcessError):
            self.assertTrue(host_view.wait_until(lambda: ended.extend(os.waitpid(pid, os.WNOHANG)) or ended[-2] == pid, 30))
        self.assertEqual(129, os.waitstatus_to_exitcode(ended[-1]))

    def test_what_cannot_be(self):
        for words, expected in ((("-t", "-c", "pass"), "standard input is no terminal"), (("-t", "-"), "not -"),
                                (("-t", "--json", "-c", "pass"), "--json"), (("-t", "--explain", "-c", "pass"), "--explain"),
                                (("-t", "--server", "http://127.0.0.1:1", "-c", "pass"), "--tty cannot be used with --server")):
            with self.subTest(words):
                done = subprocess.run([live_server.BINARY, "exec", *words], cwd=self.directory, env=self.variables(), stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False, timeout=time_scale.scaled(60))
                self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
                self.assertIn(expected, done.stderr)
        process, master, slave = self.begin("-t", "--language", "typescript")
        self.assertIn(b"-t: expected", self.rest(process, master, slave, 2))
