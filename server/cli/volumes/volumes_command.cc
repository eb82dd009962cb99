#include "server/cli/volumes/volumes_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/writer.h"
#include "server/api/query.h"
#include "server/cli/exec_files.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/show_answer.h"

namespace server::client {
namespace {

namespace json = runtime::json;

std::string volume_path(std::string_view id) { return "/v1/volumes/" + percent_encoded(id); }

std::string used_text(const json::Value& volume) {
  const json::Value* const bytes = json::member(volume, "used_bytes");
  if (bytes == nullptr || bytes->as_integer() == nullptr) return "-";
  return size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(*bytes->as_integer(), 0)));
}

// "ID:PATH", and "ro" where it is read alone, of each sandbox.
std::string sandboxes_of(const json::Value& volume) {
  std::string text;
  const json::Array* const sandboxes = array_in(volume, "sandboxes");
  if (sandboxes == nullptr || sandboxes->empty()) return "-";
  for (const json::Value& sandbox : *sandboxes) {
    if (!text.empty()) text += ", ";
    text += shown(sandbox, "id") + ":" + shown(sandbox, "path");
    if (shown(sandbox, "read_only") == "true") text += ":ro";
  }
  return text;
}

std::string volumes_text(const json::Array& volumes, std::size_t width) {
  const std::vector<Column> columns = {{.title = "NAME"},
                                       {.title = "SIZE"},
                                       {.title = "USED"},
                                       {.title = "CREATED (UTC)"},
                                       {.title = "SANDBOXES", .min_width = 12}};
  std::vector<std::vector<std::string>> rows;
  for (const json::Value& volume : volumes) {
    rows.push_back({shown(volume, "name"), shown(volume, "size_mb") + " MB", used_text(volume),
                    shown_time(volume, "created_at"), sandboxes_of(volume)});
  }
  return table(columns, rows, width);
}

std::string volume_text(const json::Value& volume) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += std::string(name) + ": " + value + "\n";
  };
  add("id", shown(volume, "id"));
  add("name", shown(volume, "name"));
  add("created", shown_moment(volume, "created_at"));
  add("size", shown(volume, "size_mb") + " MB");
  add("used", used_text(volume));
  add("files", shown(volume, "files"));
  add("sandboxes", sandboxes_of(volume));
  return text;
}

struct DispatchVolumes {
  ServerClient& client;

  int operator()(const CreateVolumeOptions& options) const {
    json::Writer writer;
    writer.begin_object().key("name").string(options.name);
    if (options.size_mb) writer.key("size_mb").integer(*options.size_mb);
    if (!options.copy_of.empty()) writer.key("copy_of").string(options.copy_of);
    writer.end_object();
    const auto answer =
        client.ask({.method = "POST", .path = "/v1/volumes", .body = std::move(writer).take()});
    return show(client, answer, options.format,
                [](const json::Value& volume) { return shown(volume, "id") + "\n"; });
  }
  int operator()(const ListVolumesOptions& options) const {
    return show_pages(client, "/v1/volumes?limit=200", "volumes", options.format, volumes_text);
  }
  int operator()(const GetVolumeOptions& options) const {
    return show(client, client.get(volume_path(options.id)), options.format, volume_text);
  }
  // One that cannot be deleted does not keep the others from it.
  int operator()(const DeleteVolumesOptions& options) const {
    int exit_code = 0;
    for (const std::string& id : options.ids) {
      const auto answer = client.ask({.method = "DELETE", .path = volume_path(id)});
      if (answer) continue;
      exit_code = refused(client, answer.error());
      if (exit_code != exit_refused) break;
    }
    return exit_code;
  }
};

}  // namespace

int volumes(const VolumesOptions& options, const runtime::Environment& environment) {
  auto address = server_address(environment);
  if (!address) return server::fail(exit_usage, address.error().message());
  auto signals = Signals::block();
  if (!signals) return server::fail(exit_own_failure, signals.error().message());
  ServerClient client(std::move(*address), *signals);
  return std::visit(DispatchVolumes{client}, options);
}

}  // namespace server::client
