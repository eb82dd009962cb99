// The rules of one policy that permit more than another policy.
#pragma once

#include <vector>

#include "jail/policy.h"

namespace jail {

// Compares rule by rule, so a rule that says the same in other words is listed too: it errs towards
// telling too much.
std::vector<LooserRule> looser_rules(const Policy& policy, const Policy& than);

}  // namespace jail
