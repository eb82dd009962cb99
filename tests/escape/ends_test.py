"""How a program may come to its end, again and again: the status, the exit code and the output are always what it did, and
nothing of it runs, or writes, after that was reported. The program's own exit is what init is told by the kernel."""
import concurrent.futures
import os
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import live_server  # noqa: E402
import time_scale  # noqa: E402

ROUNDS = int(os.environ.get("JAIL_TEST_ENDS", "12"))
AT_ONCE = 4
EXIT_GROUP = {"x86_64": 231, "aarch64": 94}[platform.machine()]
# Each program has its possible ends: a status, and the exit code or the signal. LEAVE is the interpreter's own end and
# exit_group() at once, in turn.
PROGRAMS = {
    "by exit": ("import sys; print('here'); sys.exit(37)", {("error", 37)}),
    "by an exit code of more than eight bits": ("import os, sys; os._exit(256 + 5)", {("error", 5)}),
    "by exit with much memory": ("import os, sys; kept = bytearray(b'x') * (100 << 20); LEAVE(6)", {("error", 6)}),
    "by exit after a child that was waited for": (
        "import os, sys\nif (child := os.fork()) == 0: os._exit(5)\nos.waitpid(child, 0)\nLEAVE(6)", {("error", 6)}),
    "by exit before a child": (
        "import os, sys, time\nif os.fork() == 0:\n  time.sleep(20); os._exit(5)\nLEAVE(7)", {("error", 7)}),
    "beside children that end at the same time": (
        "import os, sys\nfor _ in range(20):\n  if os.fork() == 0: os._exit(5)\nLEAVE(8)", {("error", 8)}),
    "after a program that was started by vfork": (
        "import os, sys, subprocess\nassert subprocess.run(['/bin/false']).returncode == 1\nLEAVE(9)", {("error", 9)}),
    "after a program that was not there": (
        "import os, sys, subprocess\ntry: subprocess.run(['/none'])\nexcept FileNotFoundError: LEAVE(10)", {("error", 10)}),
    "as another program": ("import os, sys; kept = bytearray(b'x') * (50 << 20); os.execv('/bin/sh', ['sh', '-c', 'exit 11'])",
                           {("error", 11)}),
    "as another program, by a thread": (
        "import os, sys, threading, time\nthreading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', 'exit 12'])).start()\n"
        "while True: pass", {("error", 12)}),
    "by a thread while the first one prints": (
        "import os, sys, threading, time\ndef leave():\n  time.sleep(0.002)\n  os._exit(13)\nthreading.Thread(target=leave).start()\n"
        "while True: os.write(1, b'x')", {("error", 13)}),
    "while threads print": (
        "import os, sys, threading\ndef say():\n  while True: os.write(1, b'x')\n"
        "for _ in range(4): threading.Thread(target=say, daemon=True).start()\nLEAVE(14)", {("error", 14)}),
    "beside threads that wait": (
        "import os, sys, threading, time\nfor _ in range(8): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
        "kept = bytearray(b'x') * (50 << 20)\nLEAVE(21)", {("error", 21)}),
    "beside a thread that makes children": (
        "import os, sys, threading, warnings\nwarnings.simplefilter('ignore')\ndef make():\n  while True:\n    try:\n"
        "      if os.fork() == 0: os._exit(1)\n    except OSError: pass\nthreading.Thread(target=make, daemon=True).start()\nLEAVE(22)",
        {("error", 22)}),
    "beside a thread that becomes another program": (
        "import os, sys, threading\nthreading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', 'exit 12']), daemon=True).start()\n"
        "LEAVE(23)", {("error", 12), ("error", 23)}),
    "beside a thread that ends otherwise": (
        "import os, sys, threading\nthreading.Thread(target=os._exit, args=(24,), daemon=True).start()\nLEAVE(25)",
        {("error", 24), ("error", 25)}),
    "beside threads, after a child that was waited for": (
        "import os, sys, threading, time\nif (child := os.fork()) == 0: os._exit(5)\nos.waitpid(child, 0)\n"
        "threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\nLEAVE(26)", {("error", 26)}),
    "by a thread after the first one has gone": (
        "import ctypes, os, threading, time\ndef leave():\n  time.sleep(0.01)\n  os._exit(15)\n"
        "threading.Thread(target=leave).start()\nctypes.CDLL(None).syscall(60, 1)", {("error", 15)}),
    "from a signal handler": (
        "import os, sys, signal\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(16))\nsignal.setitimer(signal.ITIMER_REAL, 0.002)\n"
        "while True: pass", {("error", 16)}),
    # The child may run once more when its parent is gone: that is no part of what the program says.
    "while it is stopped and continued": (
        "import os, sys, signal\nparent = os.getpid()\nif os.fork() == 0:\n  os.close(2)\n  while True:\n"
        "    os.kill(parent, signal.SIGSTOP); os.kill(parent, signal.SIGCONT)\nLEAVE(17)", {("error", 17)}),
    "while a signal kills it": (
        "import os, sys, signal\nsignal.setitimer(signal.ITIMER_REAL, 0.0005)\nfor _ in range(3000): os.getppid()\nLEAVE(18)",
        {("error", 18), ("killed", "SIGALRM")}),
    "while a handled signal comes": (
        "import os, signal, sys\nsignal.signal(signal.SIGALRM, lambda *_: os.write(1, b'handled'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\nfor _ in range(3000): os.getppid()\nLEAVE(19)",
        {("error", 19), ("killed", "SIGALRM")}),  # an interpreter that ends puts the default action back
    "by a signal": ("import os, sys; os.kill(os.getpid(), 9)", {("killed", "SIGKILL")}),
    # A child that comes too late for its parent finds init in that place, which it may not signal: it has nowhere to say so.
    "twice, by a child first": (
        "import os, sys\nif os.fork() == 0:\n  os.close(2)\n  os.kill(os.getppid(), 19)\n  os.kill(os.getppid(), 18)\n  os._exit(1)\n"
        "LEAVE(20)", {("error", 20)}),
}
PROGRAMS = {f"{name}, {leave}" if "LEAVE" in code else name: (code.replace("LEAVE", leave), ends)
            for name, (code, ends) in PROGRAMS.items() for leave in ("sys.exit", "os._exit")}


