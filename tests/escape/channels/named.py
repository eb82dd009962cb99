"""Kinds that transmit between jails, each of which policies/THREAT_MODEL.md names."""


class Futexes(Kind):
    """Whoever waits at a word of a page of a shared file is woken, and counted, from any jail."""
    WAIT, WAKE = 0, 1
    waiter = None

    def prepare(self):
        self.mapping, address = mapped(1)
        place = KEY % (PAGE // 4) * 4
        self.word = struct.unpack_from("I", self.mapping, place)[0]
        self.address = ctypes.c_void_p(address + place)

    def wait(self):
        with contextlib.suppress(OSError):
            call("futex", self.address, self.WAIT, self.word, None, None, 0)

    def measure(self):
        return call("futex", self.address, self.WAKE, 1, None, None, 0)

    def act(self, bit):
        waits = self.waiter is not None and self.waiter.is_alive()
        if bit and not waits:
            self.waiter = threading.Thread(target=self.wait, daemon=True)
            self.waiter.start()
            while self.waiter.is_alive() and f"{self.address.value:#x}" not in text_of(f"/proc/self/task/{self.waiter.native_id}/syscall"):
                pass
        elif waits and not bit:
            self.measure()
            self.waiter.join()


class MapCounts(Held):
    """`pagemap` says of each page whether anybody else has it mapped; `smaps` and `numa_maps` count them."""
    EXCLUSIVE, PAGES = 1 << 56, 64

    def prepare(self):
        self.place = KEY % self.PAGES
        if not self.sends:
            self.mapping, self.address = mapped(self.PAGES)
            self.pagemap = open("/proc/self/pagemap", "rb", buffering=0)

    def take(self):
        mapping, _ = mapped(self.PAGES)
        mapping[self.place * PAGE]
        return [mapping]

    def measure(self):
        self.mapping[self.place * PAGE]
        entry = os.pread(self.pagemap.fileno(), 8, (self.address // PAGE + self.place) * 8)
        return int(not struct.unpack("Q", entry)[0] & self.EXCLUSIVE)


class PageCache(Kind):
    """A page that one has read is in memory for all: who touches it next has no major fault. Each page serves once."""

    def prepare(self):
        self.mapping, _ = mapped(os.path.getsize(SHARED) // PAGE)
        self.next = 2

    def act(self, bit):
        self.next += 1
        if bit:
            self.mapping[self.next * PAGE]

    def measure(self):
        self.next += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        self.mapping[self.next * PAGE]
        return resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before


class EventNumbers(Held):
    """The kernel numbers eventfds of the whole machine, lowest free first, and `fdinfo` shows the number."""

    def one(self):
        return open(call("eventfd2", 0, 0), "rb", buffering=0)

    def take(self):
        return [self.one() for _ in range(8)]

    def measure(self):
        with self.one() as event:
            return number_in(f"/proc/self/fdinfo/{event.fileno()}", r"^eventfd-id:\s+(\d+)")


class InodeNumbers(Counted):
    """Pipes, sockets and files of /proc take their inode numbers from one counter of each processor."""
    one_processor, TIMES = True, 40

    def do(self):
        for end in os.pipe():
            os.close(end)

    def count(self):
        reading, writing = os.pipe()
        number = os.fstat(reading).st_ino
        os.close(reading)
        os.close(writing)
        return number


class ProcessNumbers(Counted):
    """The inode number of a pidfd counts the processes of the whole machine (Linux 6.9)."""
    TIMES = 4

    def do(self):
        in_a_child(os.getpid)

    def count(self):
        child = self.start(signal.pause)
        descriptor = os.pidfd_open(child)
        number = os.fstat(descriptor).st_ino
        os.close(descriptor)
        self.stop(child)
        return number


class SessionNumbers(Counted):
    """Each setsid() takes the next number of the machine's groups of processes for the scheduler."""
    TIMES = 4

    def do(self):
        in_a_child(lambda: os.setsid() or 0)

    def count(self):
        return in_a_child(lambda: os.setsid() or number_in("/proc/self/autogroup", r"autogroup-(\d+)"))


class SocketCounts(Held):
    """`sockstat` counts the TCP sockets of the whole machine."""

    def take(self):
        return [socket.socket() for _ in range(20)]

    def measure(self):
        return number_in("/proc/self/net/sockstat", r"^TCP:.* alloc (\d+)")


class Packets(Counted):
    """`softnet_stat` counts what each processor received, whoever sent it."""
    TIMES = 30

    def prepare(self):
        self.ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        self.ends[0].bind(("127.0.0.1", 0))

    def do(self):
        self.ends[1].sendto(b"x", self.ends[0].getsockname())
        self.ends[0].recv(1)

    def count(self):
        return sum(int(line.split()[0], 16) for line in text_of("/proc/self/net/softnet_stat").splitlines())


class SourcePorts(Counted):
    """Each connection to an address takes the next port from a table that all networks share."""
    TIMES, PORT = 16, 7777  # that of the destination is what the table goes by

    def prepare(self):
        self.listener = socket.create_server(("127.0.0.1", self.PORT))

    def do(self):
        with socket.create_connection(("127.0.0.1", self.PORT)) as connection:
            self.listener.accept()[0].close()
            # The reset leaves nothing of the connection behind that would keep its port.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return connection.getsockname()[1]

    count = do

    def measure(self):
        # A network of a jail has the usual range.
        return super().measure() % (60999 - 32768 + 1)


class PipePages(Kind):
    """When the pipes of a user of the host have 64 MiB the next one is small."""
    SMALL = 4 * PAGE

    def prepare(self):
        self.kept = []
        if self.sends:
            # Most of them are other processes', since a process has 1,024 descriptors.
            for _ in range(3):
                self.start_with_pipes()
            self.act(1)

    def start_with_pipes(self):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            kept = []
            with contextlib.suppress(OSError):
                while len(kept) < 320:
                    kept.append(os.pipe())
            os.close(writing)
            while True:
                signal.pause()
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        self.children.append(child)

    def act(self, bit):
        while self.kept and not bit and self.measure() <= self.SMALL:
            os.close(self.kept.pop())
        while bit and self.measure() > self.SMALL and len(self.kept) < 600:
            self.kept += os.pipe()

    def measure(self):
        ends = os.pipe()
        size = fcntl.fcntl(ends[0], 1032)  # F_GETPIPE_SZ
        for end in ends:
            os.close(end)
        return size


class DescriptorsInFlight(Held):
    """A user of the host has so many in flight as a program's own limit on descriptors says; it may be lowered, and compared with."""

    def prepare(self):
        self.hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.ends = socket.socketpair()
        self.rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", self.ends[0].fileno()))]

    def take(self):
        kept = socket.socketpair()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("30i", *[self.ends[0].fileno()] * 30))]
        kept[0].sendmsg([b"x"], rights)
        return kept

    def are_more_than(self, limit):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, self.hard))
        try:
            self.ends[0].sendmsg([b"x"], self.rights)
        except OSError:
            return True
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.hard, self.hard))
        for descriptor in struct.unpack("i", self.ends[1].recvmsg(1, socket.CMSG_SPACE(4))[1][0][2]):
            os.close(descriptor)
        return False

    def measure(self):
        low, high = 0, 1024
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.are_more_than(middle) else (low, middle)
        return low


class Load(Held):
    """How much of a processor somebody else wants: what the other end gets of it in a few milliseconds."""
    one_processor = True

    def take(self):
        return self.start(lambda: None)

    give_back = Kind.stop

    def measure(self):
        started = time.monotonic(), time.process_time()
        while time.monotonic() - started[0] < 0.015:
            pass
        return (time.process_time() - started[1]) / (time.monotonic() - started[0])


KINDS |= {"futexes": Futexes, "map counts": MapCounts, "page cache": PageCache, "numbers of eventfds": EventNumbers,
         "inode numbers": InodeNumbers, "numbers of processes": ProcessNumbers, "numbers of sessions": SessionNumbers,
         "counts of sockets": SocketCounts, "counts of packets": Packets, "source ports": SourcePorts,
         "pages of pipes": PipePages, "descriptors in flight": DescriptorsInFlight, "load": Load}
