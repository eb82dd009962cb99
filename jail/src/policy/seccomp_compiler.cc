#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "egress/policy.h"
#include "jail/policy.h"
#include "policy/looser_rules.h"
#include "policy/policy_program.h"

namespace jail {
namespace {

// A kernel that does not know the action, or an outer filter that hides it, would have something
// weaker in its place.
Result<void> require_kill_process(const Policy& policy) {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return {};
  return Error{ErrorKind::kernel,
               "compile policy \"" + policy.name + "\": ask for the action that kills a process",
               errno,
               {}};
}

// A policy that is compiled in is told by where it lies; a copy of it is compiled anew.
Result<std::vector<std::uint64_t>> known_program_of(const Policy& policy) {
  std::span<const std::uint64_t> known;
  if (&policy == &default_policy()) known = default_policy_program();
  if (&policy == &egress_policy()) known = egress_policy_program();
  if (&policy == &lookup_policy()) known = lookup_policy_program();
  if (known.empty()) return program_of(policy);
  return std::vector(known.begin(), known.end());
}

}  // namespace

Result<FilterProgram> compile_policy(const Policy& policy) {
  auto program = known_program_of(policy);
  if (!program) return program.error();
  if (const auto available = require_kill_process(policy); !available) return available.error();
  FilterProgram filter;
  filter.instructions = std::move(*program);
  filter.policy = policy.name;
  filter.looser = looser_rules(policy, default_policy());
  return filter;
}

}  // namespace jail
