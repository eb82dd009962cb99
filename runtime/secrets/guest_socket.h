// The gateway's end of a connection to a program in a sandbox, used by one thread that blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

class GuestSocket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `fd` is a non-blocking socket of the caller's.
  explicit GuestSocket(int fd) noexcept : fd_(fd) {}

  enum class Read : std::uint8_t { some, ended, timed_out };
  // Appends at most `most` bytes, as soon as there are any.
  Read read_some(std::string& into, std::size_t most, Time deadline) const;

  // Returns false where the program is gone, or takes nothing for too long.
  bool write(std::string_view bytes) const;

  // Returns true while the program waits. A program that ends its side, or that sends more than its
  // request, does not.
  bool is_waiting() const;

  // Ends the gateway's side, and reads for a moment what still comes: closing at once would take
  // the answer away from a program that still sends.
  void finish() const;

  // Ends the connection at once, seen by the program as a reset: some clients take the orderly end
  // of a connection for the end of a reply that is not whole. May be called from any thread, also
  // while another one uses the socket.
  static void reset(int fd) noexcept;
  void reset() const noexcept { reset(fd_); }

  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace runtime
