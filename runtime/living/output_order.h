// The order in which the processes of one sandbox print.
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
  // Takes places for `count` bytes that are printed now, and returns the first of them. The caller
  // must show the bytes before it releases the lock that readers of its log need.
  std::uint64_t take(std::size_t count);
  // The first place that is not taken yet.
  std::uint64_t end() const;

  // Waits until something is printed at `place` or after it, at the latest until `deadline`, or
  // until `cancel` is requested. Runs on the awaiting executor, which must run one handler at a
  // time.
  boost::asio::awaitable<void> wait_beyond(std::uint64_t place, Bell::Time deadline,
                                           Cancel cancel) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t end_ = 0;
  mutable Bells readers_;
};

}  // namespace runtime
