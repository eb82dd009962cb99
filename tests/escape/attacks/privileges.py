# Tries: to find a privilege left: capabilities, ids, groups, set-id binaries, missing no_new_privs.
# Report: success; none is there, and no set-id binary gives another id.
# It looks at every file below /usr, which a host may have to read from its disk.
# Timeout: 50
import stat
import subprocess
status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status[name], 16):
        escapes.append(f"{name}={status[name]}")
for name, wanted in (("NoNewPrivs", "1"), ("Seccomp", "2")):
    if status[name].strip() != wanted:
        escapes.append(f"{name}={status[name]}")
if 0 in os.getresuid() + os.getresgid() + tuple(os.getgroups()):
    escapes.append(f"runs as {os.getresuid()} {os.getresgid()} {os.getgroups()}")
notes.append(f"uid={os.getuid()} groups={os.getgroups()}")
must_raise("setuid 0", lambda: os.setuid(0))
must_raise("setgid 0", lambda: os.setgid(0))
must_raise("setresuid 0", lambda: os.setresuid(0, 0, 0))
must_raise("seteuid 0", lambda: os.seteuid(0))
must_raise("setegid 0", lambda: os.setegid(0))
must_raise("another id as the saved one", lambda: os.setresuid(-1, -1, os.getuid() + 1))
must_raise("setgroups", lambda: os.setgroups([0, 1, 2]))
header, caps = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
must_fail("capset", "capset", header, caps)
accept_all = (ctypes.c_uint64 * 1)(0x7FFF000000000006)
must_fail("a filter of its own", "seccomp", 1, 0, (ctypes.c_uint64 * 2)(1, ctypes.addressof(accept_all)))
own = "/tmp/set-id"
with open(own, "wb") as copy, open(os.path.realpath("/usr/bin/id"), "rb") as source:
    copy.write(source.read())
os.chmod(own, 0o6755)
tried = [own]
for folder in ("/usr/bin", "/usr/sbin", "/usr/lib"):
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                tried.append(path)
for path in tried[:12]:
    reader = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ids = next(line for line in open(f"/proc/{reader.pid}/status") if line.startswith("Uid:")).split()[1:]
        if set(ids) != {str(os.getuid())}:
            escapes.append(f"{path} runs as {ids}")
    except (OSError, StopIteration):
        pass
    reader.kill()
    reader.wait()
notes.append(f"set-id binaries tried: {len(tried)}")
verdict()
