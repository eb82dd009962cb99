"""agent-sandbox exec and signals: the program hears them first, and ends soon afterwards whatever it makes of them."""
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import termios
import time

import host_view
import live_server
import time_scale
from exec_command import ExecTest

# Sleeps are short: an interpreter that hears a signal in the moment before one begins looks at it only afterwards.
GRACEFUL = ("try:\n  import time\n  print('begun', flush=True)\n  while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n  print('interrupted')\n"
            "finally:\n  print('finally')\n  open('left.txt', 'w').write('left')\n")


def buffered(pipe):
    """How many bytes wait in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Signals(ExecTest):
    def begin(self, code, *arguments, begun=b"begun\n", **streams):
        process = subprocess.Popen([live_server.BINARY, "exec", "--rootfs", "host", "--timeout", "60", *arguments, "-c", code], cwd=self.directory,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.directory)}, **{
                                       "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})
        self.addCleanup(self.end, process)
        for expected in (begun[at:at + 1] for at in range(len(begun))):
            self.assertEqual(expected, process.stdout.read(1), begun)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()

    def rest(self, process, status):
        out, error = process.communicate(timeout=time_scale.scaled(30))
        self.assertEqual(status, process.returncode, (out, error))
        return out.decode(), error.decode()

    def test_ctrl_c_is_a_keyboard_interrupt(self):
        process = self.begin(GRACEFUL)
        process.send_signal(signal.SIGINT)
        self.assertEqual(("interrupted\nfinally\n", ""), self.rest(process, 130))

    def test_a_program_that_does_not_care_shows_where_it_was(self):
        process = self.begin("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)")
        process.send_signal(signal.SIGINT)
        out, error = self.rest(process, 130)
        self.assertEqual("", out)
        self.assertTrue(error.endswith("KeyboardInterrupt\n"), error)

    def test_termination_is_the_programs_too(self):
        process = self.begin("import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'ends\\n'), os._exit(0)))\n"
                             "print('begun', flush=True)\nwhile True: time.sleep(0.01)")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(("ends\n", ""), self.rest(process, 143))

    def test_an_end_waits_for_nobody_who_reads_the_output(self):
        process = self.begin("import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.write(1, b'begun\\n')\n"
                             "while True: os.write(1, bytes(65536))")
        pipe = process.stdout.fileno()
        self.assertTrue(host_view.wait_until(lambda: buffered(pipe) >= 49152, 20), buffered(pipe))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(143, process.wait(time_scale.scaled(20)))

    def test_output_that_nobody_reads_yet_needs_no_thread(self):
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        if hard != resource.RLIM_INFINITY:
            self.skipTest("the stack of a thread cannot be made too large here")
        # No thread can be made with a stack of 64 TiB.
        process = self.begin("import os\nos.write(1, b'begun\\n')\nos.write(1, bytes(300_000))",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, hard)))
        pipe = process.stdout.fileno()
        self.assertTrue(host_view.wait_until(lambda: buffered(pipe) >= 49152, 20), buffered(pipe))
        time.sleep(0.3)
        # begin() may have taken more than the first line into the stream's buffer.
        self.assertEqual(300_000, len(process.stdout.read()))
        self.rest(process, 0)

    def test_a_hangup(self):
        process = self.begin("import os, signal, time\nsignal.signal(signal.SIGHUP, lambda *_: (os.write(1, b'gone\\n'), os._exit(0)))\n"
                             "print('begun', flush=True)\nwhile True: time.sleep(0.01)")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(("gone\n", ""), self.rest(process, 129))

    def test_shells_and_javascript_hear_it(self):
        process = self.begin("trap 'echo trapped; exit 0' INT; echo begun; while :; do sleep 0.05; done", "--language", "bash")
        process.send_signal(signal.SIGINT)
        self.assertEqual("trapped\n", self.rest(process, 130)[0])
        process = self.begin("process.on('SIGINT', () => { console.log('heard'); process.exit(0); }); setInterval(() => {}, 1000); console.log('begun');",
                             "--language", "javascript")
        process.send_signal(signal.SIGINT)
        self.assertEqual("heard\n", self.rest(process, 130)[0])

    def test_one_that_ignores_it_has_two_seconds(self):
        process = self.begin("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)")
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(("", ""), self.rest(process, 130))
        self.assertGreater(time.monotonic() - started, 1.9)

    def test_a_second_one_ends_it_at_once(self):
        process = self.begin("import os, signal, time\nsignal.signal(signal.SIGINT, lambda *_: os.write(1, b'first\\n'))\n"
                             "print('begun', flush=True)\nwhile True: time.sleep(0.01)")
        process.send_signal(signal.SIGINT)
        self.assertEqual(b"first\n", process.stdout.readline())
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(("", ""), self.rest(process, 130))
        self.assertLess(time.monotonic() - started, time_scale.scaled(1.5))

    def test_what_the_program_leaves_is_kept(self):
        process = self.begin(GRACEFUL, "--artifact", "*.txt:kept")
        process.send_signal(signal.SIGINT)
        self.assertIn('wrote "kept/left.txt", 4 bytes', self.rest(process, 130)[1])
        self.assertEqual("left", (self.directory / "kept/left.txt").read_text(encoding="utf-8"))

    def test_json_is_printed_where_it_ended_by_itself(self):
        process = self.begin("import subprocess\ntry:\n  subprocess.run(['sleep', f'{47}.11'])\nexcept KeyboardInterrupt:\n  print('interrupted')",
                             "--json", begun=b"")
        self.assertTrue(host_view.wait_until(lambda: any("47.11" in line for line in host_view.descendants(process.pid).values()), 20))
        process.send_signal(signal.SIGINT)
        result = json.loads(self.rest(process, 130)[0])
        self.assertEqual(("success", "interrupted\n"), (result["status"], result["stdout"]))

    def test_nothing_is_left(self):
        process = self.begin("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)")
        children = host_view.descendants(process.pid)
        self.assertGreater(len(children), 1)
        # Two of one number that wait at once are one.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=time_scale.scaled(30))
        self.assertIn(process.returncode, (130, 143))  # whichever was taken first
        self.assertTrue(host_view.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), 20), children)
