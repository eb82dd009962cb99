#include "child/network_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "child/raw_syscall.h"

namespace jail::child {
namespace {

constexpr int loopback_index = 1;  // in a fresh network namespace it is always the first one

struct LinkRequest {
  nlmsghdr header;
  ifinfomsg link;
};

// Asks about the loopback interface and reads the first answer. Its size or a negative errno.
long ask(LinkRequest& request, void* answer, std::size_t size) {
  const long socket = raw::call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return socket;
  request.header.nlmsg_len = sizeof request;
  request.link.ifi_index = loopback_index;
  long result =
      raw::call(SYS_sendto, socket, raw::address(&request), sizeof request, MSG_NOSIGNAL, 0, 0);
  // The kernel answers before sendto returns.
  if (result >= 0) {
    result = raw::call(SYS_recvfrom, socket, raw::address(answer), static_cast<long>(size),
                       MSG_DONTWAIT, 0, 0);
  }
  raw::call(SYS_close, socket);
  return result;
}

long bring_loopback_up() {
  LinkRequest request{};
  request.header.nlmsg_type = RTM_NEWLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_flags = IFF_UP;
  request.link.ifi_change = IFF_UP;
  struct {
    nlmsghdr header;
    nlmsgerr error;
  } answer{};
  const long got = ask(request, &answer, sizeof answer);
  if (got < 0) return got;
  return got == sizeof answer ? answer.error.error : -EIO;
}

// False also when it cannot be told.
bool no_packet_has_passed() {
  LinkRequest request{};
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  alignas(nlmsghdr) char answer[8192];
  const long got = ask(request, answer, sizeof answer);
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (got < static_cast<long>(NLMSG_LENGTH(sizeof(ifinfomsg))) ||
      header->nlmsg_type != RTM_NEWLINK || header->nlmsg_len > static_cast<std::uint32_t>(got)) {
    return false;
  }
  long left = static_cast<long>(header->nlmsg_len) - NLMSG_LENGTH(sizeof(ifinfomsg));
  const char* at = answer + NLMSG_LENGTH(sizeof(ifinfomsg));
  while (left >= static_cast<long>(sizeof(rtattr))) {
    const auto* attribute = reinterpret_cast<const rtattr*>(at);
    if (attribute->rta_len < sizeof(rtattr) || attribute->rta_len > left) return false;
    if (attribute->rta_type == IFLA_STATS64) {
      const auto* stats = reinterpret_cast<const rtnl_link_stats64*>(at + RTA_LENGTH(0));
      return stats->rx_packets == 0 && stats->tx_packets == 0;
    }
    at += RTA_ALIGN(attribute->rta_len);
    left -= static_cast<long>(RTA_ALIGN(attribute->rta_len));
  }
  return false;
}

long join(int network) { return raw::call(SYS_setns, network, CLONE_NEWNET); }

}  // namespace

long NetworkPool::enter() {
  Entry* entry = find_free();
  if (entry == nullptr) {
    look_for_ended();
    entry = find_free();
  }
  if (entry == nullptr) return make();
  current_ = entry;
  return join(entry->network);
}

void NetworkPool::entered_by(int pidfd) {
  if (current_ == nullptr) return;
  const long own = raw::call(SYS_fcntl, pidfd, F_DUPFD_CLOEXEC, 3);
  if (own >= 0) {
    current_->user = static_cast<int>(own);
  } else {
    // Nobody would know when it is free again.
    raw::call(SYS_close, current_->network);
    *current_ = {};
  }
  current_ = nullptr;
}

NetworkPool::Entry* NetworkPool::find_free() {
  for (Entry& entry : entries_) {
    if (entry.network >= 0 && entry.user < 0) return &entry;
  }
  return nullptr;
}

// The kernel lets init go last: when it is gone, so is all that was in there.
void NetworkPool::look_for_ended() {
  // No empty places: more of them than RLIMIT_NOFILE would be refused.
  pollfd users[capacity];
  Entry* used[capacity];
  std::size_t count = 0;
  for (Entry& entry : entries_) {
    if (entry.user < 0) continue;
    users[count] = {entry.user, POLLIN, 0};
    used[count++] = &entry;
  }
  const timespec at_once{};
  if (raw::call(SYS_ppoll, raw::address(users), static_cast<long>(count), raw::address(&at_once),
                0) <= 0) {
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (users[i].revents == 0) continue;
    Entry& entry = *used[i];
    raw::call(SYS_close, entry.user);
    entry.user = -1;
    if (join(entry.network) == 0 && no_packet_has_passed()) continue;
    raw::call(SYS_close, entry.network);
    entry.network = -1;
  }
}

long NetworkPool::make() {
  current_ = nullptr;
  long done = raw::call(SYS_unshare, CLONE_NEWNET);
  if (done == 0) done = bring_loopback_up();
  if (done < 0) return done;
  for (Entry& entry : entries_) {
    if (entry.network >= 0) continue;
    const long file =
        raw::call(SYS_openat, AT_FDCWD, raw::address("/proc/self/ns/net"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    entry.network = static_cast<int>(file);
    current_ = &entry;
    return 0;
  }
  return 0;
}

}  // namespace jail::child
