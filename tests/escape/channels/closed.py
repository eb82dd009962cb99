"""Kinds that transmit between programs of one host, and not between jails."""


class ProcessIds(Counted):
    TIMES = 20

    def do(self):
        in_a_child(os.getpid)

    def count(self):
        return in_a_child(os.getpid)


class SocketCookies(Counted):
    """They come from a counter of each processor, and are given to who asks."""
    one_processor, TIMES = True, 40
    SO_COOKIE = 57

    def do(self):
        with socket.socket() as asked:
            return struct.unpack("Q", asked.getsockopt(socket.SOL_SOCKET, self.SO_COOKIE, 8))[0]

    count = do


class AbstractNames(Held):
    ADDRESS, FAMILY = f"\0channel-{KEY}", socket.AF_UNIX

    def take(self):
        taken = socket.socket(self.FAMILY)
        taken.bind(self.ADDRESS)
        taken.listen()
        return [taken]

    def measure(self):
        with socket.socket(self.FAMILY) as probe:
            return int(probe.connect_ex(self.ADDRESS) == 0)


class Ports(AbstractNames):
    ADDRESS, FAMILY = ("127.0.0.1", PORT), socket.AF_INET


class Names(Held):
    PATH = f"/tmp/channel-{KEY}"

    def take(self):
        return open(self.PATH, "w", encoding="ascii")

    def give_back(self, held):
        held.close()
        os.unlink(self.PATH)

    def measure(self):
        return int(os.path.exists(self.PATH))


class FileLocks(Held):
    def take(self):
        file = open(CHOSEN, "rb")
        fcntl.flock(file, fcntl.LOCK_EX)
        return [file]

    def measure(self):
        with open(CHOSEN, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return 1
        return 0


class RecordLocks(FileLocks):
    """Read locks, which a file that is open for reading can have; who asks for a write lock is told of them."""
    RECORD, F_OFD_GETLK, F_OFD_SETLK = "hhqqi4x", 36, 37

    def lock(self, file, command, kind):
        return struct.unpack(self.RECORD, fcntl.fcntl(file, command, struct.pack(self.RECORD, kind, os.SEEK_SET, 7, 3, 0)))[0]

    def take(self):
        file = open(CHOSEN, "rb")
        self.lock(file, self.F_OFD_SETLK, fcntl.F_RDLCK)
        return [file]

    def measure(self):
        with open(CHOSEN, "rb") as file:
            return int(self.lock(file, self.F_OFD_GETLK, fcntl.F_WRLCK) != fcntl.F_UNLCK)


class Watches(Kind):
    """How often a file was opened since the last look."""
    IN_OPEN = 0x20

    def prepare(self):
        if not self.sends:
            with contextlib.suppress(OSError):
                self.descriptor = call("inotify_init1", os.O_NONBLOCK)
                call("inotify_add_watch", self.descriptor, ctypes.c_char_p(CHOSEN.encode()), self.IN_OPEN)

    def act(self, bit):
        for _ in range(5 * bit):
            with open(CHOSEN, "rb"):
                pass

    def measure(self):
        try:
            return len(os.read(self.descriptor, 4096))
        except (AttributeError, BlockingIOError):
            return 0


class SharedMemory(Held):
    """System V's, by a key that both know."""
    IPC_CREAT, IPC_RMID = 0o1000, 0

    def take(self):
        return call("shmget", KEY, PAGE, self.IPC_CREAT | 0o600)

    def give_back(self, held):
        call("shmctl", held, self.IPC_RMID, None)

    def measure(self):
        try:
            return int(call("shmget", KEY, PAGE, 0) >= 0)
        except OSError:
            return 0


class PendingSignals(Held):
    """What waits for a user of the host, which `status` shows beside its bound."""
    SIGNAL, MANY = signal.SIGRTMIN, 30

    def prepare(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [self.SIGNAL])

    def take(self):
        for _ in range(self.MANY):
            os.kill(os.getpid(), self.SIGNAL)
        return self.MANY

    def give_back(self, held):
        for _ in range(held):
            signal.sigtimedwait([self.SIGNAL], 0)

    def measure(self):
        return number_in("/proc/self/status", r"^SigQ:\s+(\d+)/")


class Processes(Held):
    """How many there are on the machine."""

    def take(self):
        return [self.start(signal.pause) for _ in range(20)]

    def give_back(self, held):
        for child in held:
            self.stop(child)

    def measure(self):
        told = ctypes.create_string_buffer(112)
        call("sysinfo", told)
        return struct.unpack_from("H", told, 80)[0]


class Forks(ProcessIds):
    """How many processes there ever were, in a file of the machine."""

    def count(self):
        return number_in("/proc/stat", r"^processes (\d+)")


class MemoryPressure(Held):
    """How much memory others share, by what the kernel answers and by a file of the machine."""
    BYTES = 16 << 20

    def take(self):
        taken = mmap.mmap(-1, self.BYTES)
        taken.write(b"x" * self.BYTES)
        return [taken]

    def measure(self):
        told = ctypes.create_string_buffer(112)
        call("sysinfo", told)
        pages = struct.unpack_from("L", told, 48)[0]
        with contextlib.suppress(OSError):
            pages += number_in("/proc/meminfo", r"^Shmem:\s+(\d+)")
        return pages


class FreeSpace(Held):
    """What the mounts that both have say they have left."""

    def take(self):
        file = open(f"/tmp/channel-space-{KEY}", "wb")
        file.write(b"x" * (24 << 20))
        file.flush()
        os.unlink(file.name)
        return [file]

    def measure(self):
        return sum(os.statvfs(path).f_bfree for path in ("/tmp", "/usr"))


class DroppedPages(Kind):
    """Pages that one drops from memory are missed by who asks for what is there without waiting."""

    def prepare(self):
        self.file = open(SHARED, "rb")

    def act(self, bit):
        if bit:
            with contextlib.suppress(OSError):
                os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        else:
            os.pread(self.file.fileno(), 16 * PAGE, 0)

    def measure(self):
        try:
            os.preadv(self.file.fileno(), [bytearray(PAGE)], 4 * PAGE, os.RWF_NOWAIT)
        except BlockingIOError:
            return 1
        return 0


KINDS |= {"ids of processes": ProcessIds, "cookies of sockets": SocketCookies, "abstract names": AbstractNames, "ports": Ports,
         "names of files": Names, "locks of files": FileLocks, "locks of records": RecordLocks, "watches": Watches,
         "shared memory": SharedMemory, "pending signals": PendingSignals, "numbers of all processes": Processes,
         "forks of all": Forks, "memory of all": MemoryPressure, "free space": FreeSpace, "dropped pages": DroppedPages}
