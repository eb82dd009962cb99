// Reads a policy file into a jail::Policy. The format is described in policies/README.md.
#pragma once

#include <string_view>
#include <vector>

#include "jail/policy.h"
#include "runtime/json/place.h"

namespace runtime::policy {

// `what` names the file in errors. Errors: ErrorKind::invalid, such as "strict.json:
// rules[3].when[0].any_of[1]: unknown name \"AF_UNIXX\"". jail::compile_policy() finds unknown
// calls and rules that contradict each other.
jail::Result<jail::Policy> parse_policy(std::string_view document, std::string_view what);

// The same for a part of a larger document: a whole policy, and a list of rules, which the member
// `name` of `object` must be; `object` is at `place`.
jail::Result<jail::Policy> policy_from(const json::Value& value, const json::Place& place);
jail::Result<std::vector<jail::Rule>> rules_from(const json::Object& object,
                                                 const json::Place& place, std::string_view name);

}  // namespace runtime::policy
