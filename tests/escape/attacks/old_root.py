# Tries: every way back to the root that was there before pivot_root, to read a file that the runner
# left on the host (its path is the first argument).
# Report: success; no way leads there, no mount of the host's tree is left, and none is shared or writable.
secret = sys.argv[1]
link = "/tmp/link"
os.symlink(secret, link)
depth = "../" * 40
for label, path in (("itself", secret), ("dots", f"/{depth}{secret}"), ("self root", f"/proc/self/root{secret}"),
                    ("self root dots", f"/proc/self/root/{depth}{secret}"), ("self cwd", f"/proc/self/cwd/{depth}{secret}"),
                    ("init root", f"/proc/1/root{secret}"), ("thread root", f"/proc/thread-self/root{secret}"),
                    ("link", link), ("double slash", f"//{secret}"), ("relative", f"{depth}{secret}")):
    must_raise(label, lambda: open(path, "rb").read())
for descriptor in os.listdir("/proc/self/fd"):
    must_raise(f"fd {descriptor}", lambda: open(f"/proc/self/fd/{descriptor}/{depth}{secret}", "rb").read())
for name in os.listdir("/"):
    if "old" in name.lower() or name.startswith(".") or name in ("host", "mnt", "root", "home", "work", "sys", "boot"):
        inside = os.listdir(f"/{name}") if os.access(f"/{name}", os.R_OK | os.X_OK) and os.path.isdir(f"/{name}") else []
        if inside:
            escapes.append(f"/{name} holds {inside[:5]}")
root, above = os.stat("/"), os.stat("/..")
if (root.st_dev, root.st_ino) != (above.st_dev, above.st_ino):
    escapes.append("/.. is not /")
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    target, options = fields[4], fields[5].split(",")
    writable = "rw" in options
    if writable and target not in ("/tmp", "/workspace"):
        escapes.append(f"{target} is mounted writable")
    if "nosuid" not in options:
        escapes.append(f"{target} is mounted without nosuid")
    if "nodev" not in options and not target.startswith("/dev/"):
        escapes.append(f"{target} is mounted without nodev")
    if fields[6] != "-":
        escapes.append(f"{target} takes part in mounts of others: {fields[6]}")
verdict()
