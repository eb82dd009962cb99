#include "child/guest_start.h"

#include <errno.h>
#include <sys/mman.h>

#include <initializer_list>

#include "child/arithmetic.h"
#include "child/channel.h"

namespace jail::child {

std::uint64_t* lower_limit(char* plan, std::uint64_t offset, std::uint64_t given) {
  auto* pair = reinterpret_cast<std::uint64_t*>(plan + offset);
  if (given < pair[1]) pair[0] = pair[1] = given;
  return pair;
}

long lower_limit_of(int pid, long resource, std::uint64_t most, SoftLimit soft) {
  std::uint64_t pair[2];  // soft and hard
  const long done = raw::call(SYS_prlimit64, pid, resource, 0, raw::address(pair));
  if (done != 0) return done;
  const std::uint64_t hard = smaller(pair[1], most);
  const std::uint64_t wanted = soft == SoftLimit::follows ? hard : smaller(pair[0], hard);
  if (pair[0] == wanted && pair[1] == hard) return 0;
  pair[0] = wanted;
  pair[1] = hard;
  return raw::call(SYS_prlimit64, pid, resource, raw::address(pair), 0);
}

long lower_planned_limit(long pid, int resource, const char* plan, std::uint64_t offset,
                         std::uint64_t given) {
  if (given >= reinterpret_cast<const std::uint64_t*>(plan + offset)[1]) return 0;
  const std::uint64_t pair[2] = {given, given};
  return raw::call(SYS_prlimit64, pid, resource, raw::address(pair), 0);
}

long map_command(int fd, long* slots) {
  wire::Command probe{};
  if (raw::call(SYS_pread64, fd, raw::address(&probe), sizeof probe, 0) != sizeof probe ||
      probe.magic != wire::plan_magic) {
    return -EINVAL;
  }
  const long base = raw::call(SYS_mmap, 0, static_cast<long>(probe.size), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE, fd, 0);
  if (base < 0 && base > -4096) return base;
  for (const std::uint64_t list : {probe.arguments, probe.variables}) {
    for (auto* place = reinterpret_cast<long*>(base + static_cast<long>(list)); *place != 0;
         ++place) {
      *place += base;
    }
  }
  slots[wire::slot_program_path] = base + static_cast<long>(probe.path);
  slots[wire::slot_start_directory] = base + static_cast<long>(probe.start_directory);
  slots[wire::slot_arguments] = base + static_cast<long>(probe.arguments);
  slots[wire::slot_variables] = base + static_cast<long>(probe.variables);
  return 0;
}

void start_guest(const wire::PlanHeader& plan, char* base, long* slots, int report) {
  const long given = give_listener(report);
  Failure failure{-1, static_cast<std::int32_t>(-given)};
  // Where this filter is not permitted, the plan's own filter is not permitted either, and that is
  // an error.
  if (given == 0 || given == -EACCES) {
    const auto* calls = reinterpret_cast<const wire::Call*>(base + plan.calls_offset);
    failure = apply(calls + plan.init_calls, plan.guest_calls, base, slots);
  }
  fail_start(report, failure);
}

void fail_start(int report, const Failure& failure) {
  send_bytes(report, &failure, sizeof failure, nullptr, 0);
  for (;;) raw::call(SYS_exit_group, 127);
}

StartReport take_start_report(int& start_report, Notices& notices, Failure& failure) {
  // Takes all that is there: the sender's end may be seen at the same moment.
  long got = 0;
  for (;;) {
    int fd = -1;
    std::size_t fds = 0;
    got = receive(start_report, &failure, sizeof failure, &fd, 1, &fds, MSG_DONTWAIT);
    if (got == -EAGAIN || got == -EINTR) return StartReport::nothing_yet;
    if (fds == 0) break;
    notices.listen(fd);
  }
  raw::call(SYS_close, start_report);
  start_report = -1;  // poll() skips a negative descriptor
  return got == sizeof failure ? StartReport::failed : StartReport::running;
}

}  // namespace jail::child
