// HTTP/1.1 read as narrowly as RFC 9112 allows: whatever else a server accepts is read by another
// one in another way. Nothing here knows the server's own parser.
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
  std::optional<std::string> body;  // nothing where it is malformed or not there to its end

  bool has_header(std::string_view name) const;
};

struct StrictReading {
  // Those with a well-formed head. Only the last may lack its body.
  std::vector<StrictRequest> requests;
  bool is_all = false;  // nothing follows them, and none lacks its body
};

StrictReading read_strictly(std::string_view bytes);

struct StrictAnswer {
  int status = 0;
  bool closes = false;
  bool continued = false;  // "100 Continue" came before it
};

// What a server sent. Nothing where that is not a row of complete, well-formed answers, each of
// known length, none behind one that closes. `to_head` says which of them have no body.
std::optional<std::vector<StrictAnswer>> read_answers(std::string_view bytes,
                                                      const std::vector<bool>& to_head);

}  // namespace fuzz
