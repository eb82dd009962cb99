# Tries: to read and write the memory, environment, descriptors and root of every other process in sight.
# Report: success; nothing but world-readable facts comes back.
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in sorted({"1", *others}):
    if not os.path.isdir(f"/proc/{pid}"):
        notes.append(f"{pid} is hidden")
        continue
    for entry in ("mem", "environ", "maps", "auxv", "pagemap", "syscall", "stack", "io", "personality"):
        def read():
            with open(f"/proc/{pid}/{entry}", "rb", buffering=0) as file:
                return file.read(64) or b"(opened)"
        must_raise(f"{pid}/{entry}", read)
    must_raise(f"{pid}/mem for writing", lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR))
    for entry in ("root", "cwd", "exe"):
        must_raise(f"readlink {pid}/{entry}", lambda: os.readlink(f"/proc/{pid}/{entry}"))
    must_raise(f"list {pid}/root", lambda: os.listdir(f"/proc/{pid}/root/"))
    must_raise(f"list {pid}/fd", lambda: os.listdir(f"/proc/{pid}/fd"))
    must_raise(f"list {pid}/map_files", lambda: os.listdir(f"/proc/{pid}/map_files"))
verdict()
