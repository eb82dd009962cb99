// The files that an image converter sees and the system calls that it may make: enough to turn one
// file into another, and nothing else.
#pragma once

#include <jail/policy.h>
#include <jail/result.h>
#include <jail/spec.h>

#include <string>

namespace confinement {

// An allow-list of its own, a third of the length of jail::default_policy(): no socket, no child,
// no thread, no signal to anybody, no change of a name or a mode.
jail::Policy policy();

// A jail that runs `converter`, a program of the host, as "/usr/bin/convert input output".
// Errors: invalid (the policy), refused (no such program).
jail::Result<jail::JailSpec> spec(const std::string& converter, const std::string& input,
                                  const std::string& output);

}  // namespace confinement
