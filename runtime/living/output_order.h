// In which order the processes of one sandbox print.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/living/bell.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Thread-safe. A place is a number of bytes from the beginning, of all processes together.
class OutputOrder {
 public:
  // The place of the first of `count` bytes that are printed now, which have the places after it.
  // Whoever takes it shows them before it lets go of the lock that readers of its log need.
  std::uint64_t take(std::size_t count);
  // The first place that nobody has taken.
  std::uint64_t end() const;

  // Until something is printed at `place` or after it, at the latest at `deadline`, or when
  // `cancel` is requested. On the executor of who awaits it, which does one thing after the other.
  boost::asio::awaitable<void> wait_beyond(std::uint64_t place, Bell::Time deadline,
                                           Cancel cancel) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t end_ = 0;
  mutable Bells readers_;
};

}  // namespace runtime
