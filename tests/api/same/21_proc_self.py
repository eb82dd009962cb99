# Observes: the files of /proc/self as far as it is the same from run to run. Not looked at: sizes, times, counts of faults and
# switches, the flags of stat (they say whether a process called execve), addresses, room for descriptors, and which id
# of the user namespace outside its own ids stand for.
import os
import pathlib
me = pathlib.Path("/proc/self")
for name in ("cmdline", "environ", "comm", "cgroup", "limits", "loginuid", "oom_score_adj", "personality", "sessionid", "setgroups",
             "timerslack_ns", "coredump_filter", "timens_offsets", "wchan", "stack"):
    try:
        print(name, (me / name).read_bytes())
    except OSError as error:
        print(name, error)
for name in ("uid_map", "gid_map"):
    inside, _, count = (me / name).read_text().split()
    print(name, inside, count)
for name in ("exe", "cwd", "root"):
    print(name, os.readlink(me / name))
for line in (me / "status").read_text().splitlines():
    if line.startswith(("SigIgn", "SigCgt")):
        name, numbers = line.split()
        print(name, hex(int(numbers, 16) & ~(3 << 31)))  # 32 and 33 are libc's own
    elif not line.startswith(("Vm", "Rss", "SigQ", "FDSize", "voluntary", "nonvoluntary", "Mems_allowed:", "Cpus_allowed:")):
        print(line)
fields = (me / "stat").read_text().rpartition(")")[2].split()
# Numbers as in proc(5): state ppid pgrp session tty tpgid, priority nice threads, signals, exit signal, rt, policy.
print([fields[number - 3] for number in (3, 4, 5, 6, 7, 8, 18, 19, 20, 31, 32, 33, 34, 38, 40, 41)])
print(sorted(os.listdir(me)), os.listdir(me / "task"), sorted(os.listdir(me / "fd")))
print(os.readlink("/proc/self"), os.readlink("/proc/thread-self"), sorted(os.listdir(me / "ns")))
