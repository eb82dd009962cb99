// A request of a program in a sandbox to the gateway, parsed more strictly than a server has to:
// the other side parses it again, and both must understand the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace runtime {

using HeaderLines = std::vector<std::pair<std::string, std::string>>;

struct GuestRequest {
  std::string method;
  std::string place;    // HOST or HOST:PORT, the first part of the path, as it was written
  std::string path;     // the rest, which begins with a slash, and the query
  HeaderLines headers;  // those that go to the other side
  std::uint64_t body_bytes = 0;
  bool awaits_continue = false;  // the body comes once the head has been answered with 100
};

// The answer where a request is not served.
struct GatewayRefusal {
  int status = 400;
  std::string reason;  // for the program and for the log
};

inline constexpr std::size_t max_guest_head_bytes = 64u << 10;
inline constexpr std::size_t max_guest_headers = 100;
inline constexpr std::uint64_t max_guest_body_bytes = 16u << 20;

// Returns whether a line in the head, which may be incomplete, ends with a line feed alone.
bool has_bare_line_feed(std::string_view bytes);

// Reads the whole head, up to and including its empty line.
std::variant<GuestRequest, GatewayRefusal> read_guest_head(std::string_view head);

}  // namespace runtime
