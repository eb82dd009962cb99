"""The attacks on warm jails, over HTTP: each Python attack of attacks/ in a jail that a zygote forked, those of
warm_attacks/ that only such a jail could suffer from, and pairs of programs of which one looks for the other."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import attacks_test  # noqa: E402
import host_view  # noqa: E402
import live_server  # noqa: E402
import time_scale  # noqa: E402

WARM_ATTACKS = pathlib.Path(__file__).resolve().parent / "warm_attacks"
PRELUDE = attacks_test.PRELUDE.read_text(encoding="utf-8")
# What these leave on the host is reached by descriptors or a terminal that agent-sandbox exec inherits.
CONTEXTS = {name: context for name, context in attacks_test.CONTEXTS.items()
            if name not in ("inherited_descriptors", "leftover_environment", "terminal_injection")}
# Secrets of one run share a prefix, so that a program can look for them without holding one itself.
PREFIX = f"mark{uuid.uuid4().hex[:12]}"
# Seconds for which a program may sleep while another one looks for it.
MOST_WAIT = 15


def secret():
    return f"{PREFIX}x{uuid.uuid4().hex[:20]}"


# Searches everything that it can read for what others left, in memory and in files.
SEARCH = r"""
import re, sys, os
pattern = re.compile((sys.argv[1] + "x[0-9a-f]{20}").encode())
found, regions = set(), 0
with open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in open("/proc/self/maps").read().splitlines():
        if line.split()[1].startswith("r") and "[v" not in line:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            for start in range(low, high, 16 << 20):
                try:
                    memory.seek(start)
                    found.update((match.decode(), "memory " + line) for match in pattern.findall(memory.read(min(high - start, 16 << 20))))
                    regions += 1
                except (OSError, ValueError, OverflowError):
                    pass
for top in ("/workspace", "/tmp", "/dev/shm", "/etc", "/proc/self"):
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in ("map_files", "task")]
        for name in names:
            if name not in ("mem", "pagemap", "clear_refs"):
                try:
                    descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
                    try:
                        found.update((match.decode(), os.path.join(folder, name)) for match in pattern.findall(os.read(descriptor, 1 << 20)))
                    finally:
                        os.close(descriptor)
                except OSError:
                    pass
print("regions", regions)
for word, where in sorted(found):
    print("FOUND", word, where)
"""


class WarmRing(live_server.ServerTest):
    template = "python"
    environment = {"GROQ_API_KEY": secret(), "LD_ESCAPE": secret(), "API_KEYS": secret(), "ESCAPE_PROBE": "ESCAPE_PROBE"}

    def setUp(self):
        super().setUp()
        self.client.close()
        self.client = self.server.client(**{"X-API-Key": self.environment["API_KEYS"]})
        folder = tempfile.TemporaryDirectory(prefix="escape.")
        self.addCleanup(folder.cleanup)
        self.directory = folder.name

    def run_warm(self, code, **fields):
        result = self.client.execute(code, **{"template": self.template, "timeout_seconds": 20, **fields})
        self.assertEqual(fields.get("template") != "none", result["warm"], result)
        return result

    def execute_beside(self, code, **fields):
        """The same as run_warm, over a connection of its own, for a program that waits for MOST_WAIT at most."""
        with self.server.client(**{"X-API-Key": self.environment["API_KEYS"]}) as client:
            return client.execute(code, **{"template": self.template, "timeout_seconds": time_scale.timeout(20), **fields})

    @contextlib.contextmanager
    def beside(self, code, **fields):
        """Runs the block while the program runs, which waits after its preparations. Yields its future result."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.execute_beside, code, **fields)
            time.sleep(0.8)
            yield running
            self.assertEqual("success", running.result()["status"], running.result()["stderr"])


class WarmAttacks(WarmRing):
    """The runner's eyes are those of Attacks; that nothing outlives a run is seen on the server's own processes."""

    check_report = attacks_test.Attacks.check_report

    def attack(self, attack):
        if obstacle := attack.obstacle():
            self.skipTest(obstacle)
        mounts = host_view.mounts()
        with CONTEXTS.get(attack.name, lambda test: contextlib.nullcontext([]))(self) as arguments:
            started = time.monotonic()
            report = self.run_warm(attack.program(), args=arguments, timeout_seconds=attack.timeout, memory_limit_mb=attack.memory)
            self.assertLess(time.monotonic() - started, attack.longest(), "it took too long")
            self.check_report(attack, report)
        self.assertEqual(mounts, host_view.mounts())
        self.assertEqual([], os.listdir(self.directory), "files were left on the host")
        # The server, its pools and the next guest work as before.
        self.assertEqual("42\n", self.run_warm("print(6*7)")["stdout"])
        self.assertIsNone(self.server.exit_status)


