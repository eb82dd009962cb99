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
  // The only way to the text. The caller must send it only where it belongs.
  const std::string& reveal() const noexcept { return value_; }

  // Returns whether `shown` is the text, in the same time for every wrong text of one length. An
  // empty secret equals no text.
  bool is(std::string_view shown) const noexcept {
    if (value_.empty()) return false;
    // The variable is volatile so that no compiler ends the loop as soon as a difference is
    // certain.
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
