// The bounds on connections to ports of sandboxes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "runtime/refusals/refusal.h"

namespace runtime {

// Counts the connections of all sandboxes, and those of each owner's. Thread-safe.
class PortPlaces : public std::enable_shared_from_this<PortPlaces> {
 public:
  static std::shared_ptr<PortPlaces> create(std::uint32_t max_connections,
                                            std::uint32_t max_per_owner);

  // Takes a place, which is given back when the result is destroyed. Refuses where this owner has
  // as many as it may have, or all together are too many.
  std::variant<std::shared_ptr<void>, Refusal> take(const std::string& owner);

 private:
  PortPlaces(std::uint32_t max_connections, std::uint32_t max_per_owner)
      : max_connections_(max_connections), max_per_owner_(max_per_owner) {}
  void give_back(const std::string& owner);

  const std::uint32_t max_connections_;
  const std::uint32_t max_per_owner_;
  std::mutex mutex_;
  std::uint32_t all_ = 0;
  std::map<std::string, std::uint32_t> of_owners_;  // of those that have any
};

}  // namespace runtime
