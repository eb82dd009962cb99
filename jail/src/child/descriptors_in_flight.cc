#include "child/descriptors_in_flight.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/arithmetic.h"
#include "child/channel.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

long limit_open_files(const std::uint64_t (&limits)[2]) {
  return raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, raw::address(limits), 0);
}

}  // namespace

bool has_more_in_flight_than(std::uint64_t count) {
  int ends[2] = {-1, -1};
  if (raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends)) !=
      0) {
    return true;
  }
  std::uint64_t before[2] = {};
  bool has_more = true;
  if (raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw::address(before)) == 0) {
    const std::uint64_t compared[2] = {smaller(count, before[1]), before[1]};
    const char byte = 0;
    has_more = limit_open_files(compared) != 0 ||
               send_bytes(ends[0], &byte, sizeof byte, &ends[0], 1, MSG_DONTWAIT) < 0;
    limit_open_files(before);
  }
  // What was sent is dropped with its socket.
  raw::call(SYS_close, ends[0]);
  raw::call(SYS_close, ends[1]);
  return has_more;
}

}  // namespace jail::child
