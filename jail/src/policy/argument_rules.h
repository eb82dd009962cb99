// BPF for the calls whose decision depends on their arguments.
#pragma once

#include "policy/call_rules.h"
#include "policy/filter_writer.h"

namespace jail {

// Writes what decides one call: the first of its tested rules that matches, then `otherwise`.
Step write_argument_rules(const CallRules& call, const Decision& otherwise, FilterWriter& writer);

}  // namespace jail
