# Tries: to become root of namespaces of its own, where mounts and raw sockets would be allowed.
# Report: success; no unshare, setns, clone or clone3 that makes a namespace works.
# Control: this program says ESCAPED on a host that lets ordinary users make namespaces.
KINDS = dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000,
             cgroup=0x2000000, time=0x80)
SIGCHLD = 17
for kind, flag in KINDS.items():
    must_fail(f"unshare {kind}", "unshare", flag)
must_fail("unshare user and mount", "unshare", KINDS["user"] | KINDS["mount"])
must_fail("unshare with high bits set", "unshare", KINDS["user"] | (1 << 40))
for label, flags in [*KINDS.items(), ("user and net", KINDS["user"] | KINDS["net"])]:
    if label == "time":
        continue  # clone(2) reads this bit as part of the exit signal
    result, error = call("clone", flags | SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if error is None:
        os.waitpid(result, 0)
        escapes.append(f"clone {label} made process {result}")
    else:
        notes.append(f"clone {label}={error}")
for label, flags in [("plain", 0), ("user", KINDS["user"]), ("time", KINDS["user"] | KINDS["time"])]:
    arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, 0)
    result, error = call("clone3", arguments, 88)
    if result == 0:
        os._exit(0)
    if error is None:
        os.waitpid(result, 0)
        escapes.append(f"clone3 {label} made process {result}")
    else:
        notes.append(f"clone3 {label}={error}")
for name in ("user", "mnt", "net", "pid"):
    try:
        descriptor = os.open(f"/proc/1/ns/{name}", os.O_RDONLY)
    except OSError as error:
        notes.append(f"open ns/{name}={errno.errorcode[error.errno]}")
    else:
        must_fail(f"setns {name}", "setns", descriptor, 0)
verdict()
