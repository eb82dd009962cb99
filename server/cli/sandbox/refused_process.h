// What a process in a sandbox was refused, where nothing but its own words tell it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// The end of what was written.
class Tail {
 public:
  void add(std::string_view bytes);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Says which limit of the sandbox a process seems to have met that ended by itself, or what its
// network refused, by the end of its standard error. Asks the server for the limits, or for the
// connections that were refused. `process`: what the server says of it.
void tell_refused(ServerClient& client, const std::string& id, const runtime::json::Value& process,
                  std::string_view error_tail);

}  // namespace server::client
