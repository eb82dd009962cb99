// Counters by labels, such as runs by language and outcome.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// Thread-safe. Labels must come from short lists of our own, never from a client: each new
// combination is kept for ever.
class Counters {
 public:
  using Labels = std::vector<std::string>;

  void add(std::initializer_list<std::string_view> labels);
  std::map<Labels, std::uint64_t> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<Labels, std::uint64_t> counts_;
};

}  // namespace runtime
