// Jails that wait: made, confined and warmed up ahead of the request that needs one. A jail serves
// one program, once; the pool makes another in its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// How far a waiting jail has come.
enum class Warmth : std::uint8_t {
  prepared,  // the jail stands; start() executes the program
  // An interpreter runs in it and waits until its program's file is there. It read its
  // directory before the file existed, so this suits an interpreter that reads its program once and
  // to the end, like node.
  started,
  forked,  // the program is a fork of a warm CPython (the zygote) that waits before its first line
};

// The optimizations that make forked jails cheap. Each is independent and can be turned off, to
// measure it or to run a program that it does not suit.
enum class Optimization : std::uint8_t { on, off };
// The zygotes whose memory is moved into a file.
enum class FrozenHeap : std::uint8_t { if_large, never, always };
// One optimization each; the defaults are the fast ones.
struct ForkOptimizations {
  // A fork runs a small program before it is ready, so that the pages which every program writes
  // are its own when the real one comes. Omitted where somebody waits for the jail, since it costs
  // more than it saves one program.
  Optimization rehearsal = Optimization::on;
  // The end of a program is reported when it calls exit_group(), before its memory is taken apart.
  Optimization early_end = Optimization::on;
  // A network namespace that no packet has passed serves another jail.
  Optimization network_reuse = Optimization::on;
  // The zygote's memory is moved into a file that its forks map: a fork then costs the same
  // whatever the zygote holds. A small zygote is cheaper to fork as it is.
  FrozenHeap frozen_heap = FrozenHeap::if_large;
  // The zygote notes which pages its forks write to before they are ready, and a program until its
  // end. Each fork makes them its own before it is ready, in few calls instead of one page fault
  // each.
  Optimization known_pages = Optimization::on;
  // Objects of the zygote that programs only use, such as code, names and types, are never freed in
  // its forks, which then need not count references to them. CPython 3.12 and 3.13 can do that; an
  // interpreter of another version is left as it is.
  Optimization immortal_objects = Optimization::on;
  // A fork allocates from memory that nobody has used, and not between the objects of the zygote.
  Optimization fresh_memory = Optimization::on;
};

// What the jails of one pool have in common.
struct TemplateSpec {
  std::string name;  // 1 to 32 of a-z, 0-9, '-' and '_'
  Warmth warmth = Warmth::forked;
  // The same spec as for a cold launch of the same program. With Warmth::forked argv is the
  // interpreter and the program's file; with Warmth::started it ends in the program's file. That
  // file is in the working directory and must be written before start(); where it is missing, an
  // interpreter that has started reads an empty one. The limits are those of a waiting jail;
  // start() sets those of a run.
  JailSpec jail;
  std::uint64_t max_memory_bytes = 2048u << 20;  // the most that a start() may ask for
  std::chrono::milliseconds max_cpu{60'000};     // the same
  // With Warmth::started the variables that the interpreter is executed with, where they are not
  // those of jail.env; both must take the same number of bytes, each with a NUL at its end. Once it
  // waits, /proc/PID/environ of its process shows jail.env, unless the host forbids tracing even of
  // children (ptrace_scope of Yama). The process's own copy, which its children inherit, is the
  // interpreter's to set.
  std::vector<std::string> env_at_start;
  // The zygote's work before it forks anything, with Warmth::forked. Trusted code.
  std::vector<std::string> imports;  // modules, in this order
  std::string warm_up;               // Python, run once after the imports
  // Python that runs in each jail before it is ready, and in a warm process just before its
  // program.
  std::string after_fork;
  // Python that touches what programs use and changes nothing. It runs in the zygote, and before it
  // is ready in each jail that nobody waits for.
  std::string rehearsal;
  ForkOptimizations optimizations;
};

// How many jails wait, and how long a zygote lives.
struct PoolOptions {
  std::uint32_t least = 2;  // jails that are kept ready while there are no requests
  std::uint32_t usual = 8;  // the target to begin with; the pool adapts it between the other two
  std::uint32_t most = 64;
  // A zygote's jails share one hash seed and one address space layout: a new zygote takes over
  // after this many forks or this long, whichever comes first.
  std::uint32_t forks_per_zygote = 10'000;
  std::chrono::seconds zygote_age{600};
};

// A pool at one moment, for metrics and health checks.
struct PoolState {
  std::uint32_t ready = 0;      // wait to be leased
  std::uint32_t refilling = 0;  // are being made
  std::uint32_t leased = 0;     // leased and not yet given up
  std::uint32_t target = 0;     // how many the pool wants ready
  std::uint64_t leases = 0;     // since it was opened
  std::uint64_t misses = 0;     // leases for which a jail was made on demand
  std::uint64_t zygotes = 0;    // started so far; 0 unless Warmth::forked
  std::uint64_t failures = 0;   // jails and zygotes that could not be made
  std::string trouble;          // why no jail can be made; empty while all is well
};

// Arguments and variables of one program, in addition to the template's.
struct Invocation {
  std::vector<std::string> arguments;  // after argv of the template
  std::vector<std::string> env;        // "NAME=value"; replaces the template's environment
};

// A pool of waiting jails. Thread-safe. The owner's event loop watches event_fd(); any thread may
// call advance().
class Pool {
 public:
  // Does not wait: jails become ready while advance() is called. When `launcher` has ended the pool
  // can make no more of them.
  // Errors: invalid or refused (names the field), exhausted, closed, kernel.
  static Result<Pool> open(const Launcher& launcher, TemplateSpec spec, PoolOptions options);

  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  ~Pool();  // kills the jails that wait; leased ones go on

  // Readable when advance() has something to do, which includes the pool's own timers. Owned by the
  // Pool.
  int event_fd() const noexcept;

  // Takes note of what happened and refills. Never blocks.
  void advance();

  // Returns a jail that nobody has used: in Phase::ready, or in Phase::launching where none was
  // ready. Errors: exhausted (the pool is already making as many jails at once as it may, try
  // again), closed or kernel (no jail can be made; PoolState::trouble says why, and the pool goes
  // on trying).
  Result<Jail> lease();

  // Returns a jail for a program with arguments or variables of its own, which the program must
  // find in its memory where a process has them (/proc/self/cmdline). The jail is always made on
  // demand. Errors: as lease(), and unsupported unless Warmth::forked.
  Result<Jail> launch(const Invocation& invocation);

  // Returns a living jail of the template (JailSpec::life), in Phase::launching. It is always made
  // on demand. The zygote forks processes into it (ProcessSpec::warm) as long as the pool keeps
  // that zygote. Once another one has taken over, it is kept while living jails of it are there,
  // unless there are three later ones of that kind. Without it processes can only be executed. Its
  // processes neither signal nor see each other. PoolState does not count it. Errors: as launch(),
  // and unsupported where Landlock does not scope signals (Linux 6.12).
  Result<Jail> launch_living();

  // The same with limits of its own in place of the template's, which may be larger than those.
  // `max_limits` is in place of JailSpec::max_limits, and means the same.
  Result<Jail> launch_living(const Limits& limits,
                             const std::optional<Limits>& max_limits = std::nullopt);

  // Ends a jail that waits, or one that is being made to wait, and makes no more ahead for five
  // seconds. For an owner that runs short of a resource: a pool does not know of other pools.
  // Requests are still served. Returns false where there is no such jail.
  bool give_up_one();

  // The jails that wait, the number of leases and the failures so far.
  PoolState state() const;

 private:
  struct State;
  explicit Pool(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace jail
