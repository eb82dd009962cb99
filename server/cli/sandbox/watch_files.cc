#include "server/cli/sandbox/watch_files.h"

#include <string>

#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/inside_path.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/sandbox_text.h"

namespace server::client {

int watch_files(ServerClient& client, const WatchOptions& options) {
  std::string query = options.recursive ? "?recursive=true" : "?recursive=false";
  const auto path = directory_inside(client, options.id, options.path);
  if (!path) return refused(client, path.error());
  if (!path->empty()) query += "&path=" + percent_encoded(*path);
  return follow(client, sandbox_path(options.id) + "/watch" + query,
                [&](const FollowedEvent& event) {
                  if (event.type == "end") tell_end(event.data);
                  if (options.format == Format::json) return print_json(client, event.line);
                  if (event.type == "end") return 0;
                  if (event.type == "watching") {
                    // Whoever waits for events knows now that none is missed.
                    return server::fail(0, "watching " + shown(event.data, "path"));
                  }
                  return print(client, file_event_line(event.type, event.data));
                });
}

}  // namespace server::client
