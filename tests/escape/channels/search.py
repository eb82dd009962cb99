"""All numbers that a program in a jail can read, by name, and a neighbour that has something of every kind or has nothing. It takes the
place of named.py and closed.py."""
import select

MANY = 30
SKIPPED = {"task", "map_files", "fd", "mem", "pagemap", "clear_refs", "auxv", "environ", "syscall"}


def of_text(path, found):
    """Returns each number of a file by its line and its place there."""
    with contextlib.suppress(OSError):
        with open(path, "rb") as file:
            text = file.read(1 << 18).decode(errors="replace")
        for row, line in enumerate(text.splitlines()):
            for place, word in enumerate(re.findall(r"\b[0-9a-f]{8,16}\b|\d+", line)):
                found[f"{path} {row} {place}"] = int(word, 16 if len(word) >= 8 else 10)


def of_process(found):
    for folder, folders, names in os.walk("/proc/self"):
        folders[:] = sorted(set(folders) - SKIPPED)
        for name in sorted(set(names) - SKIPPED):
            of_text(os.path.join(folder, name), found)
    for name in os.listdir("/proc/self/ns"):
        found[f"/proc/self/ns/{name}"] = os.stat(f"/proc/self/ns/{name}").st_ino


def of_mounts(found):
    for path in ("/", "/usr", "/tmp", "/workspace", "/dev", "/proc", "/etc"):
        for name, number in zip(("size", "fragment", "blocks", "free", "available", "files", "free files"), os.statvfs(path)):
            found[f"statvfs {path} {name}"] = number
    for path in [*glob.glob("/dev/*"), SHARED, CHOSEN, "/usr/bin/env"]:
        for name in ("st_ino", "st_dev", "st_nlink", "st_size", "st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_blocks"):
            found[f"stat {path} {name}"] = getattr(os.stat(path, follow_symlinks=False), name)


def of_calls(found):
    told = ctypes.create_string_buffer(112)
    call("sysinfo", told)
    for place, number in enumerate(struct.unpack_from("13L", told, 8)):
        found[f"sysinfo {place}"] = number
    for place, number in enumerate(resource.getrusage(resource.RUSAGE_SELF)[2:]):
        found[f"getrusage {place}"] = number


class Search(Held):
    """When told to, the sender has a file of its own, which a search must see."""

    def take(self):
        file = open("/tmp/plant", "wb")
        file.write(b"x" * (1 << 20))
        file.flush()
        return [file]

    def give_back(self, held):
        super().give_back(held)
        os.unlink("/tmp/plant")

    def of_new_objects(self, found):
        """Returns the numbers of objects that are made and given back at once: inode numbers, `fdinfo`, the kernel's
        choices."""
        with contextlib.ExitStack() as stack:
            made = {"pipe": os.pipe(), "eventfd": [call("eventfd2", 0, 0)]}
            sockets = {name: stack.enter_context(socket.socket(*kind)) for name, kind in (
                ("tcp", (socket.AF_INET, socket.SOCK_STREAM)), ("udp", (socket.AF_INET, socket.SOCK_DGRAM)), ("unix", (socket.AF_UNIX,)))}
            epoll = stack.enter_context(select.epoll())
            child = found["id of a process"] = self.start(signal.pause)
            stack.callback(self.stop, child)
            with contextlib.suppress(OSError):
                made["pidfd"] = [os.pidfd_open(child)]
            for name, descriptors in made.items():
                for descriptor in descriptors:
                    stack.callback(os.close, descriptor)
            for name, descriptor in [("epoll", epoll.fileno()), *((name, one.fileno()) for name, one in sockets.items()),
                                     *((name, descriptors[0]) for name, descriptors in made.items())]:
                found[f"{name} inode"] = os.fstat(descriptor).st_ino
                of_text(f"/proc/self/fdinfo/{descriptor}", found)
            found["size of a pipe"] = fcntl.fcntl(made["pipe"][0], 1032)
            for name in ("tcp", "udp"):
                sockets[name].bind(("127.0.0.1", 0))
                found[f"{name} port"] = sockets[name].getsockname()[1]
            of_text("/proc/self/net/tcp", found)
            sockets["unix"].bind("")
            found["unix name"] = int(sockets["unix"].getsockname()[1:], 16)
            with contextlib.suppress(OSError):
                found["number of a session"] = in_a_child(lambda: os.setsid() or number_in("/proc/self/autogroup", r"(\d+)"))

    def measure(self):
        found = {}
        for look in (of_process, of_mounts, of_calls, self.of_new_objects):
            look(found)
        return found


class Everything(Held):
    """Everything that a program may have and do without harm to its jail."""
    SOCKETS = ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_STREAM),
               (socket.AF_UNIX, socket.SOCK_STREAM))

    def take(self):
        held = contextlib.ExitStack()
        for take in (self.memory, self.processes, self.descriptors, self.connections):
            take(held)
        return held

    def give_back(self, held):
        held.close()

    def memory(self, held):
        taken = held.enter_context(mmap.mmap(-1, 24 << 20))
        taken.write(b"x" * (24 << 20))
        pages, _ = mapped(64)
        held.callback(pages.close)
        for start in range(0, 64 * PAGE, PAGE):
            pages[start]
        held.enter_context(open("/tmp/everything", "wb")).write(b"x" * (1 << 20))

    def descriptors(self, held):
        for _ in range(MANY):
            for kind in self.SOCKETS:
                held.enter_context(socket.socket(*kind))
            for end in (*os.pipe(), call("eventfd2", 0, 0), os.open(SHARED, os.O_RDONLY)):
                held.callback(os.close, end)
            held.enter_context(select.epoll())
        for one in (pair := socket.socketpair()):
            held.enter_context(one)
        pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("30i", *[pair[0].fileno()] * 30))])

    def processes(self, held):
        for _ in range(10):
            held.callback(self.stop, self.start(signal.pause))
        for _ in range(20):
            in_a_child(lambda: os.setsid() or 0)

    def connections(self, held):
        server = held.enter_context(socket.create_server(("127.0.0.1", 7777)))
        for _ in range(MANY):
            connection = held.enter_context(socket.create_connection(server.getsockname()))
            held.enter_context(server.accept()[0])
            connection.send(b"x" * 20000)


KINDS |= {"everything": Everything, "search": Search}
