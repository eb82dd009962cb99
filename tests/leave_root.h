// A test program that is started as root becomes a user made for it, as the server does.
#pragma once

#include <grp.h>
#include <unistd.h>

inline constexpr uid_t test_user = 60801;

// Returns false and sets errno when it is still root.
inline bool leave_root() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(test_user, test_user, test_user) == 0 &&
         ::setresuid(test_user, test_user, test_user) == 0;
}
