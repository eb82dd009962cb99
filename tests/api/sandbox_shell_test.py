"""agent-sandbox sandbox at a terminal: the shell, and tables that fit."""
import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

import host_view
import live_server
import time_scale
from sandbox_command import Command


class Terminal(Command):
    def open(self, *arguments, rows=30, columns=100):
        """Opens the command at a terminal of its own, as the session's leader."""
        pid, terminal = pty.fork()
        if pid == 0:
            self.resize(0, rows, columns)
            os.chdir(self.directory)
            os.execve(live_server.BINARY, [live_server.BINARY, "sandbox", *map(str, arguments)], self.variables())
        self.addCleanup(os.close, terminal)
        return pid, terminal

    @staticmethod
    def resize(terminal, rows, columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def status_of(self, pid):
        ended = []
        self.assertTrue(host_view.wait_until(lambda: ended.extend(os.waitpid(pid, os.WNOHANG)) or ended[-2] == pid, 30))
        return os.waitstatus_to_exitcode(ended[-1])

    def shell(self, *arguments):
        """Returns a shell that has shown its prompt, with a terminal to look at once it is gone."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.resize(slave, 30, 100)
        self.before = termios.tcgetattr(slave)
        process = self.start("shell", *arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        self.read_until(master, b"$ ")
        self.assertFalse(termios.tcgetattr(slave)[3] & termios.ICANON)
        return process, master, slave

    def test_a_shell(self):
        sandbox = self.make("--env", "PS1=ready$ ")
        pid, terminal = self.open("shell", sandbox)
        self.read_until(terminal, b"$ ")
        os.write(terminal, b"echo $((6*7)) $TERM; tty; stty size\n")
        seen = self.read_until(terminal, b"30 100\r\n")
        self.assertIn(b"42 xterm\r\n", seen)
        self.assertIn(b"/dev/pts/", seen)
        self.resize(terminal, 40, 120)
        self.assertTrue(host_view.wait_until(lambda: self.asked(terminal, b"stty size", b"40 120\r\n"), 10))
        os.write(terminal, b"exit 9\n")
        self.assertEqual(9, self.status_of(pid))
        self.wait_until_idle(sandbox)

    def asked(self, terminal, command, answer):
        os.write(terminal, command + b"; echo as''ked\n")
        return answer in self.read_until(terminal, b"asked\r\n")

    def test_keys_are_the_shells(self):
        sandbox = self.make()
        pid, terminal = self.open("shell", sandbox)
        self.read_until(terminal, b"$ ")
        # The process that gets the signal already has the terminal: between two of its own bash may drop a signal.
        os.write(terminal, b"sh -c \"echo go''ing; exec sleep 50\"\n")
        self.read_until(terminal, b"going\r\n")
        os.write(terminal, b"\x03")
        self.read_until(terminal, b"$ ")
        os.write(terminal, b"echo $?\n")
        self.read_until(terminal, b"130\r\n")
        os.write(terminal, b"stty -echo; echo rea''dy; cat | od -An -tx1\n")
        self.read_until(terminal, b"ready\r\n")
        os.write(terminal, "ü€\n".encode())
        os.write(terminal, b"\x04")
        self.read_until(terminal, b"c3 bc e2 82 ac 0a")
        os.write(terminal, b"exit\n")
        self.assertEqual(0, self.status_of(pid))

    def test_exec_reads_what_is_typed(self):
        sandbox = self.make()
        pid, terminal = self.open("exec", sandbox, "--", "python3", "-c", "print('<' + input('name? ') + '>')")
        self.read_until(terminal, b"name? ")
        os.write(terminal, b"Ada\n")
        self.read_until(terminal, b"<Ada>\r\n")
        self.assertEqual(0, self.status_of(pid))
        pid, terminal = self.open("exec", sandbox, "--", "cat")
        os.write(terminal, b"one\n\x04")
        self.assertIn(b"one\r\n", self.read_to_the_end(terminal))
        self.assertEqual(0, self.status_of(pid))

    def test_a_lot_of_output_and_another_command(self):
        sandbox = self.make()
        pid, terminal = self.open("shell", sandbox, "--", "sh", "-c", "seq 200000; exit 3")
        seen = self.read_to_the_end(terminal)
        self.assertEqual(3, self.status_of(pid))
        self.assertTrue(seen == b"".join(b"%d\r\n" % number for number in range(1, 200_001)), f"{len(seen)} bytes")

    @staticmethod
    def read_to_the_end(terminal):
        seen = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(terminal, 65536):
                seen += piece
        return seen

    def ended_by(self, end, sandbox):
        process, master, slave = self.shell(sandbox)
        end(process, master)
        status = process.wait(time_scale.scaled(20))
        self.assertEqual(self.before, termios.tcgetattr(slave))
        return status

    def test_the_terminal_is_as_it_was_on_every_way_out(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number):
                sandbox = self.make()
                self.assertEqual(128 + number, self.ended_by(lambda process, _, number=number: process.send_signal(number), sandbox))
                self.wait_until_idle(sandbox)
        with self.subTest("exit"):
            self.assertEqual(5, self.ended_by(lambda _, master: os.write(master, b"exit 5\n"), self.make()))
        with self.subTest("delete"):
            sandbox = self.make()
            self.assertIn(self.ended_by(lambda *_: self.good("delete", sandbox), sandbox), (125, 129, 143))

    def test_a_terminal_that_goes_away(self):
        sandbox = self.make()
        pid, terminal = self.open("shell", sandbox)
        self.read_until(terminal, b"$ ")
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), terminal)  # which hangs up
        self.assertIn(self.status_of(pid), (128 + signal.SIGHUP, -signal.SIGHUP))
        self.wait_until_idle(sandbox)

    def test_what_is_refused(self):
        self.assertIn("no terminal", self.one_line("shell", self.make(), status=2))
        pid, terminal = self.open("shell", "no-such-sandbox")
        self.read_until(terminal, b"agent-sandbox: ")
        self.assertEqual(125, self.status_of(pid))

    def test_tables_fit_the_terminal(self):
        sandbox = self.make("--name", "a" * 50, "--metadata", "note=" + "x" * 200)
        self.good("exec", sandbox, "--background", "--", "sh", "-c", "sleep 50", "y" * 300)
        for arguments in (("list",), ("ps", sandbox)):
            with self.subTest(arguments):
                # The width is set before the command starts.
                master, slave = pty.openpty()
                self.addCleanup(os.close, master)
                self.resize(slave, 30, 70)
                process = self.start(*arguments, stdin=subprocess.DEVNULL, stdout=slave)
                os.close(slave)
                self.assertEqual(0, process.wait(time_scale.scaled(20)))
                lines = self.read_to_the_end(master).decode().replace("\r", "").splitlines()
                self.assertGreaterEqual(len(lines), 2)
                self.assertLessEqual(max(map(len, lines)), 70)
        self.assertIn("x" * 200, self.good("list"))
