#include "server/cli/volumes/volumes_arguments.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/service/volume_requests.h"
#include "server/cli/common_arguments.h"
#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {
namespace {

// As CLI11 hands them over.
struct RawVolumeArguments {
  std::string name;
  std::string new_name;
  std::string original;
  std::vector<std::string> ids;
  std::uint32_t size = 0;
  bool json = false;
};

void add_size(CLI::App& command, std::uint32_t& size, const char* description) {
  const runtime::Field& bounds = *runtime::find_field(runtime::volume_fields(), "size_mb");
  add_number(command, "--size", size, "MB", bounds, description);
}

}  // namespace

struct VolumeCommands::State {
  RawVolumeArguments raw;
  CLI::App* volume = nullptr;
  CLI::App* create = nullptr;
  CLI::App* list = nullptr;
  CLI::App* get = nullptr;
  CLI::App* copy = nullptr;
  CLI::App* change = nullptr;
  CLI::App* remove = nullptr;

  Format format() const { return raw.json ? Format::json : Format::text; }
  Command of_new(const CLI::App& command) const;
  Command of_change() const;
  Command of_some() const;
};

Command VolumeCommands::State::of_new(const CLI::App& command) const {
  if (&command == copy && raw.original.empty()) {
    return usage("volume copy: expected the ID or the name of a volume, and a NAME for the copy");
  }
  if (raw.name.empty()) return usage("volume " + command.get_name() + ": expected a NAME for it");
  for (const std::string* const text : {&raw.name, &raw.original}) {
    if (!runtime::json::is_utf8(*text)) {
      return usage("volume " + command.get_name() + ": expected UTF-8");
    }
  }
  return VolumesOptions(CreateVolumeOptions{.name = raw.name,
                                            .size_mb = given(command, "--size", raw.size),
                                            .copy_of = raw.original,
                                            .format = format()});
}

Command VolumeCommands::State::of_change() const {
  if (raw.name.empty()) return usage("volume change: expected the ID or the name of a volume");
  ChangeVolumeOptions options{.id = raw.name,
                              .name = std::nullopt,
                              .size_mb = given(*change, "--size", raw.size),
                              .format = format()};
  if (change->count("--name") > 0) options.name = raw.new_name;
  if (!options.name && !options.size_mb) {
    return usage("volume change: expected what to change: --name, --size or both");
  }
  if (options.name && !runtime::json::is_utf8(*options.name)) {
    return usage("volume change: --name: expected UTF-8");
  }
  return VolumesOptions(std::move(options));
}

Command VolumeCommands::State::of_some() const {
  if (list->parsed()) return VolumesOptions(ListVolumesOptions{.format = format()});
  if (get->parsed()) {
    if (raw.name.empty()) return usage("volume get: expected the ID or the name of a volume");
    return VolumesOptions(GetVolumeOptions{.id = raw.name, .format = format()});
  }
  if (!are_ids(raw.ids)) {
    return usage("volume delete: expected the ID or the name of a volume, or of several");
  }
  return VolumesOptions(DeleteVolumesOptions{.ids = raw.ids});
}

VolumeCommands::VolumeCommands() : state_(std::make_unique<State>()) {}
VolumeCommands::~VolumeCommands() = default;

void VolumeCommands::define(CLI::App& app) {
  State& state = *state_;
  RawVolumeArguments& raw = state.raw;
  state.volume = app.add_subcommand("volume", "Directories that outlive sandboxes of a server");
  state.volume->require_subcommand(1);
  state.create = state.volume->add_subcommand("create", "Make an empty one, print its id");
  state.create->add_option("name", raw.name, "A name for it")->type_name("NAME");
  add_size(*state.create, raw.size, "The most that its files may take [1024]");
  add_json(*state.create, raw.json);
  state.list = state.volume->add_subcommand("list", "Show them, newest first");
  add_json(*state.list, raw.json);
  state.get = state.volume->add_subcommand("get", "Show one, and which sandboxes have it");
  state.get->add_option("id", raw.name, "Its id or its name")->type_name("ID");
  add_json(*state.get, raw.json);
  state.copy = state.volume->add_subcommand("copy", "Make one with the files of another one");
  state.copy->add_option("id", raw.original, "The id or the name of the original")->type_name("ID");
  state.copy->add_option("name", raw.name, "A name for the copy")->type_name("NAME");
  add_size(*state.copy, raw.size, "The most that its files may take [that of the original]");
  add_json(*state.copy, raw.json);
  state.change = state.volume->add_subcommand("change", "Give one another name or another size");
  state.change->add_option("id", raw.name, "Its id or its name")->type_name("ID");
  state.change->add_option("--name", raw.new_name, "Its new name")->type_name("NAME");
  add_size(*state.change, raw.size, "The most that its files may take from now on");
  add_json(*state.change, raw.json);
  state.remove = state.volume->add_subcommand("delete", "Remove some, with all in them");
  state.remove->add_option("ids", raw.ids, "Ids or names")->type_name("ID");
  state.volume->footer(std::string("sandbox create --volume NAME:PATH gives one to a sandbox.\n") +
                       help_about_servers);
}

std::optional<Command> VolumeCommands::parsed() const {
  if (!state_->volume->parsed()) return std::nullopt;
  if (state_->create->parsed()) return state_->of_new(*state_->create);
  if (state_->copy->parsed()) return state_->of_new(*state_->copy);
  if (state_->change->parsed()) return state_->of_change();
  return state_->of_some();
}

}  // namespace server::client
