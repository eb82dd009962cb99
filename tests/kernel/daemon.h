// A daemon that has more to do than to make jails: many threads, each of which launches jails,
// takes them from pools, gives them up at any phase, and starts programs of its own in between,
// while signals come in.
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

// What becomes of a jail. The program of each reads a line, repeats it and ends with status 7.
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

// How the daemon's own children are waited for: each by who started it, or not at all.
enum class Waits : std::uint8_t { by_pid, never };

struct DaemonOptions {
  int threads = 64;
  int launches = 1000;
  Waits waits = Waits::never;
};

// What went wrong or was counted, from any thread.
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

// One thread of it. Its methods say in words what went wrong; empty is well.
class DaemonThread {
 public:
  DaemonThread(const jail::Launcher& launcher, DrivenPool& prepared, DrivenPool& forked,
               unsigned seed)
      : launcher_(launcher), prepared_(prepared), forked_(forked), random_(seed) {}

  // One jail from one source to one fate. `what` becomes its name.
  std::string jail(std::string& what);
  // One child of the daemon's own.
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

// All of it, over a pool of shells and one of Python. Blocks until every launch was made. Where
// none has come to its end for minutes, a lock is held for ever: it says so and aborts.
void run_daemon(const jail::Launcher& launcher, const DaemonOptions& options, Findings& findings);

}  // namespace kernel_ring
