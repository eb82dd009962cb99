// What the server tells while it happens, event by event.
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/json/reader.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

struct FollowedEvent {
  std::string_view type;
  const runtime::json::Value& data;
  std::string_view line;  // the whole event as it came, without a line feed
};

// What happens in a task; nothing for other events.
std::optional<runtime::agent::Event> task_event_of(const FollowedEvent& event);

// How a stream of events ends, and what is said of one that breaks off before.
struct LastEvent {
  std::string_view type = "end";
  std::string_view missing = "the server ended before the sandbox did";
  int refused = 1;  // the exit status where the server says no
};

// Asks `request` and hands over each event but heartbeats up to the last one, behind which nothing
// is read, or until a signal ends us. `on_event` returns 0, or the exit status of a failure, of
// which it has told, to go no further. `meanwhile` is called whenever something may have come, also
// to one of the descriptors that `add_awaited` adds. Returns the exit status.
int follow(ServerClient& client, ServerRequest request, const LastEvent& last,
           const std::function<int(const FollowedEvent&)>& on_event,
           const std::function<void()>& meanwhile = {},
           const std::function<void(std::vector<pollfd>&)>& add_awaited = {});
// The same of what happens in a sandbox.
int follow(ServerClient& client, const std::string& path,
           const std::function<int(const FollowedEvent&)>& on_event);

// Says on standard error why there are no more events, which is the data of "end".
void tell_end(const runtime::json::Value& data);

}  // namespace server::client
