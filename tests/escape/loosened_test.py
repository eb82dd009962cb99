"""The attacks against jails that lack one protection: there they have to succeed. A protection whose loss no attack
notices is one that nobody would miss. The table is in README.md, and loosened_jail.cc is what leaves a step out: the
product has no switch for it."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess

import attacks_test

LOOSENED_JAIL = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""), "tests/escape/loosened_jail")
HERE = pathlib.Path(__file__).resolve().parent
POLICY = HERE.parents[1] / "policies" / "default.json"


@dataclasses.dataclass
class Loosening:
    protection: str  # as in README.md
    attack: str  # of attacks/ or warm_attacks/
    finds: str  # in what it says after ESCAPED
    calls: tuple = ()  # let through by the policy whatever their arguments
    steps: tuple = ()  # of the plan, left out, by patterns of their purpose
    shares: tuple = ()  # namespaces that the jail has in common with the host
    warm: bool = False

    @property
    def name(self):
        return re.sub(r"\W+", "_", self.protection).strip("_").lower()


FILTER = "^load the system call filter"
DOMAIN = "^enter a Landlock domain"
LOOSENINGS = (
    # By policy: one rule more.
    Loosening("io_uring refused", "io_uring", "io_uring_setup succeeded", calls=("io_uring_setup",)),
    Loosening("keyrings refused", "keyrings", "keyring succeeded", calls=("keyctl", "add_key", "request_key")),
    Loosening("ptrace refused", "own_children", "ptrace seize succeeded", calls=("ptrace",)),
    Loosening("process memory refused", "own_children", "process_vm_readv succeeded", calls=("process_vm_readv", "process_vm_writev")),
    Loosening("descriptors of others refused", "own_children", "pidfd_getfd succeeded", calls=("pidfd_getfd",)),
    Loosening("userfaultfd refused", "kernel_surface", "userfaultfd succeeded", calls=("userfaultfd",)),
    Loosening("performance counters refused", "kernel_surface", "perf_event_open of itself succeeded", calls=("perf_event_open",)),
    Loosening("asynchronous input and output refused", "kernel_surface", "io_setup succeeded", calls=("io_setup",)),
    Loosening("splice refused", "kernel_surface", "vmsplice succeeded.*splice of a shared file succeeded", calls=("splice", "vmsplice")),
    Loosening("pages lent to pipes", "shared_pages", "splice into a pipe succeeded.*tee succeeded", calls=("splice", "tee")),
    Loosening("personality plain", "kernel_surface", "personality ADDR_NO_RANDOMIZE succeeded", calls=("personality",)),
    Loosening("socket families", "socket_families", "netlink type 3 succeeded", calls=("socket",)),
    Loosening("socket options", "socket_options", "filter succeeded", calls=("setsockopt",)),
    Loosening("ioctl commands", "device_controls", "0x8912 of inet succeeded", calls=("ioctl",)),
    Loosening("unshare refused", "new_namespaces", "unshare user succeeded", calls=("unshare",)),
    Loosening("clone without namespaces", "new_namespaces", "clone user made process", calls=("clone",)),
    Loosening("clone3 refused", "new_namespaces", "clone3 plain made process", calls=("clone3",)),
    Loosening("mount listing refused", "mount_by_descriptor", "listmount succeeded", calls=("statmount", "listmount")),
    Loosening("file handles refused", "file_handles", "name_to_handle_at /etc succeeded", calls=("name_to_handle_at",)),
    Loosening("memfd refused", "memfd_execution", "a memfd was executed", calls=("memfd_create",)),
    Loosening("execution by descriptor refused", "memfd_execution", "execveat succeeded", calls=("execveat",)),
    Loosening("inotify refused", "file_watches", "inotify_init1 watches /usr/bin/env", calls=("inotify_init1", "inotify_add_watch")),
    Loosening("fcntl commands", "file_watches", "lease of /tmp/own succeeded", calls=("fcntl",)),
    Loosening("System V and POSIX objects refused", "ipc_objects", "shmget succeeded.*msgget succeeded", calls=("shmget", "semget", "msgget")),
    Loosening("filters of its own refused", "privileges", "a filter of its own succeeded", calls=("seccomp",)),
    Loosening("limits of init", "zygote_processes", "prlimit64 1 succeeded", calls=("prlimit64",)),
    # By the plan: a step less.
    Loosening("system call filter", "new_namespaces", "unshare user succeeded", steps=(FILTER,)),
    Loosening("32-bit entry", "int80", "the 32-bit getpid said", steps=(FILTER,)),
    Loosening("filter of a warm jail", "new_namespaces", "unshare user succeeded", steps=(FILTER,), warm=True),
    Loosening("no_new_privs", "privileges", "NoNewPrivs=0", steps=("^set no_new_privs$", DOMAIN, FILTER)),
    Loosening("bounding set", "privileges", "CapBnd=0000", steps=("^drop .* from the bounding set$",)),
    Loosening("capabilities of a warm jail", "privileges", "CapEff=0000", steps=("^drop every capability$",), warm=True),
    Loosening("read-only root", "write_root", "create in / succeeded", steps=("^make / read-only$", DOMAIN)),
    Loosening("old root gone", "old_root", "/\\.\\. is not /", steps=("^let go of the old root$",)),
    Loosening("signals beyond the Landlock domain", "touch_init", "kill -0 succeeded", calls=("kill",), steps=(DOMAIN,)),
    Loosening("Landlock domain of a warm jail", "touch_init", "kill -0 succeeded", calls=("kill",), steps=(DOMAIN,), warm=True),
    Loosening("hidepid", "zygote_processes", "/proc/1/status succeeded", steps=("^set proc hidepid=invisible$",)),
    Loosening("init untouchable", "read_init", "1/(mem|environ|maps) succeeded", steps=("^make init not dumpable$", DOMAIN)),
    Loosening("network namespace", "host_loopback", "connect .*127\\.0\\.0\\.1.* succeeded",
              steps=("routing socket", "loopback interface", "^read the kernel's answer$"), shares=("net",)),
    Loosening("descriptors of the zygote", "zygote_descriptors", "descriptor \\d+ is ",
              steps=("^close every descriptor of the zygote$", "^close the ruleset and the files of its rules$"), warm=True),
    Loosening("RLIMIT_NPROC", "thread_bomb", "threads at once", steps=("^limit processes to ",)),
    Loosening("RLIMIT_NOFILE", "many_descriptors", "descriptors at once", steps=("^limit open files to ",)),
    Loosening("RLIMIT_FSIZE", "fill_disk", "sparse in /tmp succeeded", steps=("^limit the size of a file to ",)),
    Loosening("bound on inodes", "fill_inodes", "/tmp took 60000 files", steps=("^set tmpfs nr_inodes=(?!1024$)",)),
)
ATTACKS = {path.stem: attacks_test.Attack(path) for folder in ("attacks", "warm_attacks")
           for path in (HERE / folder).glob("*.*") if path.stem != "prelude"}


def loosened_policy(calls):
    policy = json.loads(POLICY.read_text(encoding="utf-8"))
    for rule in policy["rules"]:
        rule["syscalls"] = [name for name in rule["syscalls"] if name not in calls]
    policy["rules"] = [rule for rule in policy["rules"] if rule["syscalls"]]
    policy["rules"].append({"syscalls": list(calls), "decision": "allow", "why": "Let through to see who notices."})
    return json.dumps(policy)


def switched_off(calls):
    """Returns the setting by which this host's kernel refuses one of the calls to everybody, or None."""
    for call, path, least in (("io_uring_setup", "kernel/io_uring_disabled", 1), ("perf_event_open", "kernel/perf_event_paranoid", 3)):
        setting = pathlib.Path("/proc/sys", path)
        if call in calls and setting.exists() and int(setting.read_text(encoding="utf-8")) >= least:
            return path
    return None


