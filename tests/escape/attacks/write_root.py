# Tries: to create, change, rename and delete files in the root, /etc, /usr and the interpreter itself.
# Report: success; every attempt is refused. The runner sees the host's own files unchanged.
for folder in ("/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/dev", "/proc", "/var", "/run", "/opt"):
    if os.path.isdir(folder):
        must_raise(f"create in {folder}", lambda: os.open(f"{folder}/escape-probe", os.O_CREAT | os.O_WRONLY))
        must_raise(f"mkdir in {folder}", lambda: os.mkdir(f"{folder}/escape-probe-folder"))
real_python = os.path.realpath(sys.executable)
for path in (real_python, "/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/usr/bin/env", os.__file__):
    if os.path.exists(path):
        must_raise(f"open {path} for writing", lambda: os.open(path, os.O_WRONLY))
        must_raise(f"truncate {path}", lambda: os.truncate(path, 0))
        must_raise(f"unlink {path}", lambda: os.unlink(path))
        must_raise(f"rename {path}", lambda: os.rename(path, path + ".old"))
        must_raise(f"chmod {path}", lambda: os.chmod(path, 0o777))
        must_raise(f"touch {path}", lambda: os.utime(path, (0, 0)))
must_raise("chmod /", lambda: os.chmod("/", 0o777))
must_raise("rename /usr", lambda: os.rename("/usr", "/usr2"))
verdict()
