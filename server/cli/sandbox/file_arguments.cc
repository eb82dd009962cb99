#include "server/cli/sandbox/file_arguments.h"

#include <utility>

#include "runtime/service/file_url.h"
#include "server/cli/common_arguments.h"

namespace server::client {
namespace {

constexpr const char* relative_paths =
    "A PATH in a sandbox that does not begin with / begins where its processes start.";

struct PlaceInSandbox {
  std::string id;
  std::string path;
};

// A path with a colon of its own is written with a slash before it: ./a:b.
std::optional<PlaceInSandbox> place_in_sandbox(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == 0 || colon == word.npos || word.find('/') < colon) return std::nullopt;
  return PlaceInSandbox{.id = word.substr(0, colon), .path = word.substr(colon + 1)};
}

// What cp takes is no id to the other subcommands, which have the path as a word of its own.
Parsed mistaken_place(const CLI::App& command, const PlaceInSandbox& place) {
  return mistake(command, "expected ID and PATH as two words: " + place.id + " " +
                              (place.path.empty() ? "." : place.path));
}

}  // namespace

std::string absolute(std::string path) {
  if (path.starts_with('/')) return path;
  while (path.starts_with("./")) path.erase(0, 2);
  return path.empty() || path == "." ? "/workspace" : "/workspace/" + path;
}

void define_cp(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("source", raw.source, "A file, ID:PATH for one in a sandbox, or -")
      ->type_name("SRC");
  command.add_option("destination", raw.destination, "The same; one of them is in a sandbox")
      ->type_name("DST");
  command.add_flag("-r,--recursive", raw.recursive, "Directories with all that is in them");
  command.footer(relative_paths);
}

Parsed parsed_cp(const CLI::App& command, const RawSandboxArguments& raw) {
  if (raw.source.empty() || raw.destination.empty()) {
    return mistake(command, "expected SRC and DST, one of them as ID:PATH");
  }
  auto from = place_in_sandbox(raw.source);
  auto into = place_in_sandbox(raw.destination);
  if (from.has_value() == into.has_value()) {
    return mistake(command, "expected one of SRC and DST as ID:PATH, the other on this host");
  }
  CopyOptions options;
  if (from) options.direction = CopyOptions::Direction::out_of_sandbox;
  options.outside = from ? raw.destination : raw.source;
  PlaceInSandbox& inside = from ? *from : *into;
  options.id = std::move(inside.id);
  options.inside = std::move(inside.path);
  options.recursive = raw.recursive;
  return options;
}

void define_ls(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("path", raw.path, "Of a directory [where processes start]")->type_name("PATH");
  add_json(command, raw.json);
}

Parsed parsed_ls(const CLI::App& command, const RawSandboxArguments& raw) {
  if (const auto place = place_in_sandbox(raw.id)) return mistaken_place(command, *place);
  return ListFilesOptions{.id = raw.id, .path = raw.path, .format = format_of(raw)};
}

void define_rm(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("path", raw.path, "Of a file or directory")->type_name("PATH");
  command.add_flag("-r,--recursive", raw.recursive, "With all that is in it");
  command.footer(relative_paths);
}

Parsed parsed_rm(const CLI::App& command, const RawSandboxArguments& raw) {
  if (const auto place = place_in_sandbox(raw.id)) return mistaken_place(command, *place);
  if (raw.path.empty()) return mistake(command, "expected the PATH of a file");
  return RemoveFileOptions{.id = raw.id, .path = raw.path, .recursive = raw.recursive};
}

void define_url(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("path", raw.path, "Of a file")->type_name("PATH");
  command.add_flag("--write", raw.writes, "To write the file by PUT, in place of reading it");
  add_number(command, "--expires", raw.seconds, "SECONDS",
             *runtime::find_field(runtime::file_url_fields(), "expires_in_seconds"),
             "Seconds until it opens nothing any more [3600]");
  add_json(command, raw.json);
  command.footer(
      std::string(
          "Whoever has the URL can use it, for this file alone, until it expires or the sandbox\n"
          "ends. ") +
      relative_paths);
}

Parsed parsed_url(const CLI::App& command, const RawSandboxArguments& raw) {
  if (const auto place = place_in_sandbox(raw.id)) return mistaken_place(command, *place);
  if (raw.path.empty()) return mistake(command, "expected the PATH of a file");
  return FileUrlOptions{.id = raw.id,
                        .path = raw.path,
                        .writes = raw.writes,
                        .expires_seconds = given(command, "--expires", raw.seconds),
                        .format = format_of(raw)};
}

void define_watch(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("path", raw.path, "Of a directory [where processes start]")->type_name("PATH");
  command.add_flag("-r,--recursive", raw.recursive, "With all directories that are in it");
  add_json(command, raw.json);
}

Parsed parsed_watch(const CLI::App& command, const RawSandboxArguments& raw) {
  if (const auto place = place_in_sandbox(raw.id)) return mistaken_place(command, *place);
  return WatchOptions{
      .id = raw.id, .path = raw.path, .recursive = raw.recursive, .format = format_of(raw)};
}

}  // namespace server::client
