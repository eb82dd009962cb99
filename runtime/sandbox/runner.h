// Runs programs in jails: one jail a program, made on demand or ahead, and destroyed afterwards.
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
  std::size_t output_cap_bytes = 1u << 20;  // of each stream
  std::uint32_t max_running = 16;           // jails alive at once
  std::uint32_t max_queued = 256;           // requests that wait for a place
  std::uint32_t max_of_a_caller = 0;        // requests of each caller; 0: no bound
  std::uint32_t cpu_percent = 100;          // percent of one core, for each jail
  // The tree in which each jail gets a leaf; without it rlimits and a watchdog hold the limits.
  std::optional<jail::CgroupTree> cgroups;
  // Where each jail gets a user of the host of its own; null: all have this process's.
  std::shared_ptr<const jail::IdRange> ids;
  std::shared_ptr<const jail::Root> root;  // what programs see; null: the host's own /usr
  // Whether a request may have Network::Kind::egress; which it may is for the caller to judge.
  Egress egress = Egress::off;
  OnEgress on_egress;  // called on the runner's executor; empty: nobody listens
  // The additions that every jail has, and its policy; null: none. Its env and network are left to
  // the code that makes requests.
  std::shared_ptr<const JailFile> jail_file;

  // The templates that requests may name, and for which jails wait; empty: every jail is made for
  // its program.
  std::vector<Template> templates;
  // The memory that most requests ask for, and the most that any may ask for.
  std::uint32_t usual_memory_mb = 256;
  std::uint32_t max_memory_mb = 2048;
  std::chrono::milliseconds max_timeout{60'000};
  // Called on the runner's executor with the reason when a template can have no jails, and with an
  // empty reason when that is over. Empty: nobody listens.
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
  // function slows the program down. Empty: output is only collected.
  std::function<void(Stream, std::string_view)> on_output;
  bool collect_output = true;
  // Only the result is waited for. Output is read from 1 ms after the start on, or at the end where
  // that is earlier. The jail is let go by work that is posted to the run's executor before the
  // result is there, so after what the caller does with the result until it suspends.
  bool result_first = false;
  OutputGate gate;
  // A descriptor that supplies standard input after RunRequest::standard_input, until its end; -1:
  // none. It is not owned and must outlive the run.
  int standard_input_fd = -1;
  // Called with what came from it, and may change it before the program gets it. Empty: nothing is
  // changed.
  std::function<void(std::string&)> edit_input;
};

struct PoolReport {
  std::string name;  // of the template
  jail::PoolState state;
  std::uint64_t cold = 0;  // requests for which a jail was made because the pool had none
};

struct RunnerState {
  std::uint32_t running = 0;
  std::uint32_t queued = 0;
  std::uint32_t max_running = 0;
  std::uint32_t max_queued = 0;
  std::uint32_t max_of_a_caller = 0;  // running and waiting requests together; 0: no bound
  std::uint64_t total = 0;
  jail::Enforcement enforcement;
  bool has_own_users = false;     // each jail has a user of the host of its own
  int landlock = 0;               // see jail::Launcher::landlock_version()
  std::vector<PoolReport> pools;  // one for each template that keeps jails
};

// Thread-safe. Must outlive its runs. A run uses the executor on which it is awaited, which may be
// an io_context of one thread or anything over which a strand can be made.
class Runner {
 public:
  // SIGPIPE must be ignored in this process: a guest may close its standard input at any time.
  // Starts the launcher process; must be called before this process's environment holds secrets.
  // `executor` is for the waiting jails. Errors: every reason for which this host cannot run jails,
  // with a hint.
  static jail::Result<std::unique_ptr<Runner>> create(boost::asio::any_io_executor executor,
                                                      RunnerOptions options);
  virtual ~Runner() = default;

  // For servers whose callers need not be fair: the claim must be held while a request of `caller`
  // runs or waits. Returns std::nullopt where the caller has as many as it may.
  virtual std::optional<Admission::Claim> claim(const std::string& caller) = 0;

  // An Error is a failure of ours or of the host; ErrorKind::exhausted: the queue is full, try
  // again later. The program's own failures are always in the RunResult.
  virtual boost::asio::awaitable<jail::Result<RunResult>> run(RunRequest request,
                                                              RunOptions options) = 0;

  // Makes a living jail, which takes none of the places of runs. The caller must have checked the
  // request's network. Errors: as run(); invalid where there is no such template.
  virtual jail::Result<LivingJail> launch_living(const LivingRequest& request) = 0;

  // The plan of `request` in words, one step a line (exec --explain).
  virtual jail::Result<std::string> explain(const RunRequest& request) = 0;

  // Passes on to RunnerOptions::on_egress all decisions of the proxy up to now, including those
  // behind every answer that a program has seen. Returns at once where there is no proxy.
  virtual boost::asio::awaitable<void> catch_up_with_network() = 0;

  virtual RunnerState state() const = 0;
};

}  // namespace runtime
