// An HTTP/1.1 parser as strict as RFC 9112 allows: whatever else a server accepts, another server
// reads differently. It shares no code with the server's own parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuzz {

struct StrictRequest {
  std::string method;
  std::string target;
  bool http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers;  // names as sent, values without blanks
  std::optional<std::string> body;  // nullopt where it is malformed or incomplete

  bool has_header(std::string_view name) const;
};

struct StrictReading {
  // The requests with a well-formed head. Only the last may lack its body.
  std::vector<StrictRequest> requests;
  bool is_all = false;  // nothing follows them, and none lacks its body
};

StrictReading read_strictly(std::string_view bytes);

struct StrictAnswer {
  int status = 0;
  bool closes = false;
  bool continued = false;  // "100 Continue" came before it
};

// Parses a server's answers. Returns std::nullopt where they are not a series of complete,
// well-formed answers, each of known length, none after one that closes. `to_head` says which of
// them have no body.
std::optional<std::vector<StrictAnswer>> read_answers(std::string_view bytes,
                                                      const std::vector<bool>& to_head);

}  // namespace fuzz