class Others(WarmRing):
    """What one warm jail leaves, and what another one finds, on each template."""

    def on_template(self, template, look):
        answer = self.client.post({"code": "pass", "template": template, "timeout_seconds": 60})
        if answer.status == 400 and template != "python":
            self.skipTest(f"no template {template} here: {answer.json['detail']}")
        self.template = template
        getattr(self, look)()

    def leave_secrets(self):
        """Sends requests with a secret in each place, the last of which still runs. Yields a function that ends it."""
        for _ in range(3):
            self.run_warm(f"word = '{secret()}' * 1000\nprint(word[:60])\nopen('/tmp/left', 'w').write(word)\n"
                          f"open('left', 'w').write(word)\nopen('/dev/shm/left2', 'w').write(word)")
            self.run_warm("import sys; print(sys.argv[1], sys.stdin.read())", args=[secret()], stdin=secret() * 100)
            self.client.execute("import os; print(os.environ['SECRET'])", env={"SECRET": secret()})
            self.run_warm("print(open('in.txt').read())", files={"in.txt": secret()})
            self.run_warm(f"raise ValueError('{secret()}')")
            self.run_warm(f"import os; os.kill(os.getpid(), 9)  # {secret()}")

    def search(self, **fields):
        lines = self.run_warm(SEARCH, args=[PREFIX], memory_limit_mb=1024, **fields)["stdout"].splitlines()
        self.assertGreater(int(lines[0].split()[1]), 10, "the search could not read")
        return lines[1:]

    def look_no_secret_of_another_is_in_memory(self):
        self.leave_secrets()
        with self.beside(f"word = '{secret()}' * 1000\nimport time\ntime.sleep(4)"):
            for _ in range(12):
                self.assertEqual([], self.search())

    def look_control_the_search_finds_what_is_there(self):
        planted = secret()
        found = self.search(stdin=planted, files={"in.txt": secret()})
        self.assertTrue(any("/workspace/in.txt" in line for line in found), found)
        lines = self.run_warm("import sys\nheld = sys.stdin.read()\n" + SEARCH, args=[PREFIX], stdin=planted, memory_limit_mb=1024)["stdout"]
        self.assertRegex(lines, f"FOUND {planted} memory")

    # Frozen pages come from one memfd, mapped private; pages of libraries from one file. A write by force makes a copy.
    SCRIBBLE = r"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
written = {}
mark = sys.stdin.read().encode()
for line in open("/proc/self/maps").read().splitlines():
    bounds, rights, _, _, _, *name = line.split()
    high = int(bounds.partition("-")[2], 16)
    if not name or not name[0].startswith(("/usr", "/memfd", "[heap")) or not rights.startswith("r") or rights[3] != "p":
        continue
    if libc.mprotect(high - 4096, 4096, 7 if "x" in rights else 3) == 0:
        if ctypes.string_at(high - 64, 64).count(0) == 64:
            ctypes.memmove(high - 64, mark, len(mark))
            written[name[0]] = written.get(name[0], 0) + 1
print("wrote", sum(written.values()), written)
"""

    def look_what_one_writes_into_frozen_pages_no_other_sees(self):
        for _ in range(3):
            wrote = self.run_warm(self.SCRIBBLE, stdin=secret())
            self.assertRegex(wrote["stdout"], r"wrote [1-9]\d* .*/usr/bin/python3", wrote)
        for _ in range(10):
            self.assertEqual([], self.search())

    def look_control_the_writer_sees_its_own_mark(self):
        mark = secret()
        text = self.run_warm(self.SCRIBBLE + SEARCH, args=[PREFIX], stdin=mark, memory_limit_mb=1024)["stdout"]
        self.assertIn(f"FOUND {mark} memory", text)

    LEAVE = r"""
import ctypes, os, resource, signal, socket, sys, time
for folder in ("/tmp", "/workspace", "/dev/shm"):
    open(folder + "/left-behind", "w").write("x")
os.umask(0)
os.chmod("/tmp", 0o700)
for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
os.nice(19)
libc = ctypes.CDLL(None)
libc.prctl(15, b"other-name", 0, 0, 0)
listening = [socket.socket(socket.AF_INET), socket.socket(socket.AF_UNIX)]
for each, address in zip(listening, (("127.0.0.1", 8080), "\0left-behind")):
    each.bind(address)
    each.listen()
