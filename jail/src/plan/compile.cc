#include <linux/filter.h>
#include <linux/sched.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jail/egress.h"
#include "plan/concerns.h"

namespace jail {
namespace {

Error invalid(std::string doing) { return {ErrorKind::invalid, std::move(doing), 0, {}}; }

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

// Absolute, without "", "." and ".." in it: a target is walked piece by piece.
bool is_plain_path(const std::string& path) {
  if (path.size() < 2 || path[0] != '/' || has_nul(path)) return false;
  for (std::size_t at = 1; at <= path.size();) {
    std::size_t end = path.find('/', at);
    if (end == std::string::npos) end = path.size();
    const std::string piece = path.substr(at, end - at);
    if (piece.empty() || piece == "." || piece == "..") return false;
    at = end + 1;
  }
  return true;
}

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
  return {};
}

Result<void> check_network(const Network& network) {
  if (network.kind != Network::Kind::egress) {
    if (network.rules.empty()) return {};
    return invalid("network: rules, but no egress");
  }
  for (std::size_t i = 0; i < network.rules.size(); ++i) {
    const Result<void> rule = check_egress_rule(network.rules[i]);
    if (!rule) {
      Error error = rule.error();
      error.doing = "network.rules[" + std::to_string(i) + "]: " + error.doing;
      return error;
    }
  }
  return {};
}

Result<void> check_limits(const Limits& limits) {
  if (limits.wall.count() <= 0) return invalid("limits.wall: not above 0");
  if (limits.cpu.count() <= 0) return invalid("limits.cpu: not above 0");
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

Result<void> check(const JailSpec& spec, const HostFacts& host) {
  if (host.uid == 0) {
    return Error{ErrorKind::refused, "run a jail as host uid 0", 0,
                 "RLIMIT_NPROC does not hold root: drop to another user first"};
  }
  if (spec.argv.empty()) return invalid("argv: empty");
  if (!is_plain_path(spec.argv[0])) {
    return invalid("argv: \"" + spec.argv[0] + "\" is not a plain absolute path");
  }
  for (const std::string& argument : spec.argv) {
    if (has_nul(argument)) return invalid("argv: an argument with a NUL in it");
  }
  for (const std::string& entry : spec.env) {
    const std::size_t equals = entry.find('=');
    if (has_nul(entry) || equals == 0 || equals == std::string::npos) {
      return invalid("env: \"" + entry + "\" is not NAME=value");
    }
  }
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
  if (Result<void> network = check_network(spec.network); !network) return network;
  return check_limits(spec.limits);
}

constexpr std::uint64_t own_namespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

void add_start_place(Builder& builder, const JailSpec& spec) {
  builder.call(JAIL_CALL(umask), {Builder::value(022)}, "set the umask");
  builder.call(JAIL_CALL(chdir), {builder.text(spec.working_directory)},
               "change to " + spec.working_directory);
}

void add_execve(Builder& builder, const JailSpec& spec, const std::vector<std::string>& env) {
  builder.call(JAIL_CALL(execve),
               {builder.text(spec.argv[0]), Builder::address(builder.store_pointers(spec.argv)),
                Builder::address(builder.store_pointers(env))},
               "start " + spec.argv[0]);
}

// Where a host has put what it took from outside.
JailSpec as_seen_in_host(JailSpec spec) {
  for (ReadOnlyBind& bind : spec.root.binds) bind.source = bind.target;
  return spec;
}

Result<Plan> finished(const Builder& builder, Plan plan) {
  if (builder.out_of_slots()) {
    return invalid("root.binds: more than the " + std::to_string(wire::slot_count) +
                   " descriptors of a plan can hold");
  }
  return plan;
}

}  // namespace

HostFacts HostFacts::of_this_host(std::uint32_t uid, std::uint32_t gid) {
  HostFacts facts;
  facts.uid = uid;
  facts.gid = gid;
  facts.last_capability = static_cast<int>(cap_max_bits()) - 1;
  facts.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    facts.hard_limits.push_back(limit.rlim_max);
  }
  return facts;
}

