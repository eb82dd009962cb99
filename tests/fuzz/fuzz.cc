#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace fuzz {

void found(std::string_view what) {
  const std::string line = "FOUND: " + std::string(what) + "\n";
  // The process ends by a signal whether or not anybody reads this.
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  std::abort();
}

bool is_planted() {
  static const bool planted = std::getenv("FUZZ_PLANTED") != nullptr;
  return planted;
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash ^ hash >> 32;
}

int Descriptors::count() {
  constexpr int looked_at = 64;
  int open = 0;
  for (int fd = 0; fd < looked_at; ++fd) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

std::uint8_t Choices::byte() {
  if (rest_.empty()) return 0;
  const auto next = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return next;
}

std::string_view Choices::piece() {
  const std::size_t size = std::min<std::size_t>(byte(), rest_.size());
  const std::string_view piece = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return piece;
}

}  // namespace fuzz
