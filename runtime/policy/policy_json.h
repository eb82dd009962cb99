// A policy file into a jail::Policy. The format is described in policies/README.md.
#pragma once

#include <string_view>

#include "jail/policy.h"

namespace runtime::policy {

// `what` names the file in errors. Errors: ErrorKind::invalid, such as
// "strict.json: rules[3].when[0].any_of[1]: unknown name \"AF_UNIXX\"".
// What needs the rules side by side (unknown calls, contradictions) is jail::compile_policy's part.
jail::Result<jail::Policy> parse_policy(std::string_view document, std::string_view what);

}  // namespace runtime::policy
