// The conditions of a request on the version of a file (RFC 9110, section 13).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace server {

// Describes the file as it was when it was opened: a guest may write to it meanwhile.
std::string etag_of(const struct stat& status);

class FileConditions {
 public:
  explicit FileConditions(const RequestHead& head);

  // Whether the request has any.
  bool are_there() const noexcept { return match_ || none_match_; }

  enum class Verdict : std::uint8_t {
    met,
    failed,
    not_modified,  // of a request that reads: the client has this version
  };
  enum class Use : std::uint8_t { read, change };
  // `etag` is that of the file; nullopt: there is none.
  Verdict judge(const std::optional<std::string>& etag, Use use) const;

  // The refusal of a request whose conditions have failed.
  static Response refusal(const std::optional<std::string>& etag);

 private:
  std::optional<std::string> match_;
  std::optional<std::string> none_match_;
};

}  // namespace server
