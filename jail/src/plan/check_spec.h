// Checks whether a spec can be compiled at all, from the spec alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jail/result.h"
#include "jail/spec.h"
#include "plan/plan.h"

namespace jail {

// Errors: ErrorKind::invalid or refused, naming the field of the spec.
Result<void> check_spec(const JailSpec& spec, const HostFacts& host);

// Check the parts that each process of a living jail has of its own.
Result<void> check_command(const std::vector<std::string>& argv);
Result<void> check_environment(const std::vector<std::string>& env);

// Refuses a living jail, into which processes are spawned.
Result<void> check_one_program(const JailSpec& spec);

// Checks the limits, those of a run as well.
Result<void> check_limits(const Limits& limits);

// Checks those that Jail::change_limits() can change against what they may be at most.
Result<void> check_within(const Limits& limits, const Limits& most);

// Checks binds, volumes and devices (check_extras.cc).
Result<void> check_extras(const JailSpec& spec);

// The name of an entry of a list in errors: "volumes[0]".
std::string item(const char* list, std::size_t index);

}  // namespace jail