class Ends(live_server.ServerTest):
    request = {}

    def ends_of(self, code):
        with self.server.client() as client:
            return [client.execute(code, memory_limit_mb=256, **self.request) for _ in range(ROUNDS)]

    def test_every_end_is_what_the_program_did(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as callers:
            for name, answers in zip(PROGRAMS, callers.map(self.ends_of, (code for code, _ in PROGRAMS.values()))):
                for answer in answers:
                    with self.subTest(name):
                        detail = answer["signal"] if answer["status"] == "killed" else answer["exit_code"]
                        self.assertIn((answer["status"], detail), PROGRAMS[name][1], answer)
                        self.assertEqual("", answer["stderr"])

    def test_what_it_used_is_reported(self):
        """The usage covers a process that init has not reaped, too."""
        for how in ("os._exit(0)", "raise SystemExit", "os.fork() or os._exit(0)"):
            with self.subTest(how):
                used = self.execute("import os, time\nkept = bytearray(b'x') * (60 << 20)\nbegun = time.process_time()\n"
                                    f"while time.process_time() < begun + 0.3: pass\n{how}", memory_limit_mb=256, **self.request)
                self.assertEqual("success", used["status"], used)
                self.assertGreaterEqual(used["cpu_time_ms"], 300, used)
                self.assertLess(used["cpu_time_ms"], 600 + 200 * time_scale.SCALE, used)
                self.assertGreaterEqual(used["memory_peak_mb"], 60, used)

    def test_nothing_of_it_runs_after_its_end(self):
        """Init's own end must not wake it from the call in which it waits."""
        code = ("import ctypes, os, signal\nsignal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65))\n"
                "print('before', flush=True)\nend = ctypes.CDLL(None).syscall\nwhile True:\n"
                f"  end(ctypes.c_long({EXIT_GROUP}), ctypes.c_long(3), ctypes.c_ulong(0x6A61696C20656E64))\n"
                "  os.write(1, b'after')\n  open('changed', 'w').close()\n")
        for _ in range(8 * ROUNDS):
            answer = self.execute(code, artifacts=["*"], **self.request)
            self.assertEqual(("error", 3, "before\n", []),
                             (answer["status"], answer["exit_code"], answer["stdout"], answer["artifacts"]))

    def test_all_that_was_written_is_there(self):
        answer = self.execute("import os, sys\nsys.stdout.write('x' * 900_000)\nsys.stdout.flush()\nos._exit(0)", **self.request)
        self.assertEqual(("success", 900_000), (answer["status"], len(answer["stdout"])))


class ColdEnds(Ends):
    request = {"template": "none"}
