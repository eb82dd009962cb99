// Wakes those who wait for the next event of an owner.
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

// Thread-safe. Nothing is kept for who reads slowly: news is that there is more to read.
class EventNews {
 public:
  // How much news there was of an owner so far.
  std::uint64_t count(std::string_view owner) const;
  void ring(std::string_view owner);
  void ring_all();
  // Until there was more news than `seen`, at the latest at `deadline`, or when `cancel` is
  // requested. On the executor of who awaits it, which does one thing after the other.
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
