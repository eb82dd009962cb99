// BPF for the calls whose decision depends on their arguments.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "policy/call_rules.h"

namespace jail {

// Appends the instructions that decide one call: each tested rule in turn, then `otherwise`. Every
// way through them ends in a return.
void append_argument_block(const CallRules& call, const Decision& otherwise,
                           std::vector<sock_filter>& program);

}  // namespace jail