Result<Plan> compile(const JailSpec& spec, const HostFacts& host) {
  if (Result<void> checked = check(spec, host); !checked) return checked.error();
  Plan plan;
  plan.clone_flags = own_namespaces | CLONE_NEWCGROUP;
  plan.page_bytes = host.page_bytes;
  Builder builder(plan);
  add_identity(builder, host);
  add_oom_offer(builder);
  add_session(builder, spec);
  add_network(builder, spec.network);
  add_mounts(builder, spec);
  add_init_privileges(builder, host);
  add_untouchable(builder);
  builder.begin_guest();
  add_streams(builder);
  add_start_place(builder, spec);
  add_limits(builder, plan, spec, host);
  add_guest_filter(builder, spec);
  add_execve(builder, spec, with_way_out(spec.env, spec.network));
  return finished(builder, std::move(plan));
}

Result<Plan> compile_started(const JailSpec& spec, const HostFacts& host) {
  Result<Plan> plan = compile(spec, host);
  if (!plan) return plan;
  const std::string directory = spec.working_directory + "/";
  const std::string& path = spec.argv.back();
  const std::string name = path.starts_with(directory) ? path.substr(directory.size()) : "";
  if (name.empty() || name.find('/') != name.npos) {
    return invalid("argv: \"" + path + "\" is not a file in " + spec.working_directory);
  }
  plan->kind = wire::plan_started;
  plan->program = Builder(*plan).intern(name);
  return plan;
}

Result<Plan> compile_host(const JailSpec& spec, const HostFacts& host) {
  if (Result<void> checked = check(spec, host); !checked) return checked.error();
  Plan plan;
  plan.kind = wire::plan_host;
  // Without a cgroup namespace: from inside one, a jail's cgroup could not be entered where cgroup2
  // is mounted nsdelegate.
  plan.clone_flags = own_namespaces;
  plan.page_bytes = host.page_bytes;
  Builder builder(plan);
  add_identity(builder, host);
  add_oom_offer(builder);
  add_session(builder, spec);
  add_network(builder, Network::loopback());  // the way out is each jail's own
  add_mounts_of_host(builder, spec);
  builder.begin_guest();
  add_zygote_streams(builder);
  add_start_place(builder, spec);
  add_zygote_limits(builder, spec, host);
  add_zygote_privileges(builder);
  std::vector<std::string> env = with_way_out(spec.env, spec.network);
  // The last one, so that the environment which the kernel shows can end before it.
  env.push_back("LD_PRELOAD=/proc/self/fd/" + std::to_string(wire::zygote_library_fd));
  add_execve(builder, spec, env);
  return finished(builder, std::move(plan));
}

Result<Plan> compile_forked(const JailSpec& spec, const HostFacts& host, Lever network_reuse) {
  // Ids inside of the host are what a guest sees already: this user namespace maps them once more.
  HostFacts inside = host;
  if (Result<void> checked = check(spec, host); !checked) return checked.error();
  inside.uid = guest_uid;
  inside.gid = guest_gid;
  Plan plan;
  plan.kind = wire::plan_forked;
  plan.clone_flags = own_namespaces | CLONE_NEWCGROUP;
  // Its host has joined one for it.
  const bool joins = network_reuse == Lever::on && fits_reused_network(spec.network);
  if (joins) plan.clone_flags &= ~std::uint64_t{CLONE_NEWNET};
  plan.page_bytes = host.page_bytes;
  Builder builder(plan);
  add_identity(builder, inside);
  add_session(builder, spec);
  if (!joins) add_network(builder, spec.network);
  // A root of its own, from what the host shows: a lock on the host's files and directories would
  // reach from jail to jail.
  add_mounts_in_host(builder, as_seen_in_host(spec));
  // Init stays touchable until its guest has joined its namespaces.
  add_init_privileges(builder, inside);
  builder.begin_guest();
  add_forked_streams(builder);
  add_start_place(builder, spec);
  add_limits(builder, plan, spec, host);
  add_forked_privileges(builder, host);
  add_guest_filter(builder, spec);
  return finished(builder, std::move(plan));
}

}  // namespace jail
