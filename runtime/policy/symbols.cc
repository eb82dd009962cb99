#include "runtime/policy/symbols.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/membarrier.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace runtime::policy {
namespace {

// The value in Linux 6.1; glibc 2.36 has no name for it.
constexpr int madv_collapse = 25;

template <class Number>
struct Symbol {
  std::string_view name;
  Number value;
};

constexpr Symbol<int> error_numbers[] = {
    {"EPERM", EPERM},
    {"ENOENT", ENOENT},
    {"ESRCH", ESRCH},
    {"EIO", EIO},
    {"ENXIO", ENXIO},
    {"EBADF", EBADF},
    {"ECHILD", ECHILD},
    {"EAGAIN", EAGAIN},
    {"ENOMEM", ENOMEM},
    {"EACCES", EACCES},
    {"EBUSY", EBUSY},
    {"EXDEV", EXDEV},
    {"ENODEV", ENODEV},
    {"EINVAL", EINVAL},
    {"EMFILE", EMFILE},
    {"ENOTTY", ENOTTY},
    {"ENOSPC", ENOSPC},
    {"EROFS", EROFS},
    {"ENOSYS", ENOSYS},
    {"ENOPROTOOPT", ENOPROTOOPT},
    {"EPROTONOSUPPORT", EPROTONOSUPPORT},
    {"ESOCKTNOSUPPORT", ESOCKTNOSUPPORT},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EAFNOSUPPORT", EAFNOSUPPORT},
    {"ENETUNREACH", ENETUNREACH},
    {"ECONNREFUSED", ECONNREFUSED},
};

// Private to the kernel's own headers: the bits above it in a socket type are flags.
constexpr std::uint32_t SOCK_TYPE_MASK = 0xf;

constexpr Symbol<std::uint32_t> argument_values[] = {
    {"AF_UNSPEC", AF_UNSPEC},
    {"AF_UNIX", AF_UNIX},
    {"AF_INET", AF_INET},
    {"AF_INET6", AF_INET6},
    {"AF_NETLINK", AF_NETLINK},
    {"AF_PACKET", AF_PACKET},
    {"AF_ALG", AF_ALG},
    {"AF_VSOCK", AF_VSOCK},

    {"SOCK_TYPE_MASK", SOCK_TYPE_MASK},
    {"SOCK_STREAM", SOCK_STREAM},
    {"SOCK_DGRAM", SOCK_DGRAM},
    {"SOCK_RAW", SOCK_RAW},
    {"SOCK_SEQPACKET", SOCK_SEQPACKET},

    {"IPPROTO_IP", IPPROTO_IP},
    {"IPPROTO_TCP", IPPROTO_TCP},
    {"IPPROTO_UDP", IPPROTO_UDP},
    {"IPPROTO_ICMP", IPPROTO_ICMP},
    {"NETLINK_ROUTE", NETLINK_ROUTE},

    {"SOL_SOCKET", SOL_SOCKET},
    {"SO_ATTACH_FILTER", SO_ATTACH_FILTER},
    {"SO_ATTACH_BPF", SO_ATTACH_BPF},
    {"SO_ATTACH_REUSEPORT_CBPF", SO_ATTACH_REUSEPORT_CBPF},
    {"SO_ATTACH_REUSEPORT_EBPF", SO_ATTACH_REUSEPORT_EBPF},
    {"SO_LINGER", SO_LINGER},
    {"SO_RCVBUF", SO_RCVBUF},
    {"SO_SNDBUF", SO_SNDBUF},
    {"SO_PASSCRED", SO_PASSCRED},
    {"SO_REUSEADDR", SO_REUSEADDR},
    {"SO_REUSEPORT", SO_REUSEPORT},
    {"SO_KEEPALIVE", SO_KEEPALIVE},
    {"SO_BROADCAST", SO_BROADCAST},
    {"SO_OOBINLINE", SO_OOBINLINE},
    {"SO_DONTROUTE", SO_DONTROUTE},
    {"SO_RCVLOWAT", SO_RCVLOWAT},
    {"SO_RCVTIMEO_OLD", SO_RCVTIMEO_OLD},
    {"SO_RCVTIMEO_NEW", SO_RCVTIMEO_NEW},
    {"SO_SNDTIMEO_OLD", SO_SNDTIMEO_OLD},
    {"SO_SNDTIMEO_NEW", SO_SNDTIMEO_NEW},
    {"SO_ERROR", SO_ERROR},
    {"SO_TYPE", SO_TYPE},
    {"SO_DOMAIN", SO_DOMAIN},
    {"SO_PROTOCOL", SO_PROTOCOL},
    {"SO_ACCEPTCONN", SO_ACCEPTCONN},
    {"SO_PEERCRED", SO_PEERCRED},
    {"SO_COOKIE", SO_COOKIE},
    {"SO_NETNS_COOKIE", SO_NETNS_COOKIE},
    {"SOL_TCP", SOL_TCP},
    {"TCP_ULP", TCP_ULP},
    {"TCP_NODELAY", TCP_NODELAY},
    {"TCP_MAXSEG", TCP_MAXSEG},
    {"TCP_CORK", TCP_CORK},
    {"TCP_KEEPIDLE", TCP_KEEPIDLE},
    {"TCP_KEEPINTVL", TCP_KEEPINTVL},
    {"TCP_KEEPCNT", TCP_KEEPCNT},
    {"TCP_SYNCNT", TCP_SYNCNT},
    {"TCP_LINGER2", TCP_LINGER2},
    {"TCP_DEFER_ACCEPT", TCP_DEFER_ACCEPT},
    {"TCP_WINDOW_CLAMP", TCP_WINDOW_CLAMP},
    {"TCP_QUICKACK", TCP_QUICKACK},
    {"TCP_USER_TIMEOUT", TCP_USER_TIMEOUT},
    {"TCP_INFO", TCP_INFO},
    {"TCP_CONGESTION", TCP_CONGESTION},
    {"SOL_IP", SOL_IP},
    {"IP_RECVERR", IP_RECVERR},
    {"IP_TOS", IP_TOS},
    {"IP_TTL", IP_TTL},
    {"IP_PKTINFO", IP_PKTINFO},
    {"IP_MTU_DISCOVER", IP_MTU_DISCOVER},
    {"IP_RECVTTL", IP_RECVTTL},
    {"IP_RECVTOS", IP_RECVTOS},
    {"IP_MTU", IP_MTU},
    {"IP_BIND_ADDRESS_NO_PORT", IP_BIND_ADDRESS_NO_PORT},
    {"SOL_IPV6", SOL_IPV6},
    {"IPV6_RECVERR", IPV6_RECVERR},
    {"IPV6_V6ONLY", IPV6_V6ONLY},
    {"IPV6_UNICAST_HOPS", IPV6_UNICAST_HOPS},
    {"IPV6_MTU_DISCOVER", IPV6_MTU_DISCOVER},
    {"IPV6_RECVPKTINFO", IPV6_RECVPKTINFO},
    {"IPV6_RECVHOPLIMIT", IPV6_RECVHOPLIMIT},
    {"IPV6_RECVTCLASS", IPV6_RECVTCLASS},
    {"IPV6_TCLASS", IPV6_TCLASS},
    {"SOL_NETLINK", SOL_NETLINK},
    {"NETLINK_PKTINFO", NETLINK_PKTINFO},
    {"NETLINK_EXT_ACK", NETLINK_EXT_ACK},
    {"NETLINK_GET_STRICT_CHK", NETLINK_GET_STRICT_CHK},

    {"CLONE_NEWNS", CLONE_NEWNS},
    {"CLONE_NEWCGROUP", CLONE_NEWCGROUP},
    {"CLONE_NEWUTS", CLONE_NEWUTS},
    {"CLONE_NEWIPC", CLONE_NEWIPC},
    {"CLONE_NEWUSER", CLONE_NEWUSER},
    {"CLONE_NEWPID", CLONE_NEWPID},
    {"CLONE_NEWNET", CLONE_NEWNET},
    {"CLONE_PARENT", CLONE_PARENT},
    {"CLONE_VM", CLONE_VM},
    {"CLONE_FILES", CLONE_FILES},
    {"CLONE_VFORK", CLONE_VFORK},
    {"CLOSE_RANGE_UNSHARE", CLOSE_RANGE_UNSHARE},
    {"CLONE_THREAD", CLONE_THREAD},

    {"TCGETS", TCGETS},
    {"TCSETS", TCSETS},
    {"TCSETSW", TCSETSW},
    {"TCSETSF", TCSETSF},
    {"TIOCGWINSZ", TIOCGWINSZ},
    {"TIOCGPGRP", TIOCGPGRP},
    {"FIONREAD", FIONREAD},
    {"FIONBIO", FIONBIO},
    {"FIOCLEX", FIOCLEX},
    {"FIONCLEX", FIONCLEX},
    {"SIOCGIFINDEX", SIOCGIFINDEX},
    {"SIOCGIFNAME", SIOCGIFNAME},
    {"TIOCSTI", TIOCSTI},
    {"TIOCLINUX", TIOCLINUX},
    {"TIOCSETD", TIOCSETD},
    {"TIOCCONS", TIOCCONS},

    {"F_DUPFD", F_DUPFD},
    {"F_GETFD", F_GETFD},
    {"F_SETFD", F_SETFD},
    {"F_GETFL", F_GETFL},
    {"F_SETFL", F_SETFL},
    {"F_GETLK", F_GETLK},
    {"F_SETLK", F_SETLK},
    {"F_SETLKW", F_SETLKW},
    {"F_SETOWN", F_SETOWN},
    {"F_GETOWN", F_GETOWN},
    {"F_SETSIG", F_SETSIG},
    {"F_GETSIG", F_GETSIG},
    {"F_SETOWN_EX", F_SETOWN_EX},
    {"F_GETOWN_EX", F_GETOWN_EX},
    {"F_OFD_GETLK", F_OFD_GETLK},
    {"F_OFD_SETLK", F_OFD_SETLK},
    {"F_OFD_SETLKW", F_OFD_SETLKW},
    {"F_SETLEASE", F_SETLEASE},
    {"F_GETLEASE", F_GETLEASE},
    {"F_NOTIFY", F_NOTIFY},
    {"F_DUPFD_CLOEXEC", F_DUPFD_CLOEXEC},
    {"F_SETPIPE_SZ", F_SETPIPE_SZ},
    {"F_GETPIPE_SZ", F_GETPIPE_SZ},
    {"F_ADD_SEALS", F_ADD_SEALS},
    {"F_GET_SEALS", F_GET_SEALS},

    {"PR_SET_PDEATHSIG", PR_SET_PDEATHSIG},
    {"PR_GET_PDEATHSIG", PR_GET_PDEATHSIG},
    {"PR_GET_DUMPABLE", PR_GET_DUMPABLE},
    {"PR_SET_DUMPABLE", PR_SET_DUMPABLE},
    {"PR_SET_NAME", PR_SET_NAME},
    {"PR_GET_NAME", PR_GET_NAME},
    {"PR_GET_SECCOMP", PR_GET_SECCOMP},
    {"PR_CAPBSET_READ", PR_CAPBSET_READ},
    {"PR_GET_TIMERSLACK", PR_GET_TIMERSLACK},
    {"PR_SET_NO_NEW_PRIVS", PR_SET_NO_NEW_PRIVS},
    {"PR_GET_NO_NEW_PRIVS", PR_GET_NO_NEW_PRIVS},
    {"PR_SET_VMA", PR_SET_VMA},

    {"POSIX_FADV_DONTNEED", POSIX_FADV_DONTNEED},
    {"RWF_NOWAIT", RWF_NOWAIT},

    {"PRIO_PROCESS", PRIO_PROCESS},
    {"PRIO_PGRP", PRIO_PGRP},
    {"PRIO_USER", PRIO_USER},

    {"MAP_HUGETLB", MAP_HUGETLB},

    {"MADV_MERGEABLE", MADV_MERGEABLE},
    {"MADV_DONTNEED", MADV_DONTNEED},
    {"MADV_FREE", MADV_FREE},
    {"MADV_PAGEOUT", MADV_PAGEOUT},
    {"MADV_COLLAPSE", madv_collapse},
    {"MADV_HUGEPAGE", MADV_HUGEPAGE},
    {"MADV_NOHUGEPAGE", MADV_NOHUGEPAGE},
    {"MADV_DONTDUMP", MADV_DONTDUMP},

    {"MEMBARRIER_CMD_GLOBAL", MEMBARRIER_CMD_GLOBAL},
    {"MEMBARRIER_CMD_GLOBAL_EXPEDITED", MEMBARRIER_CMD_GLOBAL_EXPEDITED},
    {"MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED", MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED},

    {"PROT_WRITE", PROT_WRITE},
    {"PROT_EXEC", PROT_EXEC},

    {"O_ACCMODE", O_ACCMODE},
    {"O_CREAT", O_CREAT},
    {"O_TRUNC", O_TRUNC},
    {"O_APPEND", O_APPEND},
};

template <class Number, std::size_t size>
std::optional<Number> find(const Symbol<Number> (&symbols)[size], std::string_view name) {
  const auto* found = std::find_if(std::begin(symbols), std::end(symbols),
                                   [&](const auto& symbol) { return symbol.name == name; });
  if (found == std::end(symbols)) return std::nullopt;
  return found->value;
}

}  // namespace

std::optional<int> error_number(std::string_view name) { return find(error_numbers, name); }

std::optional<std::uint32_t> argument_value(std::string_view name) {
  return find(argument_values, name);
}

}  // namespace runtime::policy
