// Runs programs in jails: one jail a program, made for it or ahead of it, and destroyed after it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/cgroup.h"
#include "jail/fd.h"
#include "jail/pool.h"
#include "jail/result.h"
#include "jail/spec.h"
#include "runtime/jail_file/jail_file.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/sandbox/launchers.h"
#include "runtime/sandbox/living_request.h"
#include "runtime/sandbox/output_gate.h"
#include "runtime/sandbox/program_signals.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"
#include "runtime/sandbox/stream.h"
#include "runtime/sandbox/template.h"

namespace runtime {

struct RunnerOptions {
  std::size_t output_cap_bytes = 1u << 20;  // a stream
  std::uint32_t max_running = 16;           // jails alive at once
  std::uint32_t max_queued = 256;           // requests that wait for a place
  std::uint32_t max_of_a_caller = 0;        // of both, for each caller; 0: no bound
  std::uint32_t cpu_percent = 100;          // of one core, for each jail
  // Where each jail gets a leaf; without it rlimits and a watchdog hold the limits.
  std::optional<jail::CgroupTree> cgroups;
  // Where each jail gets a user of the host of its own; null: all have this process's.
  std::shared_ptr<const jail::IdRange> ids;
  std::shared_ptr<const jail::Root> root;  // what programs see; null: the host's own /usr
  // Whether a request may have Network::Kind::egress; which it may is for the caller to judge.
  Egress egress = Egress::off;
  OnEgress on_egress;  // called on the runner's executor; empty: nobody asks
  // What every jail has beside the usual, and its policy; null: nothing. Its env and
  // network are for whoever makes requests.
  std::shared_ptr<const JailFile> jail_file;

  // What requests may name and what waits for them; none: every jail is made for its program.
  std::vector<Template> templates;
  // What most requests ask for, and the most that any may ask for.
  std::uint32_t usual_memory_mb = 256;
  std::uint32_t max_memory_mb = 2048;
  std::chrono::milliseconds max_timeout{60'000};
  // Called on the runner's executor when a template can have no jails, with the reason; with
  // nothing when that is over. Empty: nobody asks.
  std::function<void(std::string_view name, std::string_view reason)> on_pool_trouble;
};

struct RunOptions {
  Cancel cancel;
  std::shared_ptr<ProgramSignals> signals;  // that the program is sent; null: none
  std::string caller;                       // those who wait take turns by it; empty is one of them
  // Called on the run's executor when the program starts. Empty: nobody asks.
  std::function<void()> on_start;
  // Called on the run's executor with the program's terminal (RunRequest::terminal) when it is
  // there: for who changes its size (TIOCSWINSZ). Empty: nobody asks.
  std::function<void(jail::Fd)> on_terminal;
  // Called on the run's executor with every byte as it comes, past the output cap too; a slow
  // callee slows the program down. Empty: output is only collected.
  std::function<void(Stream, std::string_view)> on_output;
  bool collect_output = true;
  OutputGate gate;
  // Descriptor to feed standard input from after RunRequest::standard_input, until end of file;
  // -1 for none. Only looked at, not owned; must outlive the run.
  int standard_input_fd = -1;
};

struct PoolReport {
  std::string name;  // of the template
  jail::PoolState state;
  std::uint64_t cold = 0;  // requests that got a jail of their own because the pool had none
};

struct RunnerState {
  std::uint32_t running = 0;
  std::uint32_t queued = 0;
  std::uint32_t max_running = 0;
  std::uint32_t max_queued = 0;
  std::uint32_t max_of_a_caller = 0;  // that run and wait together; 0: no bound
  std::uint64_t total = 0;
  jail::Enforcement enforcement;
  bool has_own_users = false;     // each jail has a user of the host of its own
  int landlock = 0;               // see jail::Launcher::landlock_version()
  std::vector<PoolReport> pools;  // of the templates that keep jails
};

// Thread-safe. Must outlive its runs. A run happens on the executor of who awaits it, which may be
// an io_context of one thread or anything over which a strand can be made.
class Runner {
 public:
  // SIGPIPE must be ignored in this process: a guest may close its standard input at any time.
  // Starts the launcher process; call it before anything secret is in this process's environment.
  // `executor` is for the jails that wait.
  // Errors: everything that keeps this host from running jails, with a hint.
  static jail::Result<std::unique_ptr<Runner>> create(boost::asio::any_io_executor executor,
                                                      RunnerOptions options);
  virtual ~Runner() = default;

  // For whoever serves callers that need not be fair: to be held while a request of `caller` runs
  // or waits. Nothing where it has as many of them as it may.
  virtual std::optional<Admission::Claim> claim(const std::string& caller) = 0;

  // An Error here is a failure of ours or of the host; ErrorKind::exhausted: the queue is full,
  // try again later. What the program did is always a RunResult.
  virtual boost::asio::awaitable<jail::Result<RunResult>> run(RunRequest request,
                                                              RunOptions options) = 0;

  // A living jail of its own, which takes none of the places of runs. The request's network is for
  // the caller to judge. Errors: as run(); invalid where there is no such template.
  virtual jail::Result<LivingJail> launch_living(const LivingRequest& request) = 0;

  // The plan that `request` would run by, in words, one step a line (exec --explain).
  virtual jail::Result<std::string> explain(const RunRequest& request) = 0;

  virtual RunnerState state() const = 0;
};

}  // namespace runtime
