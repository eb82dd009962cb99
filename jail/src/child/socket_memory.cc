#include "child/socket_memory.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"
#include "child/socket_answers.h"

namespace jail::child {
namespace {

// The buffers of so few sockets cannot fill a host's memory.
constexpr std::uint64_t few_sockets = 4;
constexpr std::uint64_t pauses_after_asking = 4;
// The size of the socket itself, its inode and its file.
constexpr std::uint64_t bytes_of_a_socket = 4u << 10;
// Where the kernel does not tell the sizes, this number of sockets count as having empty buffers,
// and all further ones as full. A full buffer counts as twice the default, since one message may be
// as large as the buffer and is accepted while there is any room.
constexpr std::uint64_t sockets_without_buffer = 96;
constexpr std::uint64_t bytes_of_full_buffers = 2 * 212'992;

// Returns false where the kernel does not tell.
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

// For internet sockets the kernel goes through those of the whole machine, so it is asked about a
// kind only where there is a socket of that kind. `sockstat` is the text of that file.
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
  // sock_diag also lists internet connections that only time out and are no sockets any more, so
  // the number of internet sockets is taken from the counts.
  std::uint64_t listed = told.sockets;
  for (const auto& kind : kinds) {
    std::uint64_t count = 0;
    if (!find_number(kind.text, kind.count, count) || count == 0) continue;
    is_told = add_all(InternetQuestion(kind.family, kind.protocol), told) && is_told;
    listed += count;
  }
  // A closed sender is no longer listed, but what it has sent is kept until it is read.
  const std::uint64_t free = is_told ? few_sockets : sockets_without_buffer;
  const std::uint64_t hidden = is_told ? beyond(sockets, listed) : sockets;
  return sockets * bytes_of_a_socket + told.bytes + beyond(hidden, free) * bytes_of_full_buffers;
}

}  // namespace jail::child
