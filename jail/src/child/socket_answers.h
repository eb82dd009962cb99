// Questions to sock_diag(7) and the parsing of its answers. The kernel writes them; a guest chooses
// how many sockets they list and what these hold.
#pragma once

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "child/arithmetic.h"

namespace jail::child {

// A question to sock_diag(7) about one kind of sockets, and the place in an answer that says what
// they hold.
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
      // The first figure is used by TCP, the second by all.
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

// Adds the content of one datagram of the answer. Returns 1: more will follow; 0: that was all; or
// a negative errno.
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

}  // namespace jail::child
