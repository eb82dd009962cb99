// A daemon that does more than making jails: each of its many threads launches jails, takes them
// from pools, gives them up in any phase, and starts programs of its own in between, while signals
// come in.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "jail/launcher.h"
#include "own_children.h"
#include "tests/driven_pool.h"

namespace kernel_ring {

enum class Source : std::uint8_t { cold, prepared, forked };

// The fate of a jail. The program of each reads a line, repeats it and ends with status 7.
enum class Fate : std::uint8_t {
  served,            // gets its line and runs to its end
  served_at_length,  // the same, with a deadline of its own that it cannot keep
  dropped_unborn,
  cancelled_unborn,
  dropped_ready,
  cancelled_running,
  killed_running,
  dropped_running,
  init_killed,  // by a stranger, before it was started
};

// The way in which the daemon's own children are waited for: by their starter, or not at all.
enum class Waits : std::uint8_t { by_pid, never };

struct DaemonOptions {
  int threads = 64;
  int launches = 1000;
  Waits waits = Waits::never;
};

// Failures and counts, from any thread.
class Findings {
 public:
  void count(const std::string& what);
  void fault(std::string what);
  std::map<std::string, int> counts() const;
  std::vector<std::string> faults() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::vector<std::string> faults_;
};

// One thread of it. Its methods return a failure in words; an empty text means success.
class DaemonThread {
 public:
  DaemonThread(const jail::Launcher& launcher, DrivenPool& prepared, DrivenPool& forked,
               unsigned seed)
      : launcher_(launcher), prepared_(prepared), forked_(forked), random_(seed) {}

  // Takes one jail from one source to one fate. `what` gets its name.
  std::string jail(std::string& what);
  // Starts one child of the daemon's own.
  std::string child(Waits waits);

 private:
  jail::Result<jail::Jail> make(Source source);
  std::string lead(jail::Jail& jail, Source source, Fate fate);
  std::string lead_ready(jail::Jail& jail, Fate fate);
  static std::string serve(jail::Jail& jail, const jail::Fd& input, const jail::Fd& output,
                           Fate fate);
  void pause();
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  const jail::Launcher& launcher_;
  DrivenPool& prepared_;
  DrivenPool& forked_;
  std::minstd_rand random_;
};

// Runs all of it, over a pool of shells and one of Python. Blocks until every launch was made.
// Where no launch has completed for minutes, a lock is held for ever: it reports that and aborts.
void run_daemon(const jail::Launcher& launcher, const DaemonOptions& options, Findings& findings);

}  // namespace kernel_ring
