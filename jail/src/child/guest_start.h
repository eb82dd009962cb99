// From a child of init to the program that it executes.
#pragma once

#include <cstdint>

#include "child/wire.h"

namespace jail::child {

// A pair of soft and hard limit in the plan, made what the owner gives where that is less.
std::uint64_t* lower_limit(char* plan, std::uint64_t offset, std::uint64_t given);

// Runs the plan's guest list, which ends in execve. `report` is a socket to init: it first carries
// the listener of notices.h, then the Failure of a call that failed, and its end tells that execve
// has succeeded, since every descriptor but the streams is close-on-exec.
[[noreturn]] void start_guest(const wire::PlanHeader& plan, char* base, long* slots, int report);

}  // namespace jail::child
