// Living jails of a pool, and the zygotes that are kept for them.
#include <poll.h>

#include <algorithm>

#include "parent/jail_state.h"
#include "pool/pool_state.h"

namespace jail {
namespace {

// Two processes pass through the jail while a third is forked beside what is there.
constexpr std::uint32_t min_processes = 4;
// Each holds the memory that its modules need. A living jail whose zygote is gone can still execute
// programs.
constexpr std::size_t kept_zygotes = 3;

bool is_readable(int fd) {
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) > 0;
}

Error no_zygote() {
  return {ErrorKind::unsupported, "make a living jail of a template without a zygote", 0, {}};
}

}  // namespace

void Pool::State::keep_for_living_jails(std::shared_ptr<Host> old) {
  replaced.push_back(std::move(old));
  drop_replaced_hosts();
  if (replaced.size() > kept_zygotes) replaced.pop_front();
}

void Pool::State::drop_replaced_hosts() {
  std::erase_if(replaced, [](const std::shared_ptr<Host>& old) {
    return old->for_living.use_count() == 1 || is_readable(old->processes.zygote_fd());
  });
}

// It is no lease: it lives for long, and no waiting jail could have taken its place.
Result<Jail> Pool::State::launch_living(State& state, const Living& living) {
  Lock lock(state.mutex);
  // Held from now on: another zygote may take over while the jail is made.
  auto kept = state.host == nullptr ? nullptr : state.host->for_living;
  auto jail = state.make(lock, Waited::for_it, -1, &living);
  if (jail) Jail::State::keep(*jail, std::move(kept));
  return jail;
}

Result<Jail> Pool::launch_living() {
  State& state = *state_;
  if (!state.is_forked()) return no_zygote();
  if (state.plans.living_refused) return *state.plans.living_refused;
  return State::launch_living(state, {.plan = state.plans.living,
                                      .limits = state.spec.jail.limits,
                                      .max_limits = state.spec.jail.max_limits,
                                      .max_memory_bytes = state.spec.max_memory_bytes,
                                      .max_cpu = state.spec.max_cpu});
}

Result<Jail> Pool::launch_living(const Limits& limits, const std::optional<Limits>& max_limits) {
  State& state = *state_;
  if (!state.is_forked()) return no_zygote();
  if (limits.processes < min_processes) return invalid("limits.processes: below 4");
  JailSpec spec = state.plans.living_spec;
  spec.limits = limits;
  spec.max_limits = max_limits;
  auto plan = compile_living_in_host(spec, state.launcher->host);
  if (!plan) return plan.error();
  auto shared = state.living_plans.share(std::move(*plan));
  if (!shared) return shared.error();
  return State::launch_living(state, {.plan = std::move(*shared),
                                      .limits = limits,
                                      .max_limits = max_limits,
                                      .max_memory_bytes = limits.memory_bytes,
                                      .max_cpu = limits.cpu});
}

}  // namespace jail
