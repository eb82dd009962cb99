#include "child/guest_start.h"

#include <errno.h>
#include <sys/syscall.h>

#include "child/apply.h"
#include "child/channel.h"
#include "child/notices.h"
#include "child/raw_syscall.h"

namespace jail::child {

std::uint64_t* lower_limit(char* plan, std::uint64_t offset, std::uint64_t given) {
  auto* pair = reinterpret_cast<std::uint64_t*>(plan + offset);
  if (given < pair[1]) pair[0] = pair[1] = given;
  return pair;
}

void start_guest(const wire::PlanHeader& plan, char* base, long* slots, int report) {
  const long given = give_listener(report);
  Failure failure{-1, static_cast<std::int32_t>(-given)};
  // Where this filter is not permitted, the plan's own is not either, and that is an error.
  if (given == 0 || given == -EACCES) {
    const auto* calls = reinterpret_cast<const wire::Call*>(base + plan.calls_offset);
    failure = apply(calls + plan.init_calls, plan.guest_calls, base, slots);
  }
  send_bytes(report, &failure, sizeof failure, nullptr, 0);
  for (;;) raw::call(SYS_exit_group, 127);
}

}  // namespace jail::child
