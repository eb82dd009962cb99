#include "server/cli/sandbox/sandbox_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "runtime/llm/http_text.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/sandbox/copy_file.h"
#include "server/cli/sandbox/copy_tree.h"
#include "server/cli/sandbox/inside_path.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/sandbox_text.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

std::string last_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_directory_here(const std::string& path) {
  struct stat entry {};
  return path != "-" && ::stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode);
}

jail::Error refused(std::string text) { return {jail::ErrorKind::refused, std::move(text), 0, {}}; }

// `path` itself, or, of a directory that is there, a place in it under the name of what is copied,
// as cp of this host does it.
jail::Result<std::string> place_in(const std::string& path, bool is_directory,
                                   const std::string& source) {
  if (!is_directory) return path;
  const std::string name = source == "-" ? "" : last_name(source);
  if (name.empty() || name == "." || name == "..") {
    return refused(path + " is a directory; expected the name of a file");
  }
  return path + (path.ends_with('/') ? "" : "/") + name;
}

// How much was left out.
using Copied = jail::Result<std::size_t>;

Copied none_left_out(jail::Result<void> copied) {
  if (!copied) return std::move(copied).error();
  return std::size_t{0};
}

Copied copy_out(ServerClient& client, const CopyOptions& options) {
  const auto entry = stat_inside(client, options.id, options.inside);
  if (!entry) return entry.error();
  const auto path = place_in(options.outside, is_directory_here(options.outside), options.inside);
  if (!path) return path.error();
  if (entry->type != "directory") {
    return none_left_out(copy_file_out(client, options.id, options.inside, *path, entry->mode));
  }
  if (!options.recursive || *path == "-") {
    return refused(options.inside + " is a directory; --recursive copies it");
  }
  return copy_tree_out(client, options.id, options.inside, *path);
}

Copied copy_in(ServerClient& client, const CopyOptions& options) {
  const bool is_tree = is_directory_here(options.outside);
  if (is_tree && !options.recursive) {
    return refused(options.outside + " is a directory; --recursive copies it");
  }
  bool is_directory = options.inside.ends_with('/');
  if (!is_directory) {
    const auto entry = stat_inside(client, options.id, options.inside);
    // What is not there is made, and what else is wrong is said by the request that follows.
    if (!entry && entry.error().kind != jail::ErrorKind::refused) return entry.error();
    is_directory = entry && entry->type == "directory";
  }
  const auto path = place_in(options.inside, is_directory, options.outside);
  if (!path) return path.error();
  if (is_tree) return copy_tree_in(client, options.id, options.outside, *path);
  return none_left_out(copy_file_in(client, options.id, options.outside, *path));
}

}  // namespace

int copy(ServerClient& client, CopyOptions options) {
  const bool is_inward = options.direction == CopyOptions::Direction::into_sandbox;
  auto inside = path_inside(client, options.id, options.inside);
  if (!inside) return fail(inside.error(), client.signals(), exit_refused);
  options.inside = std::move(*inside);
  const auto copied = is_inward ? copy_in(client, options) : copy_out(client, options);
  if (copied) return *copied == 0 ? 0 : exit_refused;
  if (copied.error().sys_errno == EPIPE) return fail_to_write(client.signals(), EPIPE);
  if (is_unusable(copied.error()) && client.signals().ending() == 0) {
    return server::fail(exit_usage, copied.error().message());
  }
  return fail(copied.error(), client.signals(), exit_refused);
}

int list_files(ServerClient& client, const ListFilesOptions& options) {
  const auto path = path_inside(client, options.id, options.path);
  if (!path) return fail(path.error(), client.signals(), exit_refused);
  const auto answer = client.get(file_path(options.id, *path) + "?list=true");
  if (!answer) return fail(answer.error(), client.signals(), exit_refused);
  if (options.format == Format::json) return print_json(client, *answer);
  const auto value = json::parse(*answer, "answer");
  const json::Value* const entries = value ? json::member(*value, "entries") : nullptr;
  if (entries == nullptr || entries->as_array() == nullptr) return fail_unreadable();
  const int printed = print(client, files_text(*entries->as_array(), table_width(STDOUT_FILENO)));
  const json::Value* const truncated = json::member(*value, "truncated");
  if (truncated != nullptr && truncated->as_bool() != nullptr && *truncated->as_bool()) {
    server::fail(0, "there are more files than the server lists");
  }
  return printed;
}

int remove_file(ServerClient& client, const RemoveFileOptions& options) {
  const auto path = path_inside(client, options.id, options.path);
  if (!path) return fail(path.error(), client.signals(), exit_refused);
  const auto answer = client.ask(
      {.method = "DELETE",
       .path = file_path(options.id, *path) + (options.recursive ? "?recursive=true" : "")});
  if (answer) return 0;
  return fail(answer.error(), client.signals(), exit_refused);
}

int show_file_url(ServerClient& client, const FileUrlOptions& options) {
  if (!json::is_utf8(options.path)) return server::fail(exit_usage, "PATH: expected UTF-8");
  if (const int none = fail_without_address(client)) return none;
  const auto path = path_inside(client, options.id, options.path);
  if (!path) return refused(client, path.error());
  json::Writer writer;
  writer.begin_object().key("path").string(*path);
  writer.key("operation").string(options.writes ? "write" : "read");
  if (options.expires_seconds) {
    writer.key("expires_in_seconds").integer(*options.expires_seconds);
  }
  writer.end_object();
  const auto answer = client.ask({.method = "POST",
                                  .path = sandbox_path(options.id) + "/sign",
                                  .body = std::move(writer).take()});
  if (!answer) return refused(client, answer.error());
  if (options.format == Format::json) return print_json(client, *answer);
  const auto value = json::parse(*answer, "answer");
  const std::string url = value ? json::text_member(&*value, "url") : "";
  if (url.empty()) return fail_unreadable();
  // What is in front of the server is known here, and may be unknown to the server.
  const std::string target = url.substr(runtime::llm::origin_of(url).size());
  return print(client, client.address().url + plain_line(target, target.size()) + "\n");
}

}  // namespace server::client
