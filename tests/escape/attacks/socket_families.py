# Tries: socket families that no network namespace contains (VSOCK reaches the hypervisor) or that open
# kernel surface no program needs.
# Report: success; only UNIX, INET and INET6 stream and datagram sockets exist.
import socket


def raw_socket(domain):
    number = {"x86_64": 41, "aarch64": 198}[platform.machine()]
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), ctypes.c_long(domain), ctypes.c_long(1), ctypes.c_long(0))
    if result < 0:
        raise OSError(ctypes.get_errno(), "socket")
    return result


FAMILIES = dict(netlink=16, packet=17, alg=38, vsock=40, xdp=44, can=29, tipc=30, rds=21, bluetooth=31, nfc=39,
                x25=9, ax25=3, key=15, kcm=41, qipcrtr=42, smc=43, mctp=45, ib=27, pppox=24, llc=26, phonet=35)
for name, family in FAMILIES.items():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        must_raise(f"{name} type {int(kind)}", lambda: socket.socket(family, kind, 0))
for family in (socket.AF_INET, socket.AF_INET6):
    must_raise("raw", lambda: socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    must_raise("sctp", lambda: socket.socket(family, socket.SOCK_STREAM, 132))
    must_raise("mptcp", lambda: socket.socket(family, socket.SOCK_STREAM, 262))
must_raise("vsock with high bits in the domain", lambda: raw_socket((1 << 32) | 40))
verdict()
