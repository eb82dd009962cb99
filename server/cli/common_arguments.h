// What several subcommands take alike, from CLI11 into values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/service/field.h"
#include "server/cli/arguments.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace server {

// A mistake on the command line. parse_arguments() adds where to read more.
Finished usage(const std::string& text);

// The operator's ceilings are for clients. Whoever types --timeout and --memory is the operator.
inline constexpr runtime::Ceilings typed_ceilings{.timeout = std::chrono::hours(24),
                                                  .memory_limit_mb = 1u << 20};

// What a number of the command line may have behind it: nothing; a time (90, 500ms, 2m, 1h, 1d),
// which becomes seconds, and may have to be whole ones; an amount of memory (512, 512m, 2g), which
// becomes megabytes of 1024 * 1024 bytes, as everywhere in this program.
enum class Unit { none, time, whole_time, memory };

// For Option::transform(): a number within the bounds of `field`, a whole one where that is an
// integer. Every number of the command line is read by it, so that all mistakes read alike.
CLI::Validator number_of(const runtime::Field& field, const runtime::RequestRules& rules = {},
                         Unit unit = Unit::none);
// For Option::check(): one of the words that `field` may be.
CLI::Validator word_of(const runtime::Field& field, const runtime::RequestRules& rules = {});

// Whether a variable can be called that: the kernel takes more, but it would be an option or a
// typing error here.
bool is_variable_name(std::string_view name);

// As CLI11 hands them over; they outlive its parse().
struct ProgramArguments {
  double timeout = 0;
  std::uint32_t memory = 0;
  std::vector<std::string> files;
};

struct ArtifactArguments {
  std::vector<std::string> artifacts;
  bool overwrite = false;
};

struct HostArguments {
  std::string user;
  std::string rootfs;
  std::string cgroup;
  bool require_cgroup = false;
};

void add_program_arguments(CLI::App& command, ProgramArguments& raw);
// Says what is wrong with them, or nothing.
std::optional<Finished> read_program_arguments(const CLI::App& command, const ProgramArguments& raw,
                                               ProgramOptions& options);

void add_artifact_arguments(CLI::App& command, ArtifactArguments& raw);
// Says what is wrong with them, or nothing.
std::optional<Finished> read_artifact_arguments(const ArtifactArguments& raw, bool is_json,
                                                ArtifactOptions& options);

// What there are too many of for the field of programs that is called `field`, or nothing.
std::optional<Finished> check_count(const std::string& option, std::string_view field,
                                    std::size_t count);

// Says which of them is no rule for egress, or nothing.
std::optional<Finished> check_allow(const std::vector<std::string>& rules);

// For a command that prints what a server answers, as text or as it is.
void add_json(CLI::App& command, bool& json);
// Whether there are ids, and each of them is one.
bool are_ids(const std::vector<std::string>& ids);
// The end of the help of a command that asks a server.
extern const char* const help_about_servers;

void add_server(CLI::App& command, std::string& url);
// Says what of a command line that names a server, if it does, is no business of one, or nothing.
std::optional<Finished> check_server(const CLI::App& command, const std::string& url);

void add_root_and_user(CLI::App& command, HostArguments& raw);
void add_host_arguments(CLI::App& command, HostArguments& raw);  // root and user among them
void read_host_arguments(const CLI::App& command, const HostArguments& raw, HostOptions& options);

}  // namespace server
