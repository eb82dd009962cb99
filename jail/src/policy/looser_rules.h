// What one policy permits beyond another.
#pragma once

#include <vector>

#include "jail/policy.h"

namespace jail {

// Compared rule by rule, so that a rule which says the same in other words is listed too: it errs
// towards telling too much.
std::vector<LooserRule> looser_rules(const Policy& policy, const Policy& than);

}  // namespace jail
