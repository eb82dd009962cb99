#include "server/cli/volumes/volumes_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/writer.h"
#include "server/api/query.h"
#include "server/cli/exec_files.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/field_words.h"
#include "server/cli/sandbox/sandbox_names.h"
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

using Names = std::map<std::string, std::string>;

// "NAME:PATH", and "ro" where it is read alone, of each sandbox; one that has no name has its id.
std::string sandboxes_of(const json::Value& volume, const Names& names) {
  std::string text;
  const json::Array* const sandboxes = array_in(volume, "sandboxes");
  if (sandboxes == nullptr || sandboxes->empty()) return "-";
  for (const json::Value& sandbox : *sandboxes) {
    if (!text.empty()) text += ", ";
    const std::string id = shown(sandbox, "id");
    const auto name = names.find(id);
    text += (name == names.end() ? id : name->second) + ":" + shown(sandbox, "path");
    if (shown(sandbox, "read_only") == "true") text += ":ro";
  }
  return text;
}

std::string volumes_text(const json::Array& volumes, const Names& names, std::size_t width) {
  const std::vector<Column> columns = {{.title = "NAME"},
                                       {.title = "SIZE"},
                                       {.title = "USED"},
                                       {.title = "CREATED (UTC)"},
                                       {.title = "SANDBOXES", .min_width = 12}};
  std::vector<std::vector<std::string>> rows;
  for (const json::Value& volume : volumes) {
    rows.push_back({shown(volume, "name"), shown(volume, "size_mb") + " MB", used_text(volume),
                    shown_time(volume, "created_at"), sandboxes_of(volume, names)});
  }
  return table(columns, rows, width);
}

std::string volume_text(const json::Value& volume, const Names& names) {
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
  add("sandboxes", sandboxes_of(volume, names));
  return text;
}

// How a command takes the name that a volume is to have.
enum class NewName : std::uint8_t { as_word, as_option };

// The answer, or what the server said to `name` in the words of the command line.
jail::Result<std::string> in_words(ServerClient& client, jail::Result<std::string> answer,
                                   const std::string& name, NewName how = NewName::as_word) {
  if (answer) return answer;
  jail::Error error = answer.error();
  const bool is_told = how == NewName::as_option && error.doing.starts_with("--name: ");
  if (!is_told) error.doing = refusal_of_a_volume(std::move(error.doing), name);
  error.doing = with_sandbox_name(client, std::move(error.doing));
  return error;
}

bool has_sandboxes(const json::Value& volume) {
  const json::Array* const sandboxes = array_in(volume, "sandboxes");
  return sandboxes != nullptr && !sandboxes->empty();
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
    return show(client, in_words(client, answer, options.copy_of), options.format,
                [](const json::Value& volume) { return shown(volume, "id") + "\n"; });
  }
  int operator()(const ListVolumesOptions& options) const {
    const auto text = [&](const json::Array& volumes, std::size_t width) {
      const bool have_sandboxes = std::ranges::any_of(volumes, has_sandboxes);
      return volumes_text(volumes, have_sandboxes ? sandbox_names(client) : Names(), width);
    };
    return show_pages(client, "/v1/volumes?limit=200", "volumes", options.format, text);
  }
  int operator()(const GetVolumeOptions& options) const {
    const auto answer = client.get(volume_path(options.id));
    return show(client, in_words(client, answer, options.id), options.format,
                [&](const json::Value& volume) {
                  return volume_text(volume,
                                     has_sandboxes(volume) ? sandbox_names(client) : Names());
                });
  }
  int operator()(const ChangeVolumeOptions& options) const {
    json::Writer writer;
    writer.begin_object();
    if (options.name) writer.key("name").string(*options.name);
    if (options.size_mb) writer.key("size_mb").integer(*options.size_mb);
    writer.end_object();
    const auto answer = client.ask(
        {.method = "PATCH", .path = volume_path(options.id), .body = std::move(writer).take()});
    return show(client, in_words(client, answer, options.id, NewName::as_option), options.format,
                [&](const json::Value& volume) {
                  return volume_text(volume,
                                     has_sandboxes(volume) ? sandbox_names(client) : Names());
                });
  }
  // One that cannot be deleted does not keep the others from it.
  int operator()(const DeleteVolumesOptions& options) const {
    int exit_code = 0;
    for (const std::string& id : options.ids) {
      const auto asked = client.ask({.method = "DELETE", .path = volume_path(id)});
      if (asked) continue;
      const auto answer = in_words(client, asked, id);
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
