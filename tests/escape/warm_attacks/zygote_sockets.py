# Tries: to find the zygote's, the pool's or another jail's sockets, pipes and queues by every list of names.
# Report: success; there is no list, and nothing of others in any folder.
# Control: this program says ESCAPED outside of a jail.
import glob
import itertools
import socket
for path in ("/proc/net/unix", "/proc/self/net/unix", "/proc/self/task/self/net/unix", "/proc/net/tcp", "/proc/self/net/tcp",
             "/proc/sysvipc/shm", "/proc/locks", "/dev/mqueue", "/dev/pts", "/run", "/var/run"):
    def read():
        names = os.listdir(path) if os.path.isdir(path) else open(path).read().splitlines()[1:]
        if not names:
            raise OSError(errno.ENOENT, "nothing but a heading")
        return names
    must_raise(path, read)
must_raise("netlink", lambda: socket.socket(16, socket.SOCK_RAW, 4))


def is_socket_or_pipe(path):
    try:
        return os.lstat(path).st_mode & 0o170000 in (0o140000, 0o010000)
    except OSError:  # it is gone, or its links lead in a circle
        return False


# Outside of a jail these folders may be large, and the first names do.
names = [itertools.islice(glob.iglob(folder + "/**", recursive=True), 20000) for folder in ("/tmp", "/workspace", "/dev", "/etc")]
sockets = [path for path in itertools.chain.from_iterable(names) if is_socket_or_pipe(path)]
if sockets:
    escapes.append(f"sockets or pipes {sockets}")
for name in ("jail", "zygote", "jail-zygote", "launcher", "agent-sandbox", "pool", ""):
    def connect():
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect("\0" + name)
            return "connected"
    must_raise(f"abstract {name!r}", connect)
verdict()
