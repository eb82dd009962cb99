# Tries: the switches of the host under /proc, and to loosen its own score and id maps.
# Report: success; none of them can be written.
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/kernel/ns_last_pid", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/net/ipv4/ip_forward",
             "/proc/sysrq-trigger", "/proc/irq/0/smp_affinity", "/proc/bus/pci/00", "/proc/self/attr/exec", "/proc/1/oom_score_adj",
             "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent"):
    must_raise(path, lambda: write_to(path, b"1\n"))
for path, text in (("/proc/self/uid_map", b"0 0 1\n"), ("/proc/self/gid_map", b"0 0 1\n"), ("/proc/self/setgroups", b"allow"),
                   ("/proc/self/oom_score_adj", b"-1000")):
    must_raise(path, lambda: write_to(path, text))
verdict()
