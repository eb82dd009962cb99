#include <fcntl.h>
#include <linux/sched.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "child/landlock.h"
#include "jail/launcher.h"
#include "plan/check_spec.h"
#include "plan/concerns.h"
#include "plan/hidden.h"

namespace jail {
namespace {

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

// The values that differ from process to process are in slots that init fills for each one, see
// Command.
void add_spawned_guest(Builder& builder, Plan& plan, const JailSpec& spec, const HostFacts& host,
                       const std::optional<SlotRef>& ruleset = std::nullopt) {
  add_streams(builder);
  add_controlling_terminal(builder);
  builder.call(JAIL_CALL(umask), {Builder::value(022)}, "set the umask");
  builder.call(JAIL_CALL(chdir), {Builder::slot({wire::slot_start_directory})},
               "change to the working directory");
  add_limits(builder, plan, spec, host);
  add_domain(builder, ruleset, host);
  add_guest_filter(builder, spec);
  builder.call(JAIL_CALL(execve),
               {Builder::slot({wire::slot_program_path}), Builder::slot({wire::slot_arguments}),
                Builder::slot({wire::slot_variables})},
               "start the program");
}

void add_one_guest(Builder& builder, Plan& plan, const JailSpec& spec, const HostFacts& host,
                   const std::optional<SlotRef>& ruleset) {
  add_streams(builder);
  if (spec.terminal) add_controlling_terminal(builder);
  add_start_place(builder, spec);
  add_limits(builder, plan, spec, host);
  add_domain(builder, ruleset, host);
  add_guest_filter(builder, spec);
  add_execve(builder, spec, with_way_out(spec.env, spec.network));
}

std::string joined_with_nul(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) (joined += text) += '\0';
  return joined;
}

// Rewrites the sources to where a host has put what it took from outside.
JailSpec as_seen_in_host(JailSpec spec) {
  for (auto* binds : {&spec.root.binds, &spec.binds}) {
    for (ReadOnlyBind& bind : *binds) bind.source = bind.target;
  }
  for (Volume& volume : spec.volumes) volume.source = volume.target;
  return spec;
}

// Returns the bytes that a plan usually takes: those of its files, and some for all else.
std::size_t room_for(const JailSpec& spec) {
  std::size_t bytes = 32u << 10;
  for (const TextFile& file : spec.root.files) bytes += file.text.size();
  return bytes;
}

Result<Plan> finished(const Builder& builder, Plan plan) {
  if (builder.out_of_slots()) {
    return invalid("root.binds, binds, volumes and devices: more than the " +
                   std::to_string(wire::slot_count) + " descriptors of a plan can hold");
  }
  return plan;
}

std::optional<std::uint64_t> number_in(const char* path) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[32] = {};
  if (!file.valid() || ::read(file.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text, text + sizeof text, number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

LandlockReach landlock_reach() noexcept {
  const auto version = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock::ask_for_version));
  if (version < landlock::min_version) return {};
  return {.version = version, .signals = (landlock::known_scopes(version) & landlock::signal) != 0};
}

HostFacts HostFacts::of_this_host(std::uint32_t uid, std::uint32_t gid) {
  HostFacts facts;
  facts.uid = uid;
  facts.gid = gid;
  facts.last_capability = static_cast<int>(cap_max_bits()) - 1;
  facts.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  facts.landlock = landlock_reach().version;
  facts.max_mappings = number_in("/proc/sys/vm/max_map_count").value_or(facts.max_mappings);
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    facts.hard_limits.push_back(limit.rlim_max);
  }
  return facts;
}

Result<Plan> compile(const JailSpec& given, const HostFacts& host) {
  if (Result<void> checked = check_spec(given, host); !checked) return checked.error();
  if (given.max_limits && given.life != Life::until_ended) {
    return invalid("max_limits: only the limits of a living jail can be changed");
  }
  std::optional<JailSpec> changed;
  if (!given.root.hidden.empty()) changed = with_shown_again(given);
  const JailSpec& spec = changed ? *changed : given;
  Plan plan;
  plan.clone_flags = own_namespaces | CLONE_NEWCGROUP;
  plan.page_bytes = host.page_bytes;
  plan.max_mappings = host.max_mappings;
  plan.bytes.reserve(room_for(spec));
  Builder builder(plan);
  add_identity(builder, plan, host);
  add_oom_score(builder);
  add_session(builder, spec);
  add_network(builder, spec.network);
  add_mounts(builder, spec);
  plan.workspace_is_on_disk = has_workspace_on_disk(spec);
  const bool lives = spec.life == Life::until_ended;
  const auto ruleset = add_ruleset(builder, spec, host, GuestProgram::executed);
  add_init_privileges(builder, host);
  add_not_dumpable(builder);
  // Processes in domains of their own could neither signal nor see each other in /proc: those of a
  // living jail have init's.
  if (lives) add_domain(builder, ruleset, host);
  builder.begin_guest();
  if (lives) {
    plan.kind = wire::plan_living;
    add_spawned_guest(builder, plan, spec, host);
  } else {
    add_one_guest(builder, plan, spec, host, ruleset);
  }
  return finished(builder, std::move(plan));
}

