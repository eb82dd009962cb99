# Tries: to make the read-only root writable again and to mount over it, by the old mount calls.
# Report: success; every call is refused.
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_MOVE, MS_PRIVATE, MS_SHARED = 1, 2, 32, 4096, 16384, 8192, 1 << 18, 1 << 20
for target in (b"/", b"/usr", b"/etc", b"/proc", b"/tmp", b"/workspace", b"/dev"):
    must_fail(f"remount {target.decode()} rw", "mount", None, target, None, MS_REMOUNT | MS_BIND, None)
    must_fail(f"plain remount {target.decode()}", "mount", None, target, None, MS_REMOUNT, None)
    must_fail(f"umount {target.decode()}", "umount2", target, 2)
must_fail("tmpfs over /tmp", "mount", b"none", b"/tmp", b"tmpfs", 0, None)
must_fail("bind / on /tmp", "mount", b"/", b"/tmp", None, MS_BIND | MS_REC, None)
must_fail("fresh proc", "mount", b"proc", b"/tmp", b"proc", 0, None)
must_fail("fresh sysfs", "mount", b"sysfs", b"/tmp", b"sysfs", 0, None)
must_fail("fresh cgroup2", "mount", b"cgroup2", b"/tmp", b"cgroup2", 0, None)
must_fail("overlay", "mount", b"o", b"/tmp", b"overlay", 0, b"lowerdir=/usr,upperdir=/tmp/u,workdir=/tmp/w")
must_fail("share /", "mount", None, b"/", None, MS_REC | MS_SHARED, None)
must_fail("pivot_root", "pivot_root", b"/tmp", b"/tmp")
must_fail("chroot", "chroot", b"/tmp")
verdict()
