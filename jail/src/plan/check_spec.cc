#include "plan/check_spec.h"

#include <linux/filter.h>

#include <algorithm>
#include <chrono>

#include "jail/egress.h"
#include "plan/path_rules.h"

namespace jail {
namespace {

Result<void> check_root(const Root& root) {
  for (const ReadOnlyBind& bind : root.binds) {
    if (bind.source.empty() || bind.source[0] != '/' || has_nul(bind.source)) {
      return invalid("root.binds: source \"" + bind.source + "\" is not an absolute path");
    }
    if (!is_plain_path(bind.target)) {
      return invalid("root.binds: target \"" + bind.target + "\" is not a plain absolute path");
    }
  }
  for (const TextFile& file : root.files) {
    if (!is_plain_path(file.target)) {
      return invalid("root.files: target \"" + file.target + "\" is not a plain absolute path");
    }
  }
  for (const Link& link : root.links) {
    if (!is_plain_path(link.target) || link.points_to.empty() || has_nul(link.points_to)) {
      return invalid("root.links: target \"" + link.target + "\" is not a plain absolute path");
    }
  }
  for (const std::string& path : root.hidden) {
    const auto shows = [&](const ReadOnlyBind& bind) {
      return bind.kind == NodeKind::directory && path != bind.target &&
             is_at_or_below(path, bind.target);
    };
    if (!is_plain_path(path) || std::none_of(root.binds.begin(), root.binds.end(), shows)) {
      return invalid("root.hidden: \"" + path + "\" is not a path in a directory of root.binds");
    }
  }
  return {};
}

Result<void> check_network(const Network& network) {
  const bool out = network.kind == Network::Kind::egress;
  if (!out && !network.rules.empty()) return invalid("network.rules: given, but no egress");
  if (!network.why.empty() && network.why.size() != network.rules.size()) {
    return invalid("network.why: not as many as network.rules");
  }
  for (std::size_t i = 0; i < network.rules.size(); ++i) {
    const Result<void> rule = check_egress_rule(network.rules[i]);
    if (rule) continue;
    Error error = rule.error();
    error.doing = item("network.rules", i) + ": " + error.doing;
    return error;
  }
  return {};
}

Result<void> check_program(const JailSpec& spec) {
  if (spec.life == Life::until_ended) {
    // These belong to each process, in its ProcessSpec.
    if (!spec.argv.empty()) return invalid("argv: given for a jail that lives until it is ended");
    if (!spec.env.empty()) return invalid("env: given for a jail that lives until it is ended");
    if (spec.terminal) return invalid("terminal: given for a jail that lives until it is ended");
    return {};
  }
  if (spec.terminal && (spec.terminal->columns == 0 || spec.terminal->rows == 0)) {
    return invalid("terminal: no columns or no rows");
  }
  if (Result<void> command = check_command(spec.argv); !command) return command;
  return check_environment(spec.env);
}

}  // namespace

Result<void> check_command(const std::vector<std::string>& argv) {
  if (argv.empty()) return invalid("argv: empty");
  if (!is_plain_path(argv[0])) {
    return invalid("argv: \"" + argv[0] + "\" is not a plain absolute path");
  }
  for (const std::string& argument : argv) {
    if (has_nul(argument)) return invalid("argv: an argument with a NUL in it");
  }
  return {};
}

Result<void> check_environment(const std::vector<std::string>& env) {
  for (const std::string& entry : env) {
    const std::size_t equals = entry.find('=');
    if (has_nul(entry) || equals == 0 || equals == std::string::npos) {
      return invalid("env: \"" + entry + "\" is not NAME=value");
    }
  }
  return {};
}

Result<void> check_one_program(const JailSpec& spec) {
  if (spec.life != Life::one_program)
    return invalid("life: the jails of a pool run one program each");
  if (spec.terminal) return invalid("terminal: the jails of a pool have none");
  return {};
}

std::string item(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Result<void> check_limits(const Limits& limits) {
  // This keeps sums of times from overflowing, in nanoseconds too.
  constexpr std::chrono::hours century{100 * 366 * 24};
  if (limits.wall.count() <= 0) return invalid("limits.wall: not above 0");
  if (limits.wall > century) return invalid("limits.wall: more than a century");
  if (limits.cpu.count() <= 0) return invalid("limits.cpu: not above 0");
  if (limits.cpu > century) return invalid("limits.cpu: more than a century");
  if (limits.cpu_percent == 0) return invalid("limits.cpu_percent: 0");
  if (limits.memory_bytes < (1u << 20)) return invalid("limits.memory_bytes: below 1 MiB");
  if (limits.processes == 0) return invalid("limits.processes: 0, but the guest is one");
  if (limits.open_files < 8) return invalid("limits.open_files: below 8");
  // The kernel reads size=0 and nr_inodes=0 as "no limit".
  if (limits.workspace_bytes == 0) return invalid("limits.workspace_bytes: 0");
  if (limits.workspace_inodes == 0) return invalid("limits.workspace_inodes: 0");
  if (limits.tmp_bytes == 0) return invalid("limits.tmp_bytes: 0");
  if (limits.tmp_inodes == 0) return invalid("limits.tmp_inodes: 0");
  return {};
}

Result<void> check_within(const Limits& limits, const Limits& most) {
  const auto above = [](const char* name, std::uint64_t limit, std::uint64_t bound) {
    return invalid(std::string("limits.") + name + ": " + std::to_string(limit) +
                   ", above max_limits, " + std::to_string(bound));
  };
  const struct {
    const char* name;
    std::uint64_t limit;
    std::uint64_t bound;
  } bounds[] = {{"memory_bytes", limits.memory_bytes, most.memory_bytes},
                {"processes", limits.processes, most.processes},
                {"cpu_percent", limits.cpu_percent, most.cpu_percent},
                {"file_bytes", limits.file_bytes, most.file_bytes},
                {"workspace_bytes", limits.workspace_bytes, most.workspace_bytes},
                {"tmp_bytes", limits.tmp_bytes, most.tmp_bytes}};
  for (const auto& each : bounds) {
    if (each.limit > each.bound) return above(each.name, each.limit, each.bound);
  }
  return {};
}

Result<void> check_spec(const JailSpec& spec, const HostFacts& host) {
  if (host.uid == 0) {
    return Error{ErrorKind::refused, "run a jail as host uid 0", 0,
                 "RLIMIT_NPROC does not hold root: drop to another user first"};
  }
  if (Result<void> program = check_program(spec); !program) return program;
  if (!is_plain_path(spec.working_directory)) {
    return invalid("working_directory: \"" + spec.working_directory +
                   "\" is not a plain absolute path");
  }
  if (spec.hostname.empty() || spec.hostname.size() > 64 || has_nul(spec.hostname)) {
    return invalid("hostname: not 1 to 64 characters");
  }
  if (spec.filter.instructions.empty() || spec.filter.instructions.size() > BPF_MAXINSNS) {
    return invalid("filter: not 1 to " + std::to_string(BPF_MAXINSNS) + " instructions");
  }
  if (Result<void> root = check_root(spec.root); !root) return root;
  if (Result<void> extras = check_extras(spec); !extras) return extras;
  if (host.ids_of_jails.count > 0 && !spec.volumes.empty()) {
    return Error{ErrorKind::unsupported, "show a volume to a jail with a user of its own", 0,
                 "files of the host can belong to no such user: launch it without IdRange"};
  }
  if (Result<void> network = check_network(spec.network); !network) return network;
  if (Result<void> limits = check_limits(spec.limits); !limits) return limits;
  if (!spec.max_limits) return {};
  if (Result<void> limits = check_limits(*spec.max_limits); !limits) return limits;
  return check_within(spec.limits, *spec.max_limits);
}

}  // namespace jail
