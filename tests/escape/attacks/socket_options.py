# Tries: to have the kernel compile a program of its choice (SO_ATTACH_*), and to load protocol layers (TCP_ULP).
# Report: success; the options do not exist.
# Control: this program says ESCAPED outside of a jail.
import socket
import struct
SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF, TCP_ULP = 26, 50, 51, 52, 31
accept_all = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0xFFFFFFFF), 8)
program = struct.pack("@HP", 1, ctypes.addressof(accept_all))
for family, kind in ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_DGRAM)):
    with socket.socket(family, kind) as probe:
        must_raise("filter", lambda: probe.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program))
        for option in (SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF):
            must_raise(f"option {option}", lambda: probe.setsockopt(socket.SOL_SOCKET, option, program))
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
    for layer in (b"tls", b"smc", b"espintcp", b"mptcp"):
        must_raise(f"layer {layer.decode()}", lambda: client.setsockopt(socket.IPPROTO_TCP, TCP_ULP, layer))
verdict()
