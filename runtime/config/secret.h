// A string that must not be printed: API keys, URLs that may hold a password.
#pragma once

#include <string>
#include <utility>

namespace runtime {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  bool empty() const noexcept { return value_.empty(); }
  // The only way to the text. Whoever calls it sends it where it belongs and nowhere else.
  const std::string& reveal() const noexcept { return value_; }

 private:
  std::string value_;
};

}  // namespace runtime
