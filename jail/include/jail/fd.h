// Owner of a file descriptor. In the C++ headers a plain `int` never owns one.
#pragma once

#include <utility>

namespace jail {

// Closes its descriptor when it is destroyed; it can be moved, not copied.
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
  // The descriptor, which this object still owns; -1 where it holds none.
  int get() const noexcept { return fd_; }
  // Gives up the descriptor, which the caller must close from now on.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept;  // closes what it held, and owns `fd` from now on

 private:
  int fd_ = -1;
};

}  // namespace jail
