#include "server/cli/sandbox/option_values.h"

#include "runtime/json/writer.h"
#include "server/cli/common_arguments.h"
#include "server/cli/exit_codes.h"

namespace server::client {
namespace {

// NAME:PATH or NAME:PATH:ro.
std::optional<runtime::VolumeMount> mount_of(std::string_view text) {
  runtime::VolumeMount mount;
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == text.npos) return std::nullopt;
  mount.volume = text.substr(0, colon);
  std::string_view path = text.substr(colon + 1);
  mount.is_read_only = path.ends_with(":ro");
  if (mount.is_read_only) path.remove_suffix(3);
  if (!path.starts_with('/')) return std::nullopt;
  mount.path = path;
  return mount;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> parted(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  if (equals == 0 || equals == entry.npos) return std::nullopt;
  return std::pair(entry.substr(0, equals), entry.substr(equals + 1));
}

std::optional<Finished> read_texts(const char* option, const std::vector<std::string>& entries,
                                   NamedTexts& texts) {
  for (const std::string& entry : entries) {
    auto text = parted(entry);
    if (!text) return usage(std::string(option) + " " + entry + ": expected NAME=VALUE");
    if (option == std::string_view("--env") && !is_variable_name(text->first)) {
      return usage("--env " + runtime::json::quoted(entry, 64) + ": expected NAME without blanks");
    }
    if (!runtime::json::is_utf8(entry)) return usage(std::string(option) + not_utf8);
    texts.push_back(std::move(*text));
  }
  return std::nullopt;
}

void add_secret(CLI::App& command, RawSandboxArguments& raw) {
  add_many(command, "--secret", raw.secrets, "HOST:HEADER=SOURCE",
           "A header that only the server adds to requests to HOST; SOURCE is @FILE or env:NAME");
}

// A mistake may have the value itself in it, which is not repeated.
std::optional<Finished> parse_secrets(const RawSandboxArguments& raw,
                                      std::vector<SecretOption>& secrets) {
  if (!raw.secrets.empty() && raw.allow.empty()) {
    return usage("--secret: expected --allow HOST:PORT for its host as well");
  }
  for (const std::string& text : raw.secrets) {
    auto secret = parse_secret_option(text);
    if (!secret) return usage("--secret: " + secret.error().doing);
    secrets.push_back(std::move(*secret));
  }
  return std::nullopt;
}

std::optional<Finished> parse_volumes(const std::vector<std::string>& entries,
                                      std::vector<runtime::VolumeMount>& volumes) {
  for (const std::string& entry : entries) {
    auto mount = mount_of(entry);
    if (!mount) {
      return usage("--volume " + runtime::json::quoted(entry, 64) +
                   ": expected NAME:PATH or NAME:PATH:ro, with an absolute PATH");
    }
    if (!runtime::json::is_utf8(entry)) return usage(std::string("--volume") + not_utf8);
    volumes.push_back(std::move(*mount));
  }
  return std::nullopt;
}

}  // namespace server::client
