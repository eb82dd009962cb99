// Bounds the number of callers that follow the events of sandboxes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "runtime/refusals/refusal.h"
#include "runtime/service/principal.h"

namespace runtime {

// Thread-safe. Must outlive the places that it gives.
class Followers : public std::enable_shared_from_this<Followers> {
 public:
  // The bounds leave room for other connections and for other keys. Where no keys are configured
  // everybody counts as one key.
  static constexpr std::uint32_t most = 128;
  static constexpr std::uint32_t max_per_key = 32;

  // A place, taken as long as it is held.
  using Place = std::shared_ptr<void>;
  // The refusal says that all places are taken.
  std::variant<Place, Refusal> take(const Principal& principal);

 private:
  void give_back(std::optional<std::size_t> key);

  std::mutex mutex_;
  std::uint32_t all_ = 0;
  std::map<std::optional<std::size_t>, std::uint32_t> of_keys_;
};

}  // namespace runtime