client = socket.create_connection(("127.0.0.1", 8080))
served, _ = listening[0].accept()
served.close()
client.recv(1)
client.close()
print("left", flush=True)
time.sleep(float(sys.stdin.read() or 0))
"""
    LOOK = r"""
import ctypes, os, resource, signal, socket
print(sorted(os.listdir("/tmp") + os.listdir("/workspace") + os.listdir("/dev/shm")), oct(os.stat("/tmp").st_mode), oct(os.umask(0)))
print([repr(signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1)], signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([resource.getrlimit(number) for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)], os.nice(0))
name = ctypes.create_string_buffer(16)
ctypes.CDLL(None).prctl(16, name, 0, 0, 0)
print(name.value, open("/proc/self/oom_score_adj").read(), open("/proc/self/coredump_filter").read())
print([pid for pid in os.listdir("/proc") if pid.isdigit()], os.getpid())
for family, address in ((socket.AF_INET, ("127.0.0.1", 8080)), (socket.AF_UNIX, "\0left-behind")):
    with socket.socket(family) as probe:
        print(probe.connect_ex(address))
    with socket.socket(family) as mine:
        mine.bind(address)
        mine.listen()
"""

    def look_nothing_is_left_for_the_next(self):
        before = self.run_warm(self.LOOK)
        self.assertEqual("success", before["status"], before["stderr"])
        for _ in range(3):
            self.assertEqual("left\n", self.run_warm(self.LEAVE)["stdout"])
        for _ in range(12):
            after = self.run_warm(self.LOOK)
            self.assertEqual((before["stdout"], ""), (after["stdout"], after["stderr"]))

    def look_two_at_once_do_not_see_each_other(self):
        wait = str(min(time_scale.scaled(5), MOST_WAIT))
        alone = self.run_warm(self.LOOK, stdin=wait)
        with self.beside(self.LEAVE, stdin=wait) as running:
            beside = self.run_warm(self.LOOK, stdin=wait)
            self.assertFalse(running.done(), "they were not there at the same time")
        self.assertEqual((alone["stdout"], ""), (beside["stdout"], beside["stderr"]))
        self.assertEqual("left\n", running.result()["stdout"])

    # Whatever one jail locks, another one that tries and asks for locks of every kind gets the answers that it gets alone.
    LOCKED = ["/", "/*", "/dev/*", "/etc/*", "/etc/*/*", "/usr", "/usr/lib", "/usr/bin/python3*", "/usr/lib/python3*/os.py", "/proc/self/exe",
              "/proc/self/ns/*", "/proc/self/fd/*", "/proc/self/map_files/*", "/proc/self/cwd", "/proc/self/root", "/proc/version", "/proc/self/maps"]
    LOCK = r"""
import errno, fcntl, glob, json, os, struct, sys, time
settings = json.loads(sys.stdin.read())
RECORD = "hhqqi4x"
KINDS = {"write": fcntl.F_WRLCK, "read": fcntl.F_RDLCK}

def lock_record(file, command, kind, start):
    fcntl.fcntl(file, command, struct.pack(RECORD, KINDS[kind], os.SEEK_SET, start, 3, 0))

def conflict(file, command, kind):
    kind, _, start, length, _ = struct.unpack(RECORD, fcntl.fcntl(file, command, struct.pack(RECORD, KINDS[kind], os.SEEK_SET, 0, 0, 0)))
    return [kind, start, length]

WAYS = {"exclusive": lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), "shared": lambda file: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)}
LOOKS = {}
for name, locking, asking, place in (("record", fcntl.F_SETLK, fcntl.F_GETLK, 20), ("open record", fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK, 5)):
    for kind in KINDS:
        WAYS[f"{name} {kind}"] = lambda file, all=(locking, kind, place): lock_record(file, *all)
        LOOKS[f"who has a {name}, {kind}"] = lambda file, all=(asking, kind): conflict(file, *all)

def answer(way, file):
    try:
        return way(file) or "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, error.errno)

def opened(path, mode):
    try:
        return os.open(path, mode | os.O_NONBLOCK)
    except OSError:
        return None

