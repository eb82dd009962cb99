# Tries: to have the kernel write to pages of the root's files, which every jail shares: by handing them to sockets, pipes and other files
# without a copy, and by layers that change in place what they are handed (ESP, TLS, an RxRPC call, a cipher of the kernel).
# Report: success; what may be sent is sent as a copy, and the files are what they were.
# Control: this program says ESCAPED outside of a jail.
import hashlib
import mmap
import socket
import threading

MSG_ZEROCOPY, SO_ZEROCOPY, TCP_ULP, SOL_UDP, UDP_ENCAP, UDP_GRO = 0x4000000, 60, 31, 17, 100, 104
TCP_ZEROCOPY_RECEIVE = 35
NUMBERS["tee"] = {"x86_64": 276, "aarch64": 77}[platform.machine()]
FILES = sorted({os.path.realpath(path) for path in (sys.executable, "/bin/sh", "/usr/lib/os-release", os.__file__, ctypes.__file__) if os.path.exists(path)})


def digest(path):
    """By read and by a mapping, which have to agree."""
    with open(path, "rb") as file:
        text = file.read()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            if mapped[:] != text:
                escapes.append(f"{path} is mapped otherwise than read")
    return hashlib.sha256(text).hexdigest()


def send_file(label, sender, receiver, file):
    """All of it by sendfile; who receives it writes over what came, in place."""
    size, got = min(os.fstat(file).st_size, 1 << 20), bytearray()

    def receive():
        buffer = bytearray(65536)
        while len(got) < size:
            count = receiver.recv_into(buffer)
            if count == 0:
                break
            got.extend(buffer[:count])
            buffer[:] = b"\xff" * len(buffer)

    reader = threading.Thread(target=receive)
    reader.start()
    at = 0
    while at < size:
        at += os.sendfile(sender.fileno(), file, at, min(65536, size - at))
    reader.join()
    if bytes(got) != os.pread(file, size, 0):
        escapes.append(f"{label} received something else")
    notes.append(f"{label}={len(got)}")


def connections():
    yield "unix", *socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    yield "packets", *socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for family, place in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.create_server((place, 0), family=family) as server:
            client = socket.create_connection(server.getsockname()[:2])
            yield f"tcp {place}", client, server.accept()[0]


def change_in_place(sender, file):
    """What makes the kernel keep the pages of the sender instead of a copy, or change them on the way."""
    if sender.family != socket.AF_UNIX:
        must_raise("SO_ZEROCOPY", lambda: sender.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1))
        must_raise("TCP_ZEROCOPY_RECEIVE", lambda: sender.getsockopt(socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, 64))
        for layer in (b"tls", b"smc", b"espintcp"):
            must_raise(f"layer {layer.decode()}", lambda: sender.setsockopt(socket.IPPROTO_TCP, TCP_ULP, layer))
        with mmap.mmap(file, 64, access=mmap.ACCESS_READ) as mapped:
            # Without SO_ZEROCOPY the flag means nothing: what is sent is a copy.
            sender.send(mapped, MSG_ZEROCOPY)
    with mmap.mmap(file, 64, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        mapped[:8] = b"\xff" * 8
        sender.send(mapped)


before = {path: digest(path) for path in FILES}
for path in FILES:
    file = os.open(path, os.O_RDONLY)
    must_raise(f"write to {path}", lambda: os.pwrite(file, b"\xff", 0))
    must_raise("shared mapping", lambda: mmap.mmap(file, 64, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE))
    for label, sender, receiver in connections():
        with sender, receiver:
            if label != "packets":
                send_file(label, sender, receiver, file)
            change_in_place(sender, file)
    # The same through files of its own, which the kernel may copy by reference.
    with open("/tmp/copy", "w+b") as copy:
        try:
            os.copy_file_range(file, copy.fileno(), 4096, 0, 0)
        except OSError as error:
            notes.append(f"copy_file_range={errno.errorcode[error.errno]}")
        os.sendfile(copy.fileno(), file, 0, 4096)
        with mmap.mmap(copy.fileno(), 8) as mapped:
            mapped[:] = b"\xff" * 8
    must_raise("copy_file_range into the file", lambda: os.copy_file_range(os.open("/tmp/copy", os.O_RDONLY), file, 8, 0, 0))
    must_raise("sendfile into the file", lambda: os.sendfile(file, os.open("/tmp/copy", os.O_RDONLY), 0, 8))
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    must_fail("splice into a pipe", "splice", file, (ctypes.c_int64 * 1)(0), writer, None, 64, 0)
    must_fail("tee", "tee", reader, os.pipe()[1], 64, 2)
    text = ctypes.create_string_buffer(b"\xff" * 64, 64)
    must_fail("vmsplice", "vmsplice", writer, (ctypes.c_uint64 * 2)(ctypes.addressof(text), 64), 1, 0)
    os.write(writer, b"\xff" * 64)
    must_fail("splice out of a pipe", "splice", reader, None, file, (ctypes.c_int64 * 1)(0), 64, 0)
    for descriptor in (file, reader, writer):
        os.close(descriptor)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    for option, value in ((UDP_ENCAP, 2), (UDP_ENCAP, 1), (UDP_ENCAP, 7), (UDP_GRO, 1)):
        must_raise(f"UDP option {option}", lambda: datagrams.setsockopt(SOL_UDP, option, value))
    must_raise("SO_ZEROCOPY of UDP", lambda: datagrams.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1))
for name, family, kind, protocol in (("RxRPC", 33, socket.SOCK_DGRAM, 2), ("ALG", 38, socket.SOCK_SEQPACKET, 0), ("KEY", 15, socket.SOCK_RAW, 2),
                                     ("XFRM", 16, socket.SOCK_RAW, 6), ("ESP", socket.AF_INET, socket.SOCK_RAW, 50), ("packets", 17, socket.SOCK_RAW, 3)):
    must_raise(f"socket {name}", lambda: socket.socket(family, kind, protocol))
for path in FILES:
    if digest(path) != before[path]:
        escapes.append(f"{path} has changed")
os.unlink("/tmp/copy")
verdict()
