// A string that must not be printed: API keys, URLs that may hold a password.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace runtime {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  bool empty() const noexcept { return value_.empty(); }
  // The only way to the text. Whoever calls it sends it where it belongs and nowhere else.
  const std::string& reveal() const noexcept { return value_; }

  // Whether `shown` is the text. Takes the same time for every wrong text of one length; an empty
  // secret is nobody's.
  bool is(std::string_view shown) const noexcept {
    if (value_.empty()) return false;
    // Volatile, so that no compiler ends the loop early once a difference is certain.
    volatile unsigned char difference = shown.size() == value_.size() ? 0 : 1;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const char other = value_[i % value_.size()];
      difference = static_cast<unsigned char>(difference | (shown[i] ^ other));
    }
    return difference == 0;
  }

 private:
  std::string value_;
};

}  // namespace runtime
