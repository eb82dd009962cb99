// The operation that a signed URL of a file allows.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace runtime {

struct FileGrant {
  enum class Operation : std::uint8_t { read, write } operation = Operation::read;
  std::string path;                    // absolute, without %-encoding
  std::chrono::sys_seconds expires{};  // after which it allows nothing
};

}  // namespace runtime
