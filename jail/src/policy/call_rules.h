// The rules of a policy, checked and sorted by system call.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "jail/policy.h"

namespace jail {

struct CallRules {
  std::vector<const Rule*> tested;  // in the order of the policy
  const Rule* rest = nullptr;       // the call's rule without tests, if it has one

  // The decision where no tested rule matches.
  const Decision& otherwise(const Policy& policy) const {
    return rest == nullptr ? policy.otherwise : rest->decision;
  }
};

// By system call number. Points into `policy`.
using CallTable = std::map<int, CallRules>;

// Refuses every rule that cannot mean what it says: an unknown call, no reason, a test that can
// never hold or never fail, two rules that disagree about one call.
Result<CallTable> sort_rules(const Policy& policy);

// The value that a seccomp filter returns for a decision.
std::uint32_t seccomp_action(const Decision& decision) noexcept;

}  // namespace jail