answers, kept = {}, []
for path in sorted({path for pattern in settings["paths"] for path in glob.glob(pattern)}):
    for mode in (os.O_RDWR, os.O_RDONLY):
        if settings["wait"]:  # by one descriptor, since closing another one drops the records
            file = opened(path, mode)
            if file is not None:
                # The stronger one of each pair, and the weaker one where that is refused.
                pairs = zip(*[iter(WAYS.values())] * 2)
                kept += [file] * any([answer(strong, file) == "done" or answer(weak, file) == "done" for strong, weak in pairs])
                break
            continue
        for name, way in {**WAYS, **LOOKS}.items():
            file = opened(path, mode)
            if file is not None:
                answers[f"{path} {mode} {name}"] = answer(way, file)
                os.close(file)
print(json.dumps(len(kept) if settings["wait"] else answers), flush=True)
time.sleep(settings["wait"])
"""

    def locks(self, wait, paths=None, **fields):
        return {"stdin": json.dumps({"paths": paths or self.LOCKED, "wait": wait}), **fields}

    def look_locks_reach_no_other_jail(self):
        wait = min(time_scale.scaled(8), MOST_WAIT)
        for template in ("none", self.template):
            alone = self.run_warm(self.LOCK, **self.locks(0, template=template))
            self.assertEqual("success", alone["status"], alone["stderr"])
            alone = json.loads(alone["stdout"])
            self.assertGreater(len(alone), 500, "the locks were not tried")
            with self.beside(self.LOCK, **self.locks(wait, template=template)) as holding:
                beside = self.run_warm(self.LOCK, **self.locks(0, template=template))
                self.assertFalse(holding.done(), "they were not there at the same time")
            self.assertGreater(int(holding.result()["stdout"]), 100, "nothing was locked")
            seen = {name: (given, alone.get(name)) for name, given in json.loads(beside["stdout"]).items()
                    if given != alone.get(name) and not self.is_of_one_process(name)}
            self.assertEqual({}, seen, f"template {template}")

    @staticmethod
    def is_of_one_process(name):
        return name.startswith("/proc/self/fd/")  # the numbers of what glob itself has open

    def look_locks_in_one_jail_are_seen(self):
        """The control: the same program sees a lock that is visible to it."""
        paths = ["/tmp/*"]
        within = self.run_warm(f"""
