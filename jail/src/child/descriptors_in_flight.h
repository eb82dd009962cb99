// How many descriptors a user of the host has in flight. Those in a socket that is itself in flight
// are in no file of /proc, but the kernel counts all of a user together, and compares the count
// with the limit on open files of who sends one (unix(7), ETOOMANYREFS).
#pragma once

#include <cstdint>

namespace jail::child {

// Returns whether the user of this process has more than `count` in flight. A count that cannot be
// compared, for want of a socket, is one that is exceeded.
bool has_more_in_flight_than(std::uint64_t count);

}  // namespace jail::child
