# Tries: to read what /proc and /sys tell about the host, its kernel and its other users.
# Report: success; none of it is there or readable.
for path in ("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/sched_debug",
             "/proc/config.gz", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/kpagecount", "/proc/modules",
             "/proc/locks", "/proc/iomem", "/proc/cmdline", "/proc/sys/kernel/random/boot_id", "/proc/acpi/wakeup",
             "/proc/scsi/scsi", "/sys/firmware/dmi/tables/DMI", "/sys/class/net", "/sys/kernel/debug", "/sys/fs/cgroup",
             "/etc/shadow", "/etc/gshadow", "/root", "/home", "/var/log", "/run/dbus", "/var/run/docker.sock", "/boot"):
    def read():
        if os.path.isdir(path):
            names = os.listdir(path)
            if not names:
                raise OSError(errno.ENOENT, "empty")
            return names[:3]
        with open(path, "rb") as file:
            text = file.read(64)
        if path == "/proc/kallsyms" and text.startswith(b"0000000000000000"):
            raise OSError(errno.EACCES, "addresses are hidden")
        return text
    must_raise(path, read)
verdict()
