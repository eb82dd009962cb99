"""A user of the host for each jail: where the server is root's, or /etc/subuid gives some; and what happens where neither is so."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import host_view
import live_server
import ordinary_user
import time_scale
from living_sandbox import SandboxTest, init_of

FIRST, COUNT = 1_900_000_000, 4096
IS_ROOT = os.geteuid() == 0


def host_uids(pid):
    """Real, effective, saved and for files, as the host numbers them."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("Uid:"):
            return [int(number) for number in line.split()[1:]]
    raise AssertionError(f"no user of {pid}")


def exec_program(*arguments, user=None, **environment):
    with ordinary_user.within_reach(live_server.BINARY) as folder:
        folder.chmod(0o777)
        return subprocess.run([folder / "agent-sandbox", *arguments], capture_output=True, text=True, check=False, cwd=folder,
                              timeout=time_scale.scaled(60), env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment}, **(user or {}))


@unittest.skipUnless(IS_ROOT, "only root can take users that nobody has given it")
class Own(SandboxTest):
    environment = {"JOBS_PATH": ":memory:", "SANDBOX_USERS": f"{FIRST}:{COUNT}"}

    def inits(self):
        return [pid for pid in self.server.processes() if host_view.name_of(pid) == "jail-init"]

    def test_each_jail_has_one_and_none_is_the_servers(self):
        self.assertEqual("own", self.client.send("GET", "/health").json["users"])
        sandboxes = [self.make() for _ in range(3)]
        for sandbox in sandboxes:
            sandbox.start("sleep 50")
        users = []
        for pid in self.inits():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a jail of a pool may go at any time
                users.append(set(host_uids(pid)))
        self.assertGreaterEqual(len(users), 3)
        self.assertTrue(all(len(each) == 1 for each in users), users)
        numbers = [each.pop() for each in users]
        self.assertEqual(len(numbers), len(set(numbers)), numbers)
        self.assertTrue(all(FIRST <= number < FIRST + COUNT for number in numbers), numbers)
        self.assertNotIn(host_uids(self.server.pid)[1], numbers)

    def test_programs_have_the_user_of_their_init(self):
        sandbox = self.make()
        sandbox.start(["sleep", "4321"])
        program = self.started_on_host("4321")
        self.assertEqual(host_uids(init_of(program)), host_uids(program))
        self.assertEqual("1000 1000 1000 1000", sandbox.run("grep Uid /proc/self/status | cut -f2- | tr '\\t' ' '")["stdout"].strip())

    def test_files_belong_to_the_guest_whoever_makes_them(self):
        sandbox = self.make()
        self.assertEqual(201, sandbox.put("/workspace/sent/file", b"sent").status)
        sandbox.run("echo made > made; chmod 600 made; mkdir shut; echo in > shut/in; chmod 700 shut")
        self.assertEqual((200, b"made\n"), (sandbox.get("/workspace/made").status, sandbox.get("/workspace/made").body))
        self.assertEqual(b"in\n", sandbox.get("/workspace/shut/in").body)
        self.assertEqual("1000 1000 1000\n", sandbox.run("stat -c %u sent sent/file made | tr '\\n' ' ' | sed 's/ $/\\n/'")["stdout"])
        self.assertEqual("sentmore\n", sandbox.run("echo more >> sent/file; cat sent/file")["stdout"])
        self.assertEqual(200, sandbox.put("/workspace/shut/in", b"again").status)
        self.assertEqual("again", sandbox.run("cat shut/in")["stdout"])

    def test_artifacts_that_only_the_program_may_read(self):
        result = self.execute("import os\nos.umask(0o77)\nos.mkdir('d')\nopen('d/a', 'w').write('kept')", artifacts=["d/*"])
        self.assertEqual([("d/a", 4)], [(each["path"], each["size"]) for each in result["artifacts"]], result)

    def test_a_jail_does_not_use_up_what_another_one_has(self):
        # 64 MB in pipes of its own are all that a user without privileges may have; others get pipes of one page then.
        fill = ("import fcntl, os\nends = []\ntry:\n  while True: ends.append(os.pipe())\nexcept OSError: pass\n"
                "print(len(ends), min(fcntl.fcntl(each[1], 1032) for each in ends), flush=True)\nimport time; time.sleep(50)")
        one, other = self.make(), self.make()
        filling = [one.start(f"ulimit -n 1024; exec python3 -c '{fill}'") for _ in range(9)]
        for each in filling:
            each.says(" ")
        size = other.run("python3 -c 'import fcntl, os; print(fcntl.fcntl(os.pipe()[1], 1032))'")["stdout"]
        self.assertEqual("65536\n", size)
        self.assertLess(min(int(each.text().split()[1]) for each in filling), 65536, "control: the one that fills them has met its bound")


