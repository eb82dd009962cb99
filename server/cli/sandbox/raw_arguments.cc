#include "server/cli/sandbox/raw_arguments.h"

#include "runtime/service/sandbox_queries.h"
#include "server/cli/common_arguments.h"

namespace server::client {

const runtime::RequestRules& rules_of_any_server() {
  static const runtime::RequestRules rules = [] {
    runtime::RequestRules widest;
    widest.ceilings = typed_ceilings;
    widest.max_lifetime = runtime::longest_lifetime;
    widest.max_directory_mb = runtime::largest_directory_mb;
    widest.max_cpu = runtime::largest_cpu_limit;
    return widest;
  }();
  return rules;
}

void add_id(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("id", raw.id, "The sandbox's id or name")->type_name("ID");
}

void add_pid(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("pid", raw.pid, "Of the process, as ps shows it")
      ->type_name("PID")
      ->transform(number_of(*runtime::find_field(runtime::terminal_query_fields(), "pid")));
}

// An option takes one value each time, since the next word may be the sandbox's id.
void add_many(CLI::App& command, const char* name, std::vector<std::string>& values,
              const char* type, const char* description) {
  command.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

void add_number(CLI::App& command, const char* name, std::uint32_t& value, const char* type,
                const runtime::Field& bounds, const char* description) {
  const std::string_view kind = type;
  const Unit unit = kind == "SECONDS" ? Unit::whole_time : kind == "MB" ? Unit::memory : Unit::none;
  command.add_option(name, value, description)
      ->type_name(type)
      ->transform(number_of(bounds, rules_of_any_server(), unit));
}

void add_env_and_directory(CLI::App& command, RawSandboxArguments& raw) {
  add_many(command, "-e,--env", raw.env, "NAME=VALUE", "A variable for the process; may repeat");
  command.add_option("--workdir", raw.working_directory, "Where it starts [the sandbox's]")
      ->type_name("DIR");
}

std::optional<std::uint32_t> given(const CLI::App& command, const char* name, std::uint32_t value) {
  if (command.count(name) == 0) return std::nullopt;
  return value;
}

Format format_of(const RawSandboxArguments& raw) { return raw.json ? Format::json : Format::text; }

Finished mistake(const CLI::App& command, const std::string& text) {
  return usage("sandbox " + command.get_name() + ": " + text);
}

}  // namespace server::client
