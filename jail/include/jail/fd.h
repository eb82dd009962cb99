// Owner of a file descriptor. A plain `int` anywhere in this library only looks.
#pragma once

#include <utility>

namespace jail {

// Closes the descriptor that it holds when it goes; moved, never copied.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  // No operator bool: 0 is a valid descriptor and would read as false.
  bool valid() const noexcept { return fd_ >= 0; }
  // Still this object's to close; -1 where it holds none.
  int get() const noexcept { return fd_; }
  // From now on the caller's to close.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept;  // closes what it held

 private:
  int fd_ = -1;
};

}  // namespace jail
