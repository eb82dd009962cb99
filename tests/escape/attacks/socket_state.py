# Tries: to read what the kernel counts for the sockets of the whole machine (SO_COOKIE, SO_NETNS_COOKIE), to get a
# descriptor of a process from a socket, and to lease IPv6 flow labels, which outlive the program that leased them.
# Report: success; the options do not exist.
# Control: this program says ESCAPED outside of a jail.
import socket
import struct
SO_COOKIE, SO_NETNS_COOKIE, SO_PEERPIDFD, SO_INCOMING_NAPI_ID, SO_MEMINFO = 57, 71, 77, 56, 55
IPV6_FLOWLABEL_MGR, ANYBODY, CREATE = 32, 255, 1
for family, kind in ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_DGRAM)):
    with socket.socket(family, kind) as probe:
        for option in (SO_COOKIE, SO_NETNS_COOKIE, SO_PEERPIDFD, SO_INCOMING_NAPI_ID, SO_MEMINFO):
            must_raise(f"option {option}", lambda: probe.getsockopt(socket.SOL_SOCKET, option, 64))
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
    lease = socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("!I", 7) + struct.pack("=BBHHHI", 0, ANYBODY, CREATE, 60, 60, 0)
    must_raise("flow label", lambda: probe.setsockopt(socket.IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, lease))
verdict()
