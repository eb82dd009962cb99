#include "child/network_pool.h"

#include <errno.h>
#include <fcntl.h>
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

// Asks about the loopback interface and reads the first answer. Returns its size or a negative
// errno.
long ask(LinkRequest& request, void* answer, std::size_t size) {
  const long socket = raw::call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return socket;
  request.header.nlmsg_len = sizeof request;
  request.link.ifi_index = loopback_index;
  long result =
      raw::call(SYS_sendto, socket, raw::address(&request), sizeof request, MSG_NOSIGNAL, 0, 0);
  // The kernel answers before sendto() returns.
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

// Counters in which everything shows that a guest does to the network of its namespace: connections
// that may wait to time out appear as packets of the interface, and failed attempts, of which a
// guest may make any number, in the counters of the protocols.
constexpr const char* traces[] = {
    "/proc/self/net/dev",        "/proc/self/net/snmp",         "/proc/self/net/snmp6",
    "/proc/self/net/netstat",    "/proc/self/net/fib_triestat", "/proc/self/net/rt6_stats",
    "/proc/self/net/ipv6_route", "/proc/self/net/xfrm_stat",    "/proc/self/net/ip6_flowlabel",
};

// The counters of the first namespace before anybody was in it. Negative: they cannot be read, and
// no namespace is used again.
constexpr std::size_t max_counters = 24u << 10;
char new_counters[max_counters];
long size_of_new = 0;

long read_into(const char* path, char* buffer, std::size_t size) {
  const long fd = raw::call(SYS_openat, AT_FDCWD, raw::address(path), O_RDONLY | O_CLOEXEC);
  if (fd == -ENOENT) return 0;  // the kernel has no such file
  if (fd < 0) return fd;
  std::size_t filled = 0;
  long got = 0;
  do {
    got = raw::call(SYS_read, fd, raw::address(buffer + filled), static_cast<long>(size - filled));
    if (got > 0) filled += static_cast<std::size_t>(got);
  } while (got > 0 && filled < size);
  raw::call(SYS_close, fd);
  return got < 0 ? got : static_cast<long>(filled);
}

long read_counters(char* text) {
  std::size_t filled = 0;
  for (const char* path : traces) {
    const long got = read_into(path, text + filled, max_counters - filled);
    if (got < 0) return got;
    filled += static_cast<std::size_t>(got);
  }
  return filled < max_counters ? static_cast<long>(filled) : -ENOSPC;
}

bool is_as_new() {
  char text[max_counters];
  return size_of_new > 0 && read_counters(text) == size_of_new &&
         __builtin_memcmp(text, new_counters, static_cast<std::size_t>(size_of_new)) == 0;
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
    // Without the pidfd nobody would know when the namespace is free again.
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

// The kernel lets init go last: when it is gone, so is every process of the jail.
void NetworkPool::look_for_ended() {
  // Empty places are left out, since poll() refuses more entries than RLIMIT_NOFILE.
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
    if (join(entry.network) == 0 && is_as_new()) continue;
    raw::call(SYS_close, entry.network);
    entry.network = -1;
  }
}

long NetworkPool::make() {
  current_ = nullptr;
  long done = raw::call(SYS_unshare, CLONE_NEWNET);
  if (done == 0) done = bring_loopback_up();
  if (done < 0) return done;
  if (size_of_new == 0) size_of_new = read_counters(new_counters);
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