class Loosened(attacks_test.Ring):
    def run_in(self, attack, arguments, warm=False, calls=(), steps=(), shares=()):
        program = pathlib.Path(self.directory, attack.path.name)
        program.write_text(attack.program(), encoding="utf-8")
        command = [LOOSENED_JAIL, *["--warm"] * warm]
        if calls:
            policy = pathlib.Path(self.directory, "policy.json")
            policy.write_text(loosened_policy(calls), encoding="utf-8")
            command += ["--policy", policy]
        command += [word for step in steps for word in ("--leave-out", step)]
        command += [word for name in shares for word in ("--share", name)]
        command += ["--language", attack.language, "--timeout", str(max(attack.timeout, 20)), "--memory",
                    str(max(attack.memory, 512)), program, *arguments]
        status, output, complaint = self.start(list(map(str, command)), 60)
        self.assertEqual(0, status, complaint)
        return json.loads(output)

    def attacked(self, attack, **loosening):
        """Returns the attack's output, whatever its context on the host finds."""
        context = attacks_test.CONTEXTS.get(attack.name)
        if context is None:
            return self.run_in(attack, [], **loosening)
        report = None
        try:
            with context(self) as arguments:
                report = self.run_in(attack, arguments, **loosening)
        except AssertionError:
            if report is None:
                raise
        return report

    def look(self, loosening):
        if obstacle := ATTACKS[loosening.attack].obstacle():
            self.skipTest(obstacle)
        if (switch := switched_off(loosening.calls)) is not None:
            self.skipTest(f"this kernel refuses it by itself: {switch}")
        report = self.attacked(ATTACKS[loosening.attack], warm=loosening.warm, calls=loosening.calls,
                               steps=loosening.steps, shares=loosening.shares)
        label = loosening.finds.partition(" succeeded")[0]
        if loosening.calls and f"{label}=ENOSYS" in report["stdout"]:
            self.skipTest(f"this kernel has no {label}")
        self.assertRegex(report["stdout"], f"ESCAPED: .*{loosening.finds}", report)

    def test_control_with_nothing_left_out_the_same_attacks_are_contained(self):
        for name, warm in sorted({(each.attack, each.warm) for each in LOOSENINGS if not ATTACKS[each.attack].obstacle()}):
            with self.subTest(name, warm=warm):
                report = self.attacked(ATTACKS[name], warm=warm)
                self.assertNotIn("ESCAPED", report["stdout"], report)
                self.assertIn(report["status"], ATTACKS[name].statuses, report)

    def test_control_a_step_that_is_not_there_is_an_error(self):
        program = pathlib.Path(self.directory, "program.py")
        program.write_text("print(6*7)", encoding="utf-8")
        done = subprocess.run([LOOSENED_JAIL, "--leave-out", "^no such step$", program], capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("no step of the plan fits", done.stderr)

    def test_control_the_product_leaves_nothing_out(self):
        """The product's program contains no trace of it; that of the control does."""
        self.assertNotIn(b"--leave-out", pathlib.Path(attacks_test.BINARY).read_bytes())
        self.assertIn(b"--leave-out", LOOSENED_JAIL.read_bytes())

    def test_the_table_is_complete(self):
        table = (HERE / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \| `([\w]+)` \|", table, re.MULTILINE)
        self.assertEqual([(each.protection, each.attack) for each in LOOSENINGS], rows)
        self.assertGreaterEqual(len(LOOSENINGS), 12)


for each in LOOSENINGS:
    setattr(Loosened, f"test_without_{each.name}", lambda test, loosening=each: test.look(loosening))
