// Wakes callers that wait for the next event of an owner.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/living/bell.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Thread-safe. Stores no events for slow readers: the news is only that there is more to read.
class EventNews {
 public:
  // The number of news about an owner so far.
  std::uint64_t count(std::string_view owner) const;
  void ring(std::string_view owner);
  void ring_all();
  // Waits until there is more news than `seen`, at the latest until `deadline`, or until `cancel`
  // is requested. Runs on the awaiting executor, which must run one handler at a time.
  boost::asio::awaitable<void> wait(std::string owner, std::uint64_t seen, Bell::Time deadline,
                                    Cancel cancel);

 private:
  struct Owner {
    std::uint64_t count = 0;
    Bells readers;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Owner, std::less<>> owners_;  // as many as there are keys
};

}  // namespace runtime
