// A test program enters a range of ids: as root one that belongs to nobody, for test_user as their
// owner, and as another user what /etc/subuid and /etc/subgid give.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

#include "jail/id_range.h"
#include "tests/leave_root.h"

inline jail::Result<jail::IdRange> enter_range() {
  jail::IdRangeOptions options;
  if (::geteuid() != 0) return jail::IdRange::enter(options);
  // More than one test uses at a time; by process, so that two of them do not meet.
  constexpr std::uint32_t count = 512;
  constexpr std::uint32_t places = 4096;
  const std::uint32_t place = static_cast<std::uint32_t>(::getpid()) % places;
  options.first_uid = 1'000'000'000 + place * count;
  options.first_gid = 1'100'000'000 + place * count;
  options.count = count;
  options.uid = test_user;
  options.gid = test_user;
  return jail::IdRange::enter(options);
}
