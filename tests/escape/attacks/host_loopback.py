# Tries: to reach listeners that the runner opened on the host: TCP and UDP on its loopback (port is the
# first argument), an abstract unix socket and a unix socket file (names are the second and third).
# Report: success; no connection is made. The runner's listeners saw nobody.
# Control: this program says ESCAPED outside of a jail.
import socket
port, abstract, path = int(sys.argv[1]), "\0" + sys.argv[2], sys.argv[3]
for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET, ("0.0.0.0", port)),
                        (socket.AF_INET6, ("::1", port)), (socket.AF_UNIX, abstract), (socket.AF_UNIX, path)):
    def connect():
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(2)
            probe.connect(address)
            probe.sendall(b"hello from the jail")
            return "connected"
    must_raise(f"connect {address}", connect)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    for address in (("127.0.0.1", port), ("10.0.2.2", port), ("169.254.169.254", 80), ("8.8.8.8", 53)):
        try:
            probe.sendto(b"hello from the jail", address)
            notes.append(f"sent to {address[0]}, to nobody")
        except OSError as error:
            notes.append(f"{address[0]}={errno.errorcode[error.errno]}")
for address in (("169.254.169.254", 80), ("1.1.1.1", 443)):
    must_raise(f"connect {address[0]}", lambda: socket.create_connection(address, 2))
interfaces = [name for _, name in socket.if_nameindex()] if os.path.exists("/sys/class/net") else []
if [name for name in interfaces if name != "lo"]:
    escapes.append(f"interfaces {interfaces}")
verdict()
