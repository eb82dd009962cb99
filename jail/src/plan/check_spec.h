// Whether a spec can be compiled at all, by what it says alone.
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

// The parts that a process of a living jail has of its own.
Result<void> check_command(const std::vector<std::string>& argv);
Result<void> check_environment(const std::vector<std::string>& env);

// Refuses a jail that processes are spawned into.
Result<void> check_one_program(const JailSpec& spec);

// The part that is about limits, those of a run as well.
Result<void> check_limits(const Limits& limits);

// The part that is about binds, volumes and devices (check_extras.cc).
Result<void> check_extras(const JailSpec& spec);

// How errors name an entry of a list: "volumes[0]".
std::string item(const char* list, std::size_t index);

}  // namespace jail
