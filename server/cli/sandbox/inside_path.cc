#include "server/cli/sandbox/inside_path.h"

#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"

namespace server::client {

jail::Result<std::string> working_directory_of(ServerClient& client, const std::string& id) {
  const auto answer = client.get(sandbox_path(id));
  if (!answer) return answer.error();
  const auto sandbox = runtime::json::parse(*answer, "answer");
  if (!sandbox) return sandbox.error();
  return runtime::json::text_member(&*sandbox, "working_directory");
}

jail::Result<std::string> directory_inside(ServerClient& client, const std::string& id,
                                           const std::string& path) {
  return path.empty() ? path : path_inside(client, id, path);
}

jail::Result<std::string> path_inside(ServerClient& client, const std::string& id,
                                      const std::string& path) {
  if (path.starts_with('/')) return path;
  auto directory = working_directory_of(client, id);
  if (!directory) return directory;
  std::string_view below = path;
  while (below.starts_with("./")) below.remove_prefix(2);
  if (below.empty() || below == ".") return directory;
  return *directory + (directory->ends_with('/') ? "" : "/") + std::string(below);
}

}  // namespace server::client
