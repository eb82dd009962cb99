# Tries: the file-descriptor mount calls, which a filter that knows only mount(2) lets through.
# Report: success; every call is refused.
AT_FDCWD, OPEN_TREE_CLONE, AT_RECURSIVE = -100, 1, 0x8000
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)  # clear MOUNT_ATTR_RDONLY
for target in (b"/", b"/usr", b"/etc"):
    must_fail(f"open_tree clone {target.decode()}", "open_tree", AT_FDCWD, target, OPEN_TREE_CLONE | AT_RECURSIVE)
    must_fail(f"mount_setattr {target.decode()}", "mount_setattr", AT_FDCWD, target, AT_RECURSIVE, attributes, 32)
    must_fail(f"fspick {target.decode()}", "fspick", AT_FDCWD, target, 0)
for kind in (b"tmpfs", b"proc", b"overlay", b"cgroup2", b"ext4"):
    must_fail(f"fsopen {kind.decode()}", "fsopen", kind, 0)
must_fail("move_mount", "move_mount", AT_FDCWD, b"/usr", AT_FDCWD, b"/tmp", 0)
must_fail("fsmount", "fsmount", 0, 0, 0)
request = (ctypes.c_uint64 * 4)(32, 0xffffffffffffffff, 0, 0)
listing = (ctypes.c_uint64 * 64)()
must_fail("listmount", "listmount", request, listing, 64, 0)
must_fail("statmount", "statmount", request, listing, 512, 0)
verdict()
