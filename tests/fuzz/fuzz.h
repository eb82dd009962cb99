// The parts that the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fuzz {

// Ends the process with a finding: `what` did not hold for this input.
[[noreturn]] void found(std::string_view what);

inline void require(bool holds, std::string_view what) {
  if (!holds) found(what);
}

// Returns whether a known fault is planted between the target and the code, which the target must
// notice. A target that notices nothing proves nothing.
bool is_planted();

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Returns the same number for the same bytes, for implicit decisions by an input.
std::uint64_t hash_of(std::string_view bytes);

// Compares the open descriptors with those at its construction.
class Descriptors {
 public:
  Descriptors() : open_(count()) {}
  void require_as_before() const { require(count() == open_, "a descriptor was left open"); }

 private:
  static int count();

  int open_;
};

// Reads an input as a series of small decisions. At its end everything is 0.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}

  bool is_empty() const { return rest_.empty(); }
  std::uint8_t byte();
  // Returns as many bytes as the next byte says, or as are left.
  std::string_view piece();

 private:
  std::string_view rest_;
};

}  // namespace fuzz
