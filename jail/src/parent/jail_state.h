#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/cgroup.h"
#include "jail/jail.h"
#include "parent/id_pool.h"
#include "plan/plan.h"

namespace jail {

enum class LimitedBy { init, cgroup };

Enforcement enforcement_of(LimitedBy by) noexcept;

struct Jail::State {
  static Jail make(std::unique_ptr<State> state) { return Jail(std::move(state)); }
  static void keep(Jail& jail, std::shared_ptr<void> token) {
    jail.state_->token = std::move(token);
  }

  State() = default;
  State(const State&) = delete;

  // The ids of the host that the jail has; 0: this process's own.
  wire::Ids ids() const { return lease ? lease->ids() : wire::Ids{}; }

  // Completes the report by what only the cgroup knows.
  void add_accounting();

  // What init and the launcher reported so far.
  Result<Phase> read_reports();
  // Whoever made the jail is gone, or says what it does not say at this point.
  Result<Phase> give_up();
  void kill(Ended why) noexcept;
  // An order that cancels: it ends what runs, or the pause of an init that has reported.
  void hurry_init() const noexcept;
  // Every process in it, when it has ended.
  bool dies_within(std::chrono::milliseconds at_most);

  std::atomic<Phase> phase = Phase::launching;  // cancel() looks at it from any thread
  std::optional<Error> failure;                 // what advance() said; nothing follows it
  pid_t owner = ::getpid();          // a fork of it has a copy, and does not end the jail with that
  std::shared_ptr<const Plan> plan;  // kept for the names of its steps
  Limits limits;
  // That start() may ask for.
  std::uint64_t max_memory_bytes = limits.memory_bytes;
  std::chrono::milliseconds max_cpu = limits.cpu;
  // That change_limits() may ask for.
  Limits max_limits;
  Fd control;
  Fd process;    // pidfd of init, once the launcher sent it
  Fd workspace;  // directory of the working tmpfs, once init is ready
  Fd root;       // of a living jail, once init is ready
  // Contexts of the tmpfs of /workspace and of /tmp, where their size can be changed.
  std::array<Fd, 2> contexts;
  // What processes of a living jail have in common.
  struct Spawning {
    std::string working_directory;
    Network network;
    std::vector<std::string> of_template;  // argv of the template that it is a jail of, or empty
  };
  std::optional<Spawning> spawning;
  Activity activity = Activity::active;
  std::int32_t pause_serial = 0;  // of the last order to pause
  // The numbers of the last order to change limits, and of the last one that init has carried out.
  std::int32_t limits_serial = 0;
  std::int32_t held_limits_serial = 0;
  std::array<Fd, 3> streams;
  std::optional<TerminalSize> terminal_size;  // that the guest's has when it starts
  Fd terminal;                                // the owner's side, once init has sent it
  std::optional<CgroupLeaf> cgroup;
  std::optional<IdLease> lease;  // of ids of its own, where it has them
  ExitReport report;
  bool is_ending = false;  // the report holds what init knew before it reaped the killed
  std::chrono::steady_clock::time_point launched_at;
  std::shared_ptr<void> token;  // whose loss tells a pool that the jail was given up
};

}  // namespace jail