import json, os, subprocess, sys
open("/tmp/file", "w").close()
open("/tmp/lock.py", "w").write({self.LOCK!r})
def start(wait):
    child = subprocess.Popen([sys.executable, "/tmp/lock.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdin.write(json.dumps({{"paths": {paths!r}, "wait": wait}}))
    child.stdin.close()
    return child
alone = json.loads(start(0).stdout.readline())
holder = start(30)
holder.stdout.readline()
beside = json.loads(start(0).stdout.readline())
holder.kill()
print(sorted({{name.split(" ", 2)[2] for name in alone if alone[name] != beside[name]}}))
""")
        names = ["exclusive", "shared", *(f"{who}{name}{kind}" for who, kinds in (("", (" read", " write")), ("who has a ", (", read", ", write")))
                                          for name in ("record", "open record") for kind in kinds)]
        self.assertEqual(f"{sorted(names)}\n", within["stdout"], within["stderr"])

    def look_leases_and_watches_are_refused(self):
        result = self.run_warm(PRELUDE + r"""
import fcntl
import glob
descriptor = os.open("/proc/self/exe", os.O_RDONLY)
for command, name in ((fcntl.F_SETLEASE, "lease"), (fcntl.F_NOTIFY, "notify"), (fcntl.F_SETOWN, "owner"), (fcntl.F_SETSIG, "signal")):
    must_raise(name, lambda: fcntl.fcntl(descriptor, command, 0))
LIBC.inotify_init1.restype = ctypes.c_int
for label, opened in (("inotify", LIBC.inotify_init1(0)), ("fanotify", LIBC.fanotify_init(0, 0))):
    if opened >= 0:
        watched = LIBC.inotify_add_watch(opened, b"/proc/self/exe", 0xfff)
        (escapes if watched >= 0 else notes).append(f"{label} watches the interpreter")
verdict()
""")
        self.assertRegex(result["stdout"], "^CONTAINED", result["stderr"])

    def look_a_program_has_one_answer(self):
        """The remains of an ended jail change no later answer."""
        late = ("import os, sys, time\nfor _ in range(3):\n    if os.fork() == 0:\n        time.sleep(0.4)\n        print('late', flush=True)\n"
                "        os._exit(3)\nprint('first')\nsys.exit(5)")
        for _ in range(5):
            result = self.run_warm(late)
            self.assertEqual(("error", 5, "first\n"), (result["status"], result["exit_code"], result["stdout"]))
            result = self.run_warm("print('second')")
            self.assertEqual(("success", "second\n"), (result["status"], result["stdout"]))

    def look_every_process_of_a_jail_is_confined(self):
        """Seen from the host, in waiting jails and in a running one, all processes except init have a filter and no
        privilege."""
        def status(pid):
            return dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8") if ":\t" in line)
        with self.beside("import os, time\nos.fork()\ntime.sleep(2.5)"):
            # A guest on its way into its jail is not confined yet.
            self.wait_for(lambda: not any(pool["refilling"] for pool in self.pools().values()))
            jails = {}
            for pid in self.server.processes():
                with contextlib.suppress(OSError):
                    found = status(pid)
                    # The host's number, the template's and the jail's own.
                    if len(found["NSpid"].split()) > len(status("self")["NSpid"].split()) + 1 and found["Name"] != "jail-init":
                        jails[pid] = found
            self.assertGreaterEqual(len(jails), 2, "a program and its child run")
            for pid, found in jails.items():
                self.assertIn(found["Seccomp"].strip(), ("1", "2"), found)
                self.assertEqual(("1", 0), (found["NoNewPrivs"].strip(), int(found["CapEff"], 16)), found)
                if found["Seccomp"].strip() == "2":
                    self.assertEqual([0] * 4, [int(found[name], 16) for name in ("CapPrm", "CapInh", "CapBnd", "CapAmb")], found)

    def look_jails_end_with_their_run(self):
        """No process of a used jail is left: after many runs there are no more than the pools keep waiting."""
        def processes():
            return len(self.server.processes())
        self.run_warm("pass")
        time.sleep(1)
        before = processes()
        for _ in range(30):
            self.run_warm("import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)")
        most = before + 3 * 64  # the pool may have grown to its bound, with init, guest and what keeps its memory
        self.assertTrue(host_view.wait_until(lambda: processes() <= most, 10), (before, self.server.processes()))
        sleeping = [line for line in self.server.processes().values() if "main.py" in line]
        self.assertLess(len(sleeping), before + 3 * 64)


class Planted(WarmRing):
    """The attacks find the planted objects."""

    PLANTS = {
        "zygote_mappings": "import mmap\nkept = mmap.mmap(-1, 4096)\n",
        "zygote_descriptors": "import os\nos.dup(1)\n",
        "zygote_processes": "import os, time\nif os.fork() == 0:\n    time.sleep(15)\n    os._exit(0)\n",
        "zygote_sockets": "import socket\nkept = socket.socket(socket.AF_UNIX)\nkept.bind('\\0zygote')\nkept.listen()\n",
        "interpreter_objects": "import os\nkept = open('/etc/passwd')\n",
    }

    def test_control_attacks_find_what_was_planted(self):
        for name, plant in self.PLANTS.items():
            text = next(attack.text for attack in ALL if attack.name == name)
            self.assertRegex(self.run_warm(plant + PRELUDE + text)["stdout"], "^ESCAPED: ", name)
            self.assertRegex(self.run_warm(PRELUDE + text)["stdout"], "^CONTAINED: ", name)


class Controls(attacks_test.Ring):
    """The same programs outside of a jail say ESCAPED, where they harm nobody."""

    unconfined = attacks_test.Controls.unconfined

    def test_control_harmless_programs_escape_unconfined(self):
        controlled = [attack for attack in ALL if attack.controlled and attack.path.parent == WARM_ATTACKS]
        self.assertGreaterEqual(len(controlled), 3)
        for attack in controlled:
            with self.subTest(attack.name):
                self.assertIn("ESCAPED", self.unconfined(attack))

    def test_control_every_attack_says_what_it_tries(self):
        for path in WARM_ATTACKS.glob("*.py"):
            self.assertRegex(path.read_text(encoding="utf-8"), r"(?ms)^# Tries: \w.*^# Report: \w", path.name)


ALL = [attack for attack in attacks_test.ALL if attack.language == "python"]
ALL += [attacks_test.Attack(path) for path in sorted(WARM_ATTACKS.glob("*.py"))]
for each in ALL:
    setattr(WarmAttacks, f"test_warm_{each.name}", lambda test, attack=each: test.attack(attack))
for name in [name for name in vars(Others) if name.startswith("look_")]:
    for kind in ("python", "data"):
        setattr(Others, f"test_{kind}_{name.removeprefix('look_')}",
                lambda test, look=name, template=kind: test.on_template(template, look))
