// What the server tells while it happens, event by event.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

struct FollowedEvent {
  std::string_view type;
  const runtime::json::Value& data;
  std::string_view line;  // the whole event as it came, without a line feed
};

// Asks for `path` and hands over each event but heartbeats, "end" among them, until there are no
// more or a signal ends us. `on_event` returns 0, or the exit status of a failure, of which it has
// told, to go no further. Returns the exit status.
int follow(ServerClient& client, const std::string& path,
           const std::function<int(const FollowedEvent&)>& on_event);

// Says on standard error why there are no more events, which is the data of "end".
void tell_end(const runtime::json::Value& data);

}  // namespace server::client