# An open file of /proc that has shown a mapping of the longest path keeps a text of some megabyte.
LONGEST_PATH = """
import ctypes, os, socket, time
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
directory = os.open("/tmp", os.O_RDONLY)
for _ in range(900):
    os.mkdir("\\n" * 255, dir_fd=directory)
    below = os.open("\\n" * 255, os.O_RDONLY, dir_fd=directory)
    os.close(directory)
    directory = below
file = os.open("f", os.O_RDWR | os.O_CREAT, dir_fd=directory)
os.ftruncate(file, 4096)
LIBC.mmap(0x10000, 4096, 1, 0x12, file, 0)
"""
HIDDEN_IN_FLIGHT = LONGEST_PATH + """
outer = socket.socketpair()
for _ in range(60):
    inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(10):
        text = os.open("/proc/self/maps", os.O_RDONLY)
        os.read(text, 100)
        socket.send_fds(inner[0], [b""], [text])
        os.close(text)
    socket.send_fds(outer[0], [b"x"], [inner[1].fileno()])
    inner[0].close()
    inner[1].close()
time.sleep(5)
print("600 texts of a megabyte are kept")
"""
PASSED_ON = """
import os, socket, threading
there, here = socket.socketpair()
files = [os.open("/dev/null", os.O_RDONLY)]
room = threading.Semaphore(50)
def send():
    for _ in range(100000):
        room.acquire()
        socket.send_fds(there, [b"x"], files)
sender = threading.Thread(target=send)
sender.start()
passed = 0
while passed < 100000:
    _, received, _, _ = socket.recv_fds(here, 1, 16)
    room.release()
    passed += len(received)
    for each in received:
        os.close(each)
sender.join()
print(passed)
"""
FULL_PIPES = """
import os, time
for _ in range(%d):
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    os.write(write_end, bytes(1 << 20))
    os.close(write_end)
time.sleep(1)
print("all pipes are full")
"""


@unittest.skipUnless(IS_ROOT, "only root can take users that nobody has given it")
class OwnWithoutACgroup(live_server.ServerTest):
    environment = {"SANDBOX_USERS": f"{FIRST}:{COUNT}", "SANDBOX_CGROUP": "none"}

    def test_what_is_hidden_in_flight_counts(self):
        result = self.execute(HIDDEN_IN_FLIGHT, memory_limit_mb=256, timeout_seconds=30)
        self.assertEqual(("out_of_memory", ""), (result["status"], result["stdout"]), result)

    def test_who_passes_descriptors_on_hides_none(self):
        result = self.execute(PASSED_ON, memory_limit_mb=256, timeout_seconds=50)
        self.assertEqual(("success", "100000\n"), (result["status"], result["stdout"]), result)

    def test_full_pipes_count(self):
        result = self.execute(FULL_PIPES % 900, memory_limit_mb=48, timeout_seconds=30)
        self.assertEqual(("out_of_memory", ""), (result["status"], result["stdout"]), result)
        result = self.execute(FULL_PIPES % 60, memory_limit_mb=48, timeout_seconds=30)
        self.assertEqual(("success", "all pipes are full\n"), (result["status"], result["stdout"]), result)


@unittest.skipUnless(IS_ROOT, "only root can take users that nobody has given it")
class Shared(live_server.ServerTest):
    environment = {"SANDBOX_USERS": "off"}

    def test_it_can_be_switched_off(self):
        self.assertEqual("shared", self.client.send("GET", "/health").json["users"])
        self.assertEqual("42\n", self.execute("print(6*7)")["stdout"])


class CommandLine(unittest.TestCase):
    def setUp(self):
        if obstacle := host_view.no_user_namespaces():
            self.skipTest(obstacle)

    def test_a_range_that_cannot_be_had_stops_the_start(self):
        done = exec_program("exec", "-c", "print(1)", SANDBOX_USERS="100000:10", user=ordinary_user.NOT_ROOT)
        self.assertEqual((125, ""), (done.returncode, done.stdout))
        self.assertIn("enter a user namespace with a range of ids", done.stderr)

    def test_without_users_to_give_all_jails_have_ours(self):
        done = exec_program("doctor", "--json", user=ordinary_user.NOT_ROOT)
        (users,) = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "users"]
        self.assertEqual("note", users["state"], users)
        self.assertIn("all jails have that of this process: ", users["found"])

    @unittest.skipUnless(IS_ROOT, "only root can take users that nobody has given it")
    def test_a_root_that_others_may_not_enter(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-sandbox-root."))
        self.addCleanup(shutil.rmtree, folder)
        root = folder / "shut" / "root"
        for name in ("usr/bin", "etc"):
            (root / name).mkdir(parents=True)
        shutil.copy("/usr/bin/python3", root / "usr/bin/python3")
        folder.chmod(0o755)
        (folder / "shut").chmod(0o700)
        done = exec_program("exec", "-c", "print(1)", SANDBOX_ROOTFS=str(root), SANDBOX_USERS=f"{FIRST}:{COUNT}")
        self.assertEqual((125, ""), (done.returncode, done.stdout))
        self.assertIn(f"SANDBOX_USERS: the root is {root}, and others may not enter {folder}/shut", done.stderr)

    def test_without_a_cgroup_the_kernels_bounds_for_a_user_stay_those_of_all_jails(self):
        done = exec_program("doctor", "--json", SANDBOX_CGROUP="none")
        (users,) = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "users"]
        self.assertEqual("note", users["state"], users)
        self.assertIn("there is no cgroup", users["found"])