// Each process is in a Landlock domain of its own, as every guest of a zygote is: see plan.h.
Result<Plan> compile_living_in_host(const JailSpec& given, const HostFacts& host) {
  HostFacts inside = host;
  if (Result<void> checked = check_one_program(given); !checked) return checked.error();
  if (Result<void> checked = check_spec(given, host); !checked) return checked.error();
  if (landlock::known_scopes(host.landlock) == 0) {
    return Error{ErrorKind::unsupported, "make a living jail of a template", 0,
                 "it takes Landlock of Linux 6.12: processes in it could stop one that is forked"};
  }
  const JailSpec spec = with_shown_again(given);
  inside.uid = guest_uid;
  inside.gid = guest_gid;
  Plan plan;
  plan.kind = wire::plan_living;
  plan.clone_flags = own_namespaces | CLONE_NEWCGROUP;
  plan.page_bytes = host.page_bytes;
  plan.max_mappings = host.max_mappings;
  Builder builder(plan);
  add_identity(builder, plan, inside);
  add_session(builder, spec);
  add_network(builder, spec.network);
  add_mounts_in_host(builder, as_seen_in_host(spec));
  // Made once and entered by each process: each time that is a domain of its own.
  const auto ruleset = add_ruleset(builder, spec, host, GuestProgram::executed);
  add_init_privileges(builder, inside);
  add_not_dumpable(builder);
  builder.begin_guest();
  add_spawned_guest(builder, plan, spec, host, ruleset);
  return finished(builder, std::move(plan));
}

Result<Plan> compile_started(const JailSpec& spec, const std::vector<std::string>& env_at_start,
                             const HostFacts& host) {
  if (Result<void> checked = check_one_program(spec); !checked) return checked.error();
  JailSpec at_start = spec;
  if (!env_at_start.empty()) at_start.env = env_at_start;
  Result<Plan> plan = compile(at_start, host);
  if (!plan) return plan;
  const std::string directory = spec.working_directory + "/";
  const std::string& path = spec.argv.back();
  const std::string name = path.starts_with(directory) ? path.substr(directory.size()) : "";
  if (name.empty() || name.find('/') != name.npos) {
    return invalid("argv: \"" + path + "\" is not a file in " + spec.working_directory);
  }
  plan->kind = wire::plan_started;
  Builder builder(*plan);
  plan->program = builder.intern(name);
  if (!env_at_start.empty()) {
    if (auto checked = check_environment(spec.env); !checked) return checked.error();
    const std::string shown = joined_with_nul(with_way_out(spec.env, spec.network));
    if (joined_with_nul(with_way_out(env_at_start, spec.network)).size() != shown.size()) {
      return invalid("env_at_start: it takes more bytes than jail.env or fewer");
    }
    plan->shown_variables = builder.intern(shown);
    plan->shown_variables_bytes = shown.size();
  }
  return plan;
}

Result<Plan> compile_host(const JailSpec& given, const HostFacts& host) {
  if (Result<void> checked = check_one_program(given); !checked) return checked.error();
  if (Result<void> checked = check_spec(given, host); !checked) return checked.error();
  JailSpec spec = with_shown_again(given);
  spec.max_limits.reset();  // they are those of the living jails that it makes
  Plan plan;
  plan.kind = wire::plan_host;
  // There is no cgroup namespace: from inside one, a jail's cgroup could not be entered where
  // cgroup2 is mounted with nsdelegate.
  plan.clone_flags = own_namespaces;
  plan.page_bytes = host.page_bytes;
  plan.max_mappings = host.max_mappings;
  Builder builder(plan);
  add_identity_of_host(builder, plan, host);
  add_oom_score(builder);
  add_session(builder, spec);
  add_network(builder, Network::loopback());  // each jail has its own way out
  add_mounts_of_host(builder, spec);
  builder.begin_guest();
  add_zygote_streams(builder);
  add_zygote_mounts(builder, spec);
  add_start_place(builder, spec);
  add_zygote_limits(builder, spec, host);
  add_zygote_privileges(builder, host);
  std::vector<std::string> env = with_way_out(spec.env, spec.network);
  // LD_PRELOAD is the last variable, so that the environment which the kernel shows can end before
  // it.
  env.push_back("LD_PRELOAD=/proc/self/fd/" + std::to_string(wire::zygote_library_fd));
  add_execve(builder, spec, env);
  return finished(builder, std::move(plan));
}

Result<Plan> compile_forked(const JailSpec& given, const HostFacts& host,
                            Optimization network_reuse) {
  // Ids inside of the host are already those that a guest sees: this user namespace maps them once
  // more.
  HostFacts inside = host;
  if (Result<void> checked = check_one_program(given); !checked) return checked.error();
  if (Result<void> checked = check_spec(given, host); !checked) return checked.error();
  JailSpec spec = with_shown_again(given);
  spec.max_limits.reset();  // they are those of the template's living jails
  inside.uid = guest_uid;
  inside.gid = guest_gid;
  Plan plan;
  plan.kind = wire::plan_forked;
  plan.clone_flags = own_namespaces | CLONE_NEWCGROUP;
  // The jail's host has joined a network namespace for it.
  const bool joins = network_reuse == Optimization::on && fits_reused_network(spec.network);
  if (joins) plan.clone_flags &= ~std::uint64_t{CLONE_NEWNET};
  plan.page_bytes = host.page_bytes;
  plan.max_mappings = host.max_mappings;
  Builder builder(plan);
  add_identity(builder, plan, inside);
  add_session(builder, spec);
  if (!joins) add_network(builder, spec.network);
  // The jail has a root of its own, made from what the host shows: a lock on the host's own files
  // and directories would be visible from jail to jail.
  add_mounts_in_host(builder, as_seen_in_host(spec));
  // Init stays dumpable until its guest has joined its namespaces.
  add_init_privileges_of_forked(builder);
  builder.begin_guest();
  add_forked_streams(builder);
  add_start_place(builder, spec);
  const auto ruleset = add_ruleset(builder, spec, host, GuestProgram::of_zygote);
  add_limits(builder, plan, spec, host);
  add_forked_privileges(builder, host);
  add_domain_of_forked(builder, ruleset, host);
  add_guest_filter(builder, spec);
  return finished(builder, std::move(plan));
}

}  // namespace jail
