// Signals that the owner of a jail sends to its guest.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "child/raw_syscall.h"

namespace jail::child {

// Keeps them until they can be passed on. One that waits already is the same signal.
class GuestSignals {
 public:
  void add(int number) {
    if (number >= 1 && number <= max_number) waiting_ |= std::uint64_t{1} << (number - 1);
  }

  // To the process group that `guest` leads, a child that is not reaped.
  void pass_on(long guest) {
    for (int number = 1; waiting_ != 0; ++number, waiting_ >>= 1) {
      if ((waiting_ & 1) != 0) raw::call(SYS_kill, -guest, number);
    }
  }

 private:
  static constexpr int max_number = 64;

  std::uint64_t waiting_ = 0;  // number n is bit n - 1
};

}  // namespace jail::child
