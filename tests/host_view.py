"""The host's view of the product's processes: the tests check effects, and these are the effects."""
import contextlib
import ctypes
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import time_scale

PR_SET_CHILD_SUBREAPER = 36


def available_mb():
    """What the host has left, in MB: MemAvailable and the pages on the free lists of each processor. MemAvailable leaves those lists out,
    and since Linux 6.7 they grow to hundreds of MB: memory that is freed and filled again goes through them, and MemAvailable does not move.

    Source: mm/page_alloc.c (nr_pcp_high), si_mem_available.
    """
    available_kb = int(re.search(r"^MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)[1])
    zones = pathlib.Path("/proc/zoneinfo").read_text(encoding="ascii")
    listed_pages = sum(int(count) for count in re.findall(r"^\s+count:\s+(\d+)", zones, re.MULTILINE))
    return available_kb / 1024 + listed_pages * resource.getpagesize() / (1 << 20)


def become_subreaper():
    """Orphans below this process become its children, so nothing that is left behind gets out of sight."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def _status(pid):
    """(parent, state, start time) of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0], int(fields[19])


def descendants(root):
    """Maps the id of each living process below `root` to its command line; zombies of this process count as dead."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            status = _status(name)
            if status and not (status[1] == "Z" and status[0] == os.getpid()):
                children.setdefault(status[0], []).append(int(name))
    found, queue = {}, [root]
    while queue:
        for child in children.get(queue.pop(), []):
            found[child] = command_line(child)
            queue.append(child)
    return found


def parent_of(pid):
    """The parent of a process; None when it has ended."""
    status = _status(pid)
    return status[0] if status else None


def processor_ticks(pid):
    """The processor time of a process, in the kernel's ticks of 10 ms; 0 when it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def command_line(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        return text.replace(b"\0", b" ").decode(errors="replace").strip() or "(no command line)"
    except OSError:
        return "(gone)"


def name_of(pid):
    """The kernel's name of a process, up to 15 bytes."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "(gone)"


def kill(pids, by=signal.SIGKILL):
    """Kills each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, by)


def alive(pid):
    status = _status(pid)
    return status is not None and status[1] != "Z"


def left_behind():
    """The descendants of this process that are left after a moment; the kernel needs one for namespaces."""
    wait_until(lambda: not descendants(os.getpid()), 2)
    return descendants(os.getpid())


def processes_with(word):
    return [pid for pid in os.listdir("/proc")
            if pid.isdigit() and int(pid) != os.getpid() and word in command_line(pid)]


def open_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def what_is_open(pid):
    """The targets of its descriptors, without those that are closed meanwhile; empty where this user may not look."""
    found = set()
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(f"/proc/{pid}/fd/{number}"))
    except PermissionError:
        return set()
    return found


def resident_bytes(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE).group(1)) * 1024


def has_sanitizer(pid):
    """Recognized by the terabytes of addresses that a sanitizer reserves for the shadow of its process's memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE") > 1 << 40


def mounts():
    return sorted(pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())


def cgroups():
    """All cgroups of this host, without those that are removed meanwhile."""
    return {os.path.join(path, name) for path, names, _ in os.walk("/sys/fs/cgroup") for name in names}


def cgroups_of(server):
    """The cgroups that the server with this process id has made for itself and for its jails: others come and go."""
    return {path for path in cgroups() if os.path.basename(path).startswith((f"jail-{server}-", f"agent-sandbox-{server}."))}


def wait_until(condition, seconds):
    """Returns whether `condition()` became true within `seconds`, or more on a slow host."""
    deadline = time.monotonic() + time_scale.patience(seconds)
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def held_port():
    """A socket with a port of 127.0.0.1 that nobody else is given as long as it is open. It does not listen, so that a program that is
    told to, and sets SO_REUSEADDR as servers do, can listen there beside it."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def landlock_version():
    """The version of the kernel's Landlock; 0: it cannot confine programs."""
    create_ruleset, ask_for_version = 444, 1
    version = ctypes.CDLL(None).syscall(create_ruleset, None, 0, ask_for_version)
    return version if version >= 2 else 0


def zygotes():
    """The interpreters below this process whose parent is a host named jail-template."""
    found = []
    # The descendants of a killed launcher are orphans, which this process adopts.
    for pid in descendants(os.getpid()):
        try:
            parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            name = pathlib.Path(f"/proc/{parent}/comm").read_text(encoding="utf-8").strip()
            own = pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if name == "jail-template" and own.startswith("python3"):
            found.append(pid)
    return found


def no_user_namespaces():
    """The reason why this user cannot make user namespaces here, or None: without them no jail can be made."""
    tried = subprocess.run(["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "true"],
                           capture_output=True, text=True, check=False)
    return tried.stderr.strip() or "unshare failed" if tried.returncode else None


def no_32_bit_entry():
    """Why no program here can make calls by int 0x80, or None. Some hypervisors do not carry it: the instruction is
    then a fault whoever runs it, and proves nothing about a jail."""
    program = ("import ctypes, mmap; page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); "
               "page.write(bytes.fromhex('b814000000cd80c3')); "
               "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()")
    status = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode
    return f"int 0x80 ends an unconfined program by signal {-status}" if status else None
