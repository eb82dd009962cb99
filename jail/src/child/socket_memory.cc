#include "child/socket_memory.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// Nobody fills a host's memory with the buffers of so few.
constexpr std::uint64_t few_sockets = 4;
constexpr std::uint64_t pauses_after_asking = 4;
// The socket itself, its inode and its file.
constexpr std::uint64_t bytes_of_a_socket = 4u << 10;
// Where the kernel does not tell, as many may be there with empty buffers, and all others count as
// full: twice of what is the default, since one message may be as large as the buffer and is taken
// in while there is any room.
constexpr std::uint64_t sockets_without_buffer = 96;
constexpr std::uint64_t bytes_of_full_buffers = 2 * 212'992;

// A question that sock_diag(7) answers for one kind of sockets, and where an answer says what they
// hold.
struct UnixQuestion {
  unix_diag_req request{AF_UNIX, 0, 0, ~0u, 0, UDIAG_SHOW_MEMINFO, {}};
  static constexpr std::size_t answer = sizeof(unix_diag_msg);
  static constexpr unsigned short attribute = UNIX_DIAG_MEMINFO;
};
struct InternetQuestion {
  explicit InternetQuestion(int family, int protocol) {
    request.sdiag_family = static_cast<std::uint8_t>(family);
    request.sdiag_protocol = static_cast<std::uint8_t>(protocol);
    request.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
    request.idiag_states = ~0u;
  }
  inet_diag_req_v2 request{};
  static constexpr std::size_t answer = sizeof(inet_diag_msg);
  static constexpr unsigned short attribute = INET_DIAG_SKMEMINFO;
};

template <class Question>
std::uint64_t bytes_in(const nlmsghdr& message) {
  const char* at = reinterpret_cast<const char*>(&message) + NLMSG_LENGTH(Question::answer);
  long left =
      static_cast<long>(message.nlmsg_len) - static_cast<long>(NLMSG_LENGTH(Question::answer));
  while (left >= static_cast<long>(sizeof(rtattr))) {
    const auto* attribute = reinterpret_cast<const rtattr*>(at);
    if (attribute->rta_len < sizeof(rtattr) || attribute->rta_len > left) return 0;
    if (attribute->rta_type == Question::attribute &&
        attribute->rta_len >= RTA_LENGTH((SK_MEMINFO_WMEM_QUEUED + 1) * sizeof(std::uint32_t))) {
      const auto* figures = reinterpret_cast<const std::uint32_t*>(at + RTA_LENGTH(0));
      // The first is TCP's, the second everybody's.
      const std::uint64_t queued = figures[SK_MEMINFO_WMEM_QUEUED];
      const std::uint64_t sent = figures[SK_MEMINFO_WMEM_ALLOC];
      return figures[SK_MEMINFO_RMEM_ALLOC] + larger(queued, sent);
    }
    at += RTA_ALIGN(attribute->rta_len);
    left -= static_cast<long>(RTA_ALIGN(attribute->rta_len));
  }
  return 0;
}

struct Told {
  std::uint64_t sockets = 0;
  std::uint64_t bytes = 0;
};

// Adds what one datagram of the answer says. 1: more will follow; 0: that was all; or a negative
// errno.
template <class Question>
long add_answer(const char* answer, long size, Told& told) {
  while (size >= static_cast<long>(sizeof(nlmsghdr))) {
    const auto& message = *reinterpret_cast<const nlmsghdr*>(answer);
    if (message.nlmsg_len < sizeof(nlmsghdr) || message.nlmsg_len > size) return -1;
    if (message.nlmsg_type == NLMSG_DONE) return 0;
    if (message.nlmsg_type != SOCK_DIAG_BY_FAMILY) return -1;  // the kernel has no such module
    told.bytes += bytes_in<Question>(message);
    ++told.sockets;
    answer += NLMSG_ALIGN(message.nlmsg_len);
    size -= static_cast<long>(NLMSG_ALIGN(message.nlmsg_len));
  }
  return 1;
}

// False: the kernel does not tell.
template <class Question>
bool add_all(const Question& question, Told& told) {
  struct {
    nlmsghdr header;
    decltype(question.request) request;
  } message{{}, question.request};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  const long asked = raw::call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (asked < 0) return false;
  long more =
      raw::call(SYS_sendto, asked, raw::address(&message), sizeof message, MSG_NOSIGNAL, 0, 0) < 0
          ? -1
          : 1;
  alignas(nlmsghdr) char answer[8192];
  while (more > 0) {
    const long got =
        raw::call(SYS_recvfrom, asked, raw::address(answer), sizeof answer, MSG_DONTWAIT, 0, 0);
    more = got <= 0 ? -1 : add_answer<Question>(answer, got, told);
  }
  raw::call(SYS_close, asked);
  return more == 0;
}

}  // namespace

std::uint64_t SocketMemory::measure(int proc) {
  Text text;
  std::uint64_t sockets = 0;
  if (!read_text(proc, "1/net/sockstat", text) ||
      !find_number(text.bytes, "sockets: used", sockets) || sockets <= few_sockets) {
    return 0;
  }
  if (now_ns() >= next_ns_) {
    const std::uint64_t before = own_cpu_ns();
    last_ = ask_all(proc, text.bytes, sockets);
    next_ns_ = now_ns() + pauses_after_asking * (own_cpu_ns() - before);
  }
  return last_;
}

// For internet sockets the kernel goes through those of the whole machine, so it is asked for a
// kind only where there is one. `sockstat` is the text of that file.
std::uint64_t SocketMemory::ask_all(int proc, const char* sockstat, std::uint64_t sockets) {
  Text sockstat6;
  if (!read_text(proc, "1/net/sockstat6", sockstat6)) sockstat6.bytes[0] = '\0';
  const struct {
    const char* text;
    const char* count;
    int family;
    int protocol;
  } kinds[] = {{sockstat, "TCP: inuse", AF_INET, IPPROTO_TCP},
               {sockstat, "UDP: inuse", AF_INET, IPPROTO_UDP},
               {sockstat6.bytes, "TCP6: inuse", AF_INET6, IPPROTO_TCP},
               {sockstat6.bytes, "UDP6: inuse", AF_INET6, IPPROTO_UDP}};
  Told told;
  bool is_told = add_all(UnixQuestion{}, told);
  // sock_diag also lists internet connections that only time out, which are no sockets any more, so
  // internet sockets are taken from the counts.
  std::uint64_t listed = told.sockets;
  for (const auto& kind : kinds) {
    std::uint64_t count = 0;
    if (!find_number(kind.text, kind.count, count) || count == 0) continue;
    is_told = add_all(InternetQuestion(kind.family, kind.protocol), told) && is_told;
    listed += count;
  }
  // A sender that is closed is listed no more, and what it has sent is kept until it is read.
  const std::uint64_t free = is_told ? few_sockets : sockets_without_buffer;
  const std::uint64_t hidden = is_told ? beyond(sockets, listed) : sockets;
  return sockets * bytes_of_a_socket + told.bytes + beyond(hidden, free) * bytes_of_full_buffers;
}

}  // namespace jail::child
