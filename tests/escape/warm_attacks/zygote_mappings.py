# Tries: to find memory that it shares with the zygote or with another jail: mappings that are shared and can be written,
# now or after mprotect, and files behind mappings that can be opened for writing.
# Report: success; no mapping is shared but such as read a file of the root, and none of the files opens for writing.
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
lines = [line.split(maxsplit=5) for line in open("/proc/self/maps")]
flags = {}
for line in open("/proc/self/smaps"):
    if "-" in line.split(" ")[0] and ":" not in line.split(" ")[0]:
        current = line.split(" ")[0]
    elif line.startswith("VmFlags:"):
        flags[current] = line.split()[1:]
for bounds, rights, *_, name in (line if len(line) == 6 else [*line, ""] for line in lines):
    low, high = (int(part, 16) for part in bounds.split("-"))
    name = name.strip()
    # VmFlags: sh is shared, mw may be written after mprotect, ms may become shared.
    if rights[3] == "s" or "sh" in flags.get(bounds, ()):
        if "w" in rights or "mw" in flags.get(bounds, ()):
            escapes.append(f"{bounds} {name} is shared and may be written")
        elif not name.startswith("/usr/"):
            escapes.append(f"{bounds} {name} is shared and nothing of the root")
        if LIBC.mprotect(low, high - low, 3) == 0:
            escapes.append(f"{bounds} {name} was made writable")
    if name.startswith("/") and not name.startswith(("/usr/", "/memfd:", "/dev/zero")):
        escapes.append(f"{bounds} maps {name}")
    if name.startswith("/"):
        link = f"/proc/self/map_files/{low:x}-{high:x}"
        for mode in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY if name.startswith("/memfd:") else os.O_RDWR | os.O_TRUNC):
            must_raise(f"{link} {mode}", lambda: os.open(link, mode))
    if name.startswith("/memfd:"):
        must_raise(f"truncate {link}", lambda: os.truncate(link, 0))
for path in ("/proc/self/exe", os.path.realpath("/usr/bin/python3")):
    for mode in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        must_raise(f"{path} {mode}", lambda: os.open(path, mode))
notes.append(f"{len(lines)} mappings")
verdict()
