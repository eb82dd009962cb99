"""The memory of waiting jails and the processor time of runs, from /proc."""
import collections
import ctypes
import os
import pathlib
import re

KCMP = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
KCMP_VM = 1


def resident_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def busy_seconds():
    """The busy time of all processors together, whoever causes it: work that a launcher leaves to other processes
    counts too."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _idle, _waiting, hard_irq, soft_irq = (int(field) for field in fields[:7])
    return (user + nice + system + hard_irq + soft_irq) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def descendants(pid):
    children = collections.defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # it ended meanwhile
            children[int(stat.rpartition(")")[2].split()[1])].append(int(entry))
    found, left = [], [pid]
    while left:
        below = children[left.pop()]
        found += below
        left += below
    return found


def processor_seconds(pid):
    """The processor time of `pid` and all processes below it so far, to the nanosecond."""
    used = 0
    for process in (pid, *descendants(pid)):
        try:
            used += int(pathlib.Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0])
        except OSError:
            continue  # it ended meanwhile
    return used / 1e9


def same_memory(one, other):
    answer = ctypes.CDLL(None, use_errno=True).syscall(KCMP, one, other, KCMP_VM, 0, 0)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "kcmp")
    return answer == 0


def private_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", text, re.MULTILINE))


def unshared_kb(pid):
    """The memory that only its own processes use (USS), in kB, for each jail below `pid`.

    A jail is a pid namespace other than our own. Processes of one memory count once. Needs root:
    init lets nobody else look.
    """
    own = os.readlink("/proc/self/ns/pid")
    jails = collections.defaultdict(list)
    for process in descendants(pid):
        space = os.readlink(f"/proc/{process}/ns/pid")
        if space != own:
            jails[space].append(process)
    sizes = []
    for processes in jails.values():
        distinct = []
        for process in sorted(processes):
            if not any(same_memory(process, other) for other in distinct):
                distinct.append(process)
        sizes.append(sum(private_kb(process) for process in distinct))
    return sorted(sizes)
